/// A descriptor with what was learnt when it was opened.
struct OpenedFile: Sendable {
    var descriptor: CInt
    var path: String
    var status: RawStatus
    /// Whether it is a FIFO, terminal or socket, opened as non-blocking, for the readiness lane.
    var isWaitedFor = false
}
