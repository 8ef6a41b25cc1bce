// error: 'AsyncFileStream<ReadMode>' does not conform to protocol 'Copyable'
func use(_ url: URL) async throws {
    var streams: [AsyncFileStream<ReadMode>] = []  // refused
    streams.append(try await url.openForReading())  // refused
    // instead: let stream = try await url.openForReading()
    // instead: try await stream.close()
}
