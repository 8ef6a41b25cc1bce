// error: 'stream' used after consume
func use(_ part: URL) async throws {
    let stream = try await part.openForWriting()
    try await stream.discard()
    try await stream.write(Data())  // refused
}
