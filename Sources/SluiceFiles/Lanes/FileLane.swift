/// The interface between an operation and the thread that runs its system calls.
///
/// A lane runs a job once, on a thread that may block, or refuses it if it is withdrawn before it begins. The lane holds none of its
/// locks while it delivers a result.
protocol FileLane: Sendable {
    /// Submits a job. Jobs begin in order of submission, as threads become free. Doesn't block.
    func submit(_ job: Job)

    /// Refuses a job that hasn't begun, immediately. Does nothing for a job that has begun or that was never submitted.
    func withdraw(_ job: Job)

    /// Accepts only jobs that must run from now on, finishes the submitted ones, and then ends the threads. Returns immediately.
    func close()

    func waitUntilClosed() async

    var statistics: LaneStatistics { get }
}

struct LaneStatistics: Sendable {
    var waiting = 0
    var running = 0
    var finished = 0
    var withdrawn = 0
    var threads = 0
}
