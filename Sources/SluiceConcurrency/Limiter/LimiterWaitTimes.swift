import Synchronization

final class LimiterWaitTimes: Sendable {
    private let now: @Sendable () -> Duration
    private let total = Atomic<UInt64>(0)
    private let longest = Atomic<UInt64>(0)

    convenience init(_ clock: any Clock<Duration>) {
        self.init(reading: clock)
    }

    private init<C: Clock<Duration>>(reading clock: C) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
    }

    func began() -> Duration { now() }

    /// Does nothing for a task that didn't wait.
    func ended(_ began: Duration?) {
        guard let began else { return }
        let waited = UInt64(clamping: (now() - began).attoseconds / 1_000_000_000)
        total.wrappingAdd(waited, ordering: .relaxed)
        longest.max(waited, ordering: .relaxed)
    }

    var values: (total: Duration, longest: Duration) {
        (
            .nanoseconds(Int64(clamping: total.load(ordering: .relaxed))),
            .nanoseconds(Int64(clamping: longest.load(ordering: .relaxed)))
        )
    }
}
