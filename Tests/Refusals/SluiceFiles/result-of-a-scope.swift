// error: requires that 'AsyncFileStream<ReadMode>' conform to 'Copyable'
func use(_ url: URL) async throws {
    let stream = try await url.withFileForReading { (stream) -> AsyncFileStream<ReadMode> in stream }  // refused
    // instead: let stream = try await url.openForReading()
    try await stream.close()
}
