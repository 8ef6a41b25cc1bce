// error: requires the types 'WriteMode' and 'ReadMode' be equivalent
func use(_ url: URL) async throws {
    let stream = try await url.openForWriting()  // refused
    // instead: let stream = try await url.openForReading()
    for try await chunk in stream.chunks() { print(chunk) }
}
