import SluiceConcurrency

/// The memory of a waiting task, including the task itself, which is the same for the peer.
extension LimiterRows {
    static var memory: [Row] {
        [
            memoryRow("limiter/memory of a waiting task") { _ in ours() },
            memoryRow("limiter/memory of a waiting task that can be cancelled", cancellable: true) { _ in
                ours { limiter in (try? await limiter.run { () async throws in 1 }) ?? 0 }
            },
        ]
    }
}
