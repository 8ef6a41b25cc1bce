import SluiceConcurrency

@testable import SluiceDownloads

/// A clock that stands still until the test moves it.
final class VirtualTime: Clock {
    /// A moment, in milliseconds since 1970.
    struct Instant: InstantProtocol {
        var milliseconds: Int64

        func advanced(by duration: Duration) -> Instant { Instant(milliseconds: milliseconds + duration.milliseconds) }
        func duration(to other: Instant) -> Duration { .milliseconds(other.milliseconds - milliseconds) }
        static func < (one: Instant, other: Instant) -> Bool { one.milliseconds < other.milliseconds }
    }

    private struct State {
        var now: Int64 = 1_000_000
        /// The deadlines of the sleeping tasks.
        var deadlines: [Int64] = []
    }

    private let state = Monitor(State())

    var now: Instant { Instant(milliseconds: milliseconds) }
    var milliseconds: Int64 { state.state.now }
    var minimumResolution: Duration { .milliseconds(1) }

    var queueTime: QueueTime { QueueTime { self.milliseconds } }

    var timing: CoordinatorTiming {
        CoordinatorTiming(clock: self, poll: .seconds(1), frame: .zero)
    }

    func sleep(until instant: Instant, tolerance: Duration?) async throws {
        let deadline = instant.milliseconds
        let isOver = state.withState { state in
            if deadline > state.now { state.deadlines.append(deadline) }
            return deadline <= state.now
        }
        guard !isOver else { return }
        defer { state.withState { _ = $0.deadlines.remove(at: $0.deadlines.firstIndex(of: deadline)!) } }
        try await state.waitUnlessCancelled(where: { $0.now >= deadline })
    }

    /// Waits until a task sleeps for this time or less.
    func sleeper(until duration: Duration) async throws {
        try await state.waitUnlessCancelled(where: { state in
            state.deadlines.contains { $0 <= state.now + duration.milliseconds }
        })
    }

    /// Waits until a task sleeps for exactly this time.
    func sleeper(for duration: Duration) async throws {
        try await state.waitUnlessCancelled(where: { state in
            state.deadlines.contains(state.now + duration.milliseconds)
        })
    }

    /// Moves the clock forward, and wakes the tasks with deadlines until then.
    func advance(by duration: Duration) {
        state.withState { $0.now += duration.milliseconds }
    }
}

/// Moves a clock forward whenever a task waits for it, until the test is over.
func withRunningClock<Result: Sendable>(
    _ time: VirtualTime, step: Duration, _ body: () async throws -> Result
) async throws -> Result {
    let clock = Task {
        while true {
            try await time.sleeper(until: step)
            time.advance(by: step)
            await Task.yield()
        }
    }
    defer { clock.cancel() }
    return try await body()
}
