import TestSupport

@testable import SluiceDownloads

/// A manual clock as the coordinator and its queues want time: in milliseconds since an epoch.
final class VirtualTime: Sendable {
    private let clock = ManualClock()

    var now: Int64 { 1_000_000 + clock.now.offset.milliseconds }

    var queueTime: QueueTime { QueueTime { self.now } }

    var timing: CoordinatorTiming {
        CoordinatorTiming(time: queueTime, sleep: { try await self.sleep($0) }, poll: .seconds(1), frame: .zero)
    }

    func sleep(_ duration: Duration) async throws {
        guard duration > .zero else { return }
        try await clock.sleep(until: clock.now.advanced(by: duration), tolerance: nil)
    }

    /// Lets time pass, and wakes those who slept until then.
    func advance(by duration: Duration) {
        clock.advance(by: duration)
    }
}
