struct CoordinatorTiming: Sendable {
    var time = QueueTime.system
    var sleep: @Sendable (Duration) async throws -> Void
    /// The interval at which a shared store is checked for changes by other processes.
    var poll = Duration.seconds(1)
    /// The minimum time between two snapshots.
    var frame = Duration.milliseconds(100)

    static let system = CoordinatorTiming { try await Task.sleep(for: $0) }
}
