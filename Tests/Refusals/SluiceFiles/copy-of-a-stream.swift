// error: 'stream' used after consume
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    let copy = stream
    _ = try await stream.read(upToCount: 512)  // refused
    // instead: _ = try await copy.read(upToCount: 512)
    try await copy.close()
}
