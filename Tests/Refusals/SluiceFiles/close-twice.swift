// error: 'stream' consumed more than once
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    try await stream.close()
    try await stream.close()  // refused
}
