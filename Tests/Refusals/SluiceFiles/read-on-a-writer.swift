// error: requires the types 'WriteMode' and 'ReadMode' be equivalent
func use(_ url: URL) async throws {
    let stream = try await url.openForWriting()
    _ = try await stream.read(upToCount: 512)  // refused
    // instead: try await stream.write(Data())
    try await stream.close()
}
