import SluiceConcurrency

/// Many consumers wait, and then each gets an element.
extension QueueRows {
    static var drained: [Row] { [10, 1_000, 100_000].map(growth) + [memory] }

    /// The cost of one consumer must not depend on the number of consumers.
    private static func growth(_ count: Int) -> Row {
        Row(
            "queue/an element for each of \(Format.number(Double(count))) consumers", .nanoseconds,
            against: "continuations, all resumed together"
        ) { stage, rounds in
            let total = max(count, stage.count(50_000, quick: 5_000))
            try await rounds(
                { try await drain(count, total: total) { ours(count) } },
                { try await drain(count, total: total) { .allTogether() } })
        }
    }

    private static var memory: Row {
        memoryRow("queue/memory of a waiting consumer", cancellable: true) { ours($0) }
    }

    private static func ours(_ count: Int) -> Crowd {
        let queue = AsyncQueue<Int>()
        return Crowd {
            (try? await queue.dequeue()) ?? 0
        } release: {
            for _ in 0..<count { queue.enqueue(1) }
        }
    }
}
