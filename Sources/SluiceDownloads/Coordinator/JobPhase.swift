/// The steps of a job in this process; for tests that kill the process there.
package enum JobPhase: Sendable, Hashable {
    /// The store has handed out the job.
    case claimed
    /// The job's transfer has reached this step.
    case transfer(TransferPhase)
    /// The store has recorded the outcome. The checkpoint beside the file still exists.
    case recorded
}
