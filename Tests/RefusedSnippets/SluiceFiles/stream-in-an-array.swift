// refused: 'AsyncFileStream<ReadMode>' does not conform to protocol 'Copyable'
func use(_ url: URL) async throws {
    var streams: [AsyncFileStream<ReadMode>] = []
    streams.append(try await url.openForReading())
}
