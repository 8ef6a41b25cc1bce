import SluiceConcurrency

struct CoordinatorTiming: Sendable {
    var time = QueueTime.system
    var clock: any Clock<Duration> = .continuous
    /// The interval at which a shared store is checked for changes by other processes.
    var poll = Duration.seconds(1)
    /// The minimum time between two snapshots.
    var frame = Duration.milliseconds(100)

    static let system = CoordinatorTiming()

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
