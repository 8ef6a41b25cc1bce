/// The seam between an operation and the thread that runs its system calls.
///
/// The worker pool is the first lane. A lane takes a job and runs it exactly once, on a thread that may block, or gives it
/// back unrun when it is withdrawn in time. It delivers a result with none of its locks held.
protocol FileLane: Sendable {
    /// Takes a job. It begins in order of submission, as threads become free. Does not block.
    func submit(_ job: Job)

    /// Takes back a job that has not begun, immediately; does nothing for one that has, and for one that it never got.
    func withdraw(_ job: Job)

    /// Takes no more jobs but those that must run, ends what it has, then its threads. Does not wait.
    func close()

    /// Returns when a closed lane has no thread left.
    func waitUntilClosed() async

    var statistics: LaneStatistics { get }
}

/// A lane's counters, all of one instant.
struct LaneStatistics: Sendable {
    var waiting = 0
    var running = 0
    var finished = 0
    var withdrawn = 0
    var threads = 0
}
