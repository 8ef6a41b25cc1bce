// error: 'stream' used after consume
func use(_ part: URL, _ final: URL) async throws {
    let stream = try await part.openForWriting()
    try await stream.publish(as: final)
    try await stream.write(Data())  // refused
}
