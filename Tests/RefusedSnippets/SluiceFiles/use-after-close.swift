// refused: 'stream' used after consume
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    try await stream.close()
    _ = try await stream.read(upToCount: 512)
}
