/// The moments of a transfer at which something has just become true: points for tests that watch it, or kill it there.
///
/// ```text
/// requested ─▶ responded ─▶ receiving ─▶ checkpointed … ─▶ complete ─▶ published
/// ```
///
/// A small body, which is written and named in one step, has no `receiving` and no `checkpointed`. A transfer that starts
/// again, or asks for the rest of a range, goes back to `requested`.
package enum TransferPhase: Sendable, Hashable, CaseIterable {
    /// A request goes out.
    case requested
    /// The head of the response is there.
    case responded
    /// The first bytes of this response are in the partial file.
    case receiving
    /// A checkpoint is beside the partial file, a first one or a later one.
    case checkpointed
    /// All bytes are there and have the right number; the final name is not.
    case complete
    /// The file has its final name. The checkpoint is still there, for who must know in case this process dies now.
    case published
}
