// error: 'stream' used after consume
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    for try await chunk in stream.chunks() { print(chunk) }
    _ = try await stream.readToEnd()  // refused
}
