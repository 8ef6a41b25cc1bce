enum ConditionRows {
    static var all: [Row] { waiting + pingPong + drained }
}

/// A peer: a one-shot event built from an AsyncStream.
struct StreamEvent: Sendable {
    private let stream: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    func wait() async {
        for await _ in stream {}
    }

    func signal() { continuation.finish() }
}
