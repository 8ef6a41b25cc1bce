/// The error of every wait in this module that is bounded by a deadline or a timeout, when that passes first.
///
///     do {
///         try await limiter.run(timeout: .seconds(2)) { try await network.download(url) }
///     } catch is DeadlineExceeded {
///         showBusy()
///     }
///
/// Functions that wait throw it without a cause: nothing was taken, and no body ran. `withDeadline`
/// throws it with the error of the body that it cancelled.
///
/// All values are equal: like the causes of other errors, the ``cause`` isn't compared.
public struct DeadlineExceeded: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error of the work that the deadline cancelled, often a `CancellationError`; nil where only a wait ended.
    public var cause: (any Error)?

    /// Creates an error, with the error of the work that was cancelled if there is one.
    public init(cause: (any Error)? = nil) {
        self.cause = cause
    }

    /// What happened, in one or two sentences.
    public var description: String {
        guard let cause else {
            return "The deadline passed before the wait was over. Allow more time, or try again later."
        }
        return "The deadline passed before the work was done. The work was cancelled, and failed with: \(cause)"
    }

    /// Always true: the cause isn't compared.
    public static func == (left: DeadlineExceeded, right: DeadlineExceeded) -> Bool { true }

    /// Adds nothing, since all values are equal.
    public func hash(into hasher: inout Hasher) {}
}
