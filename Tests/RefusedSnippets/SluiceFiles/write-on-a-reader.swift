// refused: requires the types 'ReadMode' and 'WriteMode' be equivalent
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    try await stream.truncate(to: 0)
    try await stream.close()
}
