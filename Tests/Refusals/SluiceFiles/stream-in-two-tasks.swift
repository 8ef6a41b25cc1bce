// error: risks causing data races
func use(_ url: URL) async throws {
    var stream: AsyncFileStream<ReadMode>? = try await url.openForReading()
    let reading = Task { try await stream.take()?.close() }
    try await stream.take()?.close()  // refused
    try await reading.value
}
