/// Runs `body`, and then `end` whatever came of it. What `body` throws goes before what `end` throws.
///
///     try await scoped { try await body(file) } finally: { try await file.close() }
///
/// Runs on the caller's isolation, as a `defer` would, which cannot await.
func scoped<R>(_ body: () async throws -> R, finally end: () async throws -> Void) async throws -> R {
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
