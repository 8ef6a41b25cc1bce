/// The steps of a job in this process; for tests that kill it there.
package enum JobPhase: Sendable, Hashable {
    /// The store has handed it out.
    case claimed
    /// Its transfer is at this step.
    case transfer(TransferPhase)
    /// The store knows what became of it; what the transfer left beside the file is still there.
    case recorded
}
