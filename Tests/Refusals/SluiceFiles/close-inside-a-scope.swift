// error: 'stream' is borrowed and cannot be consumed
func use(_ url: URL) async throws {
    try await url.withFileForReading { stream in
        _ = try await stream.read(upToCount: 512)
        try await stream.close()  // refused
    }
}
