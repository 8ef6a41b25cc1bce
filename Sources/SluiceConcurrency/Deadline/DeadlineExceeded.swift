/// An error thrown if a deadline or a timeout passes before a wait or a body ends.
///
///     do {
///         try await limiter.run(timeout: .seconds(2)) { try await network.download(url) }
///     } catch is DeadlineExceeded {
///         showBusy()
///     }
///
/// Waits throw it without a cause: nothing was taken, and no body ran. `withDeadline` throws it with the error of the body
/// that it cancelled, and `URL.withFileLock` of SluiceFiles with the `FileError` that names the locked file.
///
/// All values are equal: the ``cause`` isn't compared.
public struct DeadlineExceeded: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error of the body that the deadline cancelled, often a `CancellationError`, or of the last attempt; `nil` if only a
    /// wait ended.
    public var cause: (any Error)?

    /// Creates an error, with the error of the cancelled body if there is one.
    public init(cause: (any Error)? = nil) {
        self.cause = cause
    }

    /// What happened, and what to do about it or the body's error.
    public var description: String {
        guard let cause else {
            return "The deadline passed before the wait ended. Allow more time, or try again later."
        }
        return "The deadline passed before the work was done. The work ended with this error: \(cause)"
    }

    /// Returns `true`: all values are equal.
    public static func == (left: DeadlineExceeded, right: DeadlineExceeded) -> Bool { true }

    /// Adds nothing to the hasher, because all values are equal.
    public func hash(into hasher: inout Hasher) {}
}
