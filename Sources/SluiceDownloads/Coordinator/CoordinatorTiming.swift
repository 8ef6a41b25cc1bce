import SluiceConcurrency

/// The clock and the intervals of a coordinator. The clock isn't that of the day, which may be set.
struct CoordinatorTiming: Sendable {
    let clock: any Clock<Duration>
    /// The time in milliseconds since the value was created.
    let now: @Sendable () -> Int64
    private let waitUntil: @Sendable (Condition, Int64) async -> Void
    /// The interval at which a shared store is checked for changes by other processes.
    var poll: Duration
    /// The minimum time between two snapshots.
    var frame: Duration

    static let system = CoordinatorTiming()

    init(
        clock: some Clock<Duration> = .continuous, poll: Duration = .seconds(1), frame: Duration = .milliseconds(100)
    ) {
        self.clock = clock
        self.poll = poll
        self.frame = frame
        let start = clock.now
        now = { start.duration(to: clock.now).milliseconds }
        waitUntil = { _ = try? await $0.wait(until: start.advanced(by: .milliseconds($1)), clock: clock) }
    }

    /// Waits until a condition is signalled or it is `time` (see ``now``). Returns immediately if the task is cancelled.
    func wait(for condition: Condition, until time: Int64?) async {
        if let time {
            await waitUntil(condition, time)
        } else {
            _ = try? await condition.waitUnlessCancelled()
        }
    }

    /// Waits until a condition is signalled or the limit passes. Returns immediately if the task is cancelled.
    func wait(for condition: Condition, atMost limit: Duration? = nil) async {
        if let limit {
            await wait(for: condition, atMost: limit, on: clock)
        } else {
            _ = try? await condition.waitUnlessCancelled()
        }
    }

    private func wait<C: Clock>(
        for condition: Condition, atMost limit: Duration, on clock: C
    ) async where C.Duration == Duration {
        _ = try? await condition.wait(until: clock.now.advanced(by: limit), clock: clock)
    }
}
