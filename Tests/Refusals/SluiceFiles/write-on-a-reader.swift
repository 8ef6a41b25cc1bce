// error: requires the types 'ReadMode' and 'WriteMode' be equivalent
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    try await stream.truncate(to: 0)  // refused
    // instead: _ = try await stream.read(upToCount: 512)
    try await stream.close()
}
