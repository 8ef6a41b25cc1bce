// error: 'stream' used after consume
func use(_ url: URL, isShort: Bool) async throws {
    let stream = try await url.openForReading()
    if isShort {
        try await stream.close()
        // instead: return
    }
    _ = try await stream.read(upToCount: 512)
    try await stream.close()
}
