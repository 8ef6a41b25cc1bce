// error: 'stream' is borrowed and cannot be consumed
func use(_ url: URL) async throws {
    try await url.withFileForReading { stream in
        for try await chunk in stream.chunks() { print(chunk) }  // refused
        // instead: print(try await stream.readToEnd())
    }
}
