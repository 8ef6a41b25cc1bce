// accepted: the same with nothing wrong, so that a refusal below is not one of the set-up.
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    _ = try await stream.read(upToCount: 512)
    try await stream.close()
}
