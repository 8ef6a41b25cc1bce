import AsyncAlgorithms
import DequeModule
import SluiceConcurrency
import Synchronization

enum QueueRows {
    static var all: [Row] { unbounded + bounded + Home.allCases.map(againstDeque) + drained }

    private static var unbounded: [Row] {
        [
            againstStream(producers: 1, figure: .atLeast(6)), againstStream(producers: 4), againstStream(producers: 64),
            againstChannel(producers: 1), againstChannel(producers: 4),
        ]
    }

    private static func name(_ producers: Int) -> String {
        "queue/\(producers) producer\(producers == 1 ? "" : "s") to 1 consumer"
    }

    private static func againstStream(producers: Int, figure: Figure? = nil) -> Row {
        Row(name(producers), .perSecond("elements"), against: "AsyncStream", figure: figure) { stage, rounds in
            let each = stage.count(400_000, quick: 100_000) / producers
            try await rounds(
                { try await ours(producers, each) },
                {
                    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
                    return try await exchange(producers, each, put: { continuation.yield($0) }) {
                        continuation.finish()
                    } take: {
                        await sum(stream)
                    }
                })
        }
    }

    private static func againstChannel(producers: Int) -> Row {
        Row(name(producers), .perSecond("elements"), against: "AsyncChannel (a rendezvous)") { stage, rounds in
            let each = stage.count(100_000, quick: 20_000) / producers
            try await rounds(
                { try await ours(producers, each) },
                {
                    let channel = AsyncChannel<Int>()
                    return try await exchange(producers, each, put: { await channel.send($0) }) {
                        channel.finish()
                    } take: {
                        await sum(channel)
                    }
                })
        }
    }

    private static func againstDeque(in home: Home) -> Row {
        Row(
            "queue/100 in and 100 out, from \(home.rawValue)", .nanoseconds, against: "Deque behind a Mutex", slices: 25
        ) { stage, rounds in
            let batches = stage.count(400, quick: 100)
            let (count, total) = (batches * 100, batches * 99 * 50)
            try await rounds(
                {
                    let queue = AsyncQueue<Int>()
                    return try await home.run {
                        try await timed(count, expecting: total) {
                            batchwise(batches, put: { queue.enqueue($0) }, take: { queue.tryDequeue() })
                        }
                    }
                },
                {
                    let deque = LockedDeque()
                    return try await home.run {
                        try await timed(count, expecting: total) {
                            batchwise(batches, put: { deque.append($0) }, take: { deque.popFirst() })
                        }
                    }
                })
        }
    }

    // MARK: Contenders

    private static func ours(_ producers: Int, _ each: Int) async throws -> Sample {
        let queue = AsyncQueue<Int>()
        return try await exchange(producers, each, put: { queue.enqueue($0) }) {
            queue.finish()
        } take: {
            await sum(queue.elements)
        }
    }

    /// Every producer adds the numbers below `each`. The consumers sum the elements that they take.
    static func exchange(
        _ producers: Int, _ each: Int, consumers: Int = 1, put: @escaping @Sendable (Int) async -> Void,
        finish: @Sendable () -> Void, take: @escaping @Sendable () async -> Int
    ) async throws -> Sample {
        try await timed(producers * each, expecting: producers * each * (each - 1) / 2) {
            async let taken = withTaskGroup(of: Int.self) { group in
                for _ in 0..<consumers { group.addTask { await take() } }
                return await group.reduce(0, &+)
            }
            await withDiscardingTaskGroup { group in
                for _ in 0..<producers {
                    group.addTask { for element in 0..<each { await put(element) } }
                }
            }
            finish()
            return await taken
        }
    }

    static func sum<Elements: AsyncSequence>(_ elements: Elements) async -> Int
    where Elements.Element == Int, Elements.Failure == Never {
        var sum = 0
        for await element in elements { sum &+= element }
        return sum
    }

    @inline(__always)
    private static func batchwise(_ batches: Int, put: (Int) -> Void, take: () -> Int?) -> Int {
        var sum = 0
        for _ in 0..<batches {
            for element in 0..<100 { put(element) }
            while let element = take() { sum &+= element }
        }
        return sum
    }
}

private final class LockedDeque: Sendable {
    private let deque = Mutex(Deque<Int>())

    func append(_ element: Int) { deque.withLock { $0.append(element) } }
    func popFirst() -> Int? { deque.withLock { $0.popFirst() } }
}
