// error: type 'FileLock\?' has no member 'shared'
func use(_ url: URL) async throws {
    let stream = try await url.openForWriting(lock: .shared)  // refused
    // instead: let stream = try await url.openForWriting(lock: .exclusive)
    try await stream.close()
}
