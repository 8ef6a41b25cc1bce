// error: 'stream' used after consume|sending 'stream' risks causing data races
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    try await finish(stream)
    _ = try await stream.read(upToCount: 512)  // refused
}
@concurrent func finish(_ stream: consuming sending AsyncFileStream<ReadMode>) async throws {
    try await stream.close()
}
