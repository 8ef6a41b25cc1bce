import AsyncAlgorithms
import SluiceConcurrency
import Synchronization

/// One sequence for several readers. Each reader receives every element.
enum BroadcastRows {
    static var all: [Row] {
        [
            row(against: "share, .bounded(1) by default") { $0.share() },
            row(against: "share, .unbounded") { $0.share(bufferingPolicy: .unbounded) },
        ]
    }

    private static let subscribers = 4

    /// Measures the time per element, for all subscribers together. The sequence starts when all have subscribed.
    private static func row<Shared: AsyncSequence & Sendable>(
        against peer: String, _ share: @escaping (Numbers) -> Shared
    ) -> Row where Shared.Element == Int, Shared.Failure == Never {
        Row("broadcast/to \(subscribers) subscribers", .nanoseconds, against: peer, figure: .atMost(1.0 / 8)) {
            stage, rounds in
            let count = stage.count(50_000, quick: 10_000)
            try await rounds(
                {
                    let broadcast = Broadcast<Int, Never>()
                    return try await read(count, subscribe: { broadcast.subscribeUnbounded() }) { numbers in
                        await broadcast.run(sharing: numbers)
                    }
                },
                {
                    let (start, signal) = Condition.makeCondition()
                    let shared = share(Numbers(count: count, start: start))
                    return try await read(count, subscribe: { shared }) { _ in signal.signal() }
                })
        }
    }

    private static func read<Subscription: AsyncSequence & Sendable>(
        _ count: Int, subscribe: @escaping @Sendable () -> Subscription,
        run: @escaping @Sendable (Numbers) async -> Void
    ) async throws -> Sample where Subscription.Element == Int, Subscription.Failure == Never {
        let arrivals = Arrivals()
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<subscribers {
                group.addTask {
                    var iterator = subscribe().makeAsyncIterator()
                    arrivals.note()
                    var sum = 0
                    while let element = await iterator.next(isolation: nil) { sum &+= element }
                    return sum
                }
            }
            await arrivals.wait(for: subscribers)
            let (start, signal) = Condition.makeCondition()
            signal.signal()
            return try await timed(count, expecting: subscribers * count * (count - 1) / 2) {
                await run(Numbers(count: count, start: start))
                var sum = 0
                while let one = try await group.next() { sum &+= one }
                return sum
            }
        }
    }
}

/// The numbers below `count`, once the condition `start` is signaled.
private struct Numbers: AsyncSequence, Sendable {
    let count: Int
    let start: Condition

    func makeAsyncIterator() -> Iterator { Iterator(count: count, start: start) }

    struct Iterator: AsyncIteratorProtocol {
        let count: Int
        let start: Condition
        var position = 0

        mutating func next() async -> Int? { await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
            if position == 0 { await start.wait() }
            guard position < count else { return nil }
            defer { position += 1 }
            return position
        }
    }
}
