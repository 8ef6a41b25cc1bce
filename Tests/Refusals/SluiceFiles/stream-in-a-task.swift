// error: noncopyable 'stream' cannot be consumed when captured by an escaping closure
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    Task { try await stream.close() }  // refused
    // instead: try await stream.close()
}
