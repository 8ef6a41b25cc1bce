/// The error of a wait that ends because its deadline comes first, and of ``withDeadline(_:clock:body:)-76ntw`` if the body fails
/// after the deadline has cancelled it.
///
///     do {
///         show(try await withDeadline(deadline, clock: clock) { try await load() })
///     } catch let error as DeadlineExceeded {
///         log("\(error)")
///     }
public struct DeadlineExceeded: Error, CustomStringConvertible {
    /// The deadline, an instant of the clock that was passed in.
    public let deadline: any InstantProtocol
    /// What the body threw: mostly `CancellationError`, or what a cancelled operation makes of it. It's nil for a wait.
    public let cause: (any Error)?

    /// Creates an error for a deadline that came first.
    public init(deadline: any InstantProtocol, cause: (any Error)? = nil) {
        self.deadline = deadline
        self.cause = cause
    }

    /// What happened, in a sentence.
    public var description: String {
        if let cause {
            "The deadline \(deadline) came before the work was done, which then ended with: \(cause)"
        } else {
            "The deadline \(deadline) came before the wait was over."
        }
    }
}
