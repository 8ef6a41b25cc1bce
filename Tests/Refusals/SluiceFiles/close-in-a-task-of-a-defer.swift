// error: noncopyable 'stream' cannot be consumed when captured by an escaping closure|passing closure as a 'sending' parameter
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    defer { Task { try await stream.close() } }  // refused
    _ = try await stream.read(upToCount: 512)
    // instead: try await stream.close()
}
