// refused: 'stream' is borrowed and cannot be consumed
func use(_ url: URL) async throws {
    try await url.withFileForReading { stream in
        try await stream.close()
    }
}
