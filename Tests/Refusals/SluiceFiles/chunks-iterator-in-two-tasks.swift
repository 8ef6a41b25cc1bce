// error: non-Sendable|risks causing data races|sending 'iterator'
func use(_ url: URL) async throws {
    let iterator = url.chunks().makeAsyncIterator()
    async let first = first(of: iterator)
    _ = try await first
    _ = try await Task { [iterator] in try await second(of: iterator) }.value  // refused
}
func first(of iterator: FileChunks.Iterator) async throws -> Data? {
    var iterator = iterator
    return try await iterator.next()
}
func second(of iterator: FileChunks.Iterator) async throws -> Data? {
    try await first(of: iterator)
}
