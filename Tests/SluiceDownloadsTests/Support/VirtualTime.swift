import SluiceConcurrency

@testable import SluiceDownloads

/// A clock that stands still until the test moves it.
final class VirtualTime: Sendable {
    private struct State {
        var now: Int64 = 1_000_000
        /// The deadlines of the sleeping tasks.
        var deadlines: [Int64] = []
    }

    private let state = Monitor(State())

    var now: Int64 { state.state.now }

    var queueTime: QueueTime { QueueTime { self.now } }

    var timing: CoordinatorTiming {
        CoordinatorTiming(time: queueTime, sleep: { try await self.sleep($0) }, poll: .seconds(1), frame: .zero)
    }

    func sleep(_ duration: Duration) async throws {
        guard duration > .zero else { return }
        let deadline = state.withState { state in
            state.deadlines.append(state.now + duration.milliseconds)
            return state.now + duration.milliseconds
        }
        defer { state.withState { _ = $0.deadlines.remove(at: $0.deadlines.firstIndex(of: deadline)!) } }
        try await state.waitUnlessCancelled(where: { $0.now >= deadline })
    }

    /// Waits until a task sleeps for this time or less.
    func sleeper(until duration: Duration) async throws {
        try await state.waitUnlessCancelled(where: { state in
            state.deadlines.contains { $0 <= state.now + duration.milliseconds }
        })
    }

    /// Moves the clock forward, and wakes the tasks with deadlines until then.
    func advance(by duration: Duration) {
        state.withState { $0.now += duration.milliseconds }
    }
}
