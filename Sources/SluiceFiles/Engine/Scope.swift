/// Runs `body` and then `end`, even if `body` throws, like a `defer` that can await. An error of `body` takes precedence over one of `end`.
package func scoped<R>(_ body: () async throws -> R, finally end: () async throws -> Void) async throws -> R {
    let result: R
    do {
        result = try await body()
    } catch {
        try? await end()
        throw error
    }
    try await end()
    return result
}
