import SluiceConcurrency
import Synchronization

/// Tasks that really wait: all are in line behind one body, which then ends. Timed from there until the last has run.
extension LimiterRows {
    static var drained: [Row] { [againstHandOver, againstAllAtOnce, againstActorsLine] }

    private static let name = "limiter/drain of a long line"

    /// The figure's peer: whoever is resumed resumes the next, which is what a limit of 1 has to do.
    private static var againstHandOver: Row {
        Row(name, .nanoseconds, against: "continuations, one resumes the next", figure: .atMost(1.3)) { stage, rounds in
            let count = stage.count(80_000, quick: 20_000)
            try await rounds({ try await ours(count) }, { try await continuations(count, handingOver: true) })
        }
    }

    /// Cheaper for the peer, and what a limiter cannot do: its tasks then run all at once.
    private static var againstAllAtOnce: Row {
        Row(name, .nanoseconds, against: "continuations, all resumed at once") { stage, rounds in
            let count = stage.count(80_000, quick: 20_000)
            try await rounds({ try await ours(count) }, { try await continuations(count, handingOver: false) })
        }
    }

    private static var againstActorsLine: Row {
        Row(name, .nanoseconds, against: "an actor's line") { stage, rounds in
            let count = stage.count(80_000, quick: 20_000)
            try await rounds({ try await ours(count) }, { try await actorsLine(count) })
        }
    }

    // MARK: Contenders

    private static func ours(_ count: Int) async throws -> Sample {
        let limiter = ConcurrencyLimiter(concurrency: 1)
        return try await drain(
            count, waiting: { limiter.waiting }, first: { (body) in await limiter.run(body) },
            waiter: { await limiter.run { 1 } })
    }

    private static func actorsLine(_ count: Int) async throws -> Sample {
        let limiter = ActorLimiter(concurrency: 1)
        return try await drain(
            count, waiting: { await limiter.waiting }, first: { (body) in await limiter.run(body) },
            waiter: { await limiter.run { 1 } })
    }

    private static func continuations(_ count: Int, handingOver: Bool) async throws -> Sample {
        let line = RawLine()
        return try await drain(
            count, waiting: { line.count },
            first: { (body) in
                await body()
                if handingOver { line.resumeNext() } else { line.resumeAll() }
            },
            waiter: {
                await line.wait()
                if handingOver { line.resumeNext() }
                return 1
            })
    }

    /// Puts `count` tasks in line behind a body that waits for us, and times how long they take once it ends.
    private static func drain(
        _ count: Int, waiting: @escaping () async -> Int,
        first: @escaping @Sendable (@Sendable () async -> Void) async -> Void,
        waiter: @escaping @Sendable () async -> Int
    ) async throws -> Sample {
        let (holds, tellHolds) = Condition.makeCondition()
        let (ended, end) = Condition.makeCondition()
        return try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                await first {
                    tellHolds.signal()
                    await ended.wait()
                }
                return 0
            }
            await holds.wait()
            for _ in 0..<count { group.addTask { await waiter() } }
            while await waiting() < count { try await Task.sleep(for: .milliseconds(1)) }
            return try await timed(count, expecting: count) {
                end.signal()
                var sum = 0
                while let one = try await group.next() { sum += one }
                return sum
            }
        }
    }
}

/// Continuations in the order in which they came, behind a lock.
private final class RawLine: Sendable {
    private struct State {
        var line: [UnsafeContinuation<Void, Never>] = []
        var resumed = 0
    }
    private let state = Mutex(State())

    var count: Int { state.withLock { $0.line.count } }

    func wait() async {
        await withUnsafeContinuation { continuation in state.withLock { $0.line.append(continuation) } }
    }

    func resumeNext() {
        let next = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            guard state.resumed < state.line.count else { return nil }
            defer { state.resumed += 1 }
            return state.line[state.resumed]
        }
        next?.resume()
    }

    func resumeAll() {
        for continuation in state.withLock({ $0.line }) { continuation.resume() }
    }
}
