import SluiceConcurrency
import Synchronization

@testable import SluiceDownloads

/// A clock that stands still until it is told to go on.
final class VirtualTime: Sendable {
    private struct State {
        var now: Int64 = 1_000_000
        var sleepers: [(deadline: Int64, queue: AsyncQueue<Void>)] = []
    }

    private let state = Mutex(State())

    var now: Int64 { state.withLock { $0.now } }

    var queueTime: QueueTime { QueueTime { self.now } }

    var timing: CoordinatorTiming {
        CoordinatorTiming(time: queueTime, sleep: { try await self.sleep($0) }, poll: .seconds(1), frame: .zero)
    }

    func sleep(_ duration: Duration) async throws {
        guard duration > .zero else { return }
        let queue = AsyncQueue<Void>()
        state.withLock { $0.sleepers.append(($0.now + duration.milliseconds, queue)) }
        _ = try await queue.dequeue()
    }

    /// Lets time pass, and wakes those who slept until then.
    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now += duration.milliseconds
            let woken = state.sleepers.filter { $0.deadline <= state.now }
            state.sleepers.removeAll { $0.deadline <= state.now }
            return woken
        }
        for sleeper in woken { sleeper.queue.enqueue(()) }
    }
}
