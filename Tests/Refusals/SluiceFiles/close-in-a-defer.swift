// error: 'async' call cannot occur in a defer body
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    defer { try? await stream.close() }  // refused
    _ = try await stream.read(upToCount: 512)
    // instead: try await stream.close()
}
