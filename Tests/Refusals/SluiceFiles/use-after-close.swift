// error: 'stream' used after consume
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    _ = try await stream.read(upToCount: 512)
    try await stream.close()
    _ = try await stream.read(upToCount: 512)  // refused
}
