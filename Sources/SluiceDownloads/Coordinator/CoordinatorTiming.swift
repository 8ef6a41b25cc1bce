/// How a coordinator waits; tests have a clock of their own.
struct CoordinatorTiming: Sendable {
    var time = QueueTime.system
    var sleep: @Sendable (Duration) async throws -> Void
    /// How often a shared store is asked for what other processes changed.
    var poll = Duration.seconds(1)
    /// The least time between two snapshots.
    var frame = Duration.milliseconds(100)

    static let system = CoordinatorTiming { try await Task.sleep(for: $0) }
}
