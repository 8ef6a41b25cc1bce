/// The steps of a transfer, for tests that observe it or kill the process there.
///
/// ```text
/// requested ─▶ responded ─▶ receiving ─▶ checkpointed … ─▶ complete ─▶ published
/// ```
///
/// A small body, which is written and named in one step, has no `receiving` and no `checkpointed`. A transfer that starts again, or
/// requests the rest of a range, returns to `requested`.
package enum TransferPhase: Sendable, Hashable, CaseIterable {
    case requested
    case responded
    /// The first bytes of this response are in the partial file.
    case receiving
    case checkpointed
    /// All bytes have arrived in the right number. The file doesn't have its final name yet.
    case complete
    /// The file has its final name. The checkpoint still exists, so that a later process can recognize the file if this one dies now.
    case published
}
