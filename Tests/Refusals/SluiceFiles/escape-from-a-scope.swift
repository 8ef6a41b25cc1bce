// error: 'stream' is borrowed and cannot be consumed|requires that 'AsyncFileStream<ReadMode>' conform to 'Copyable'
func use(_ url: URL) async throws {
    try await url.withFileForReading { stream -> Void in
        let kept = stream  // refused
        _ = try await kept.read(upToCount: 512)  // refused
        // instead: _ = try await stream.read(upToCount: 512)
    }
}
