// error: sending 'stream' risks causing data races|risks causing data races
func use(_ stream: consuming AsyncFileStream<ReadMode>) async throws {  // refused
    // instead: func use(_ stream: consuming sending AsyncFileStream<ReadMode>) async throws {
    let reader = Reader(stream)
    try await reader.close()
}
actor Reader {
    private var stream: AsyncFileStream<ReadMode>?
    init(_ stream: consuming sending AsyncFileStream<ReadMode>) { self.stream = consume stream }
    func close() async throws { try await stream.take()?.close() }
}
