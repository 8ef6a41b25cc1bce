/// The error of ``withDeadline(_:clock:body:)-76ntw`` if the body failed after the deadline had cancelled it.
public struct DeadlineExceeded: Error, CustomStringConvertible {
    /// The deadline, an instant of the clock that was passed in.
    public let deadline: any InstantProtocol
    /// What the body threw: mostly `CancellationError`, or what an operation that was cancelled makes of it.
    public let underlyingError: any Error

    /// Says that the deadline came, and what the body threw thereupon.
    public init(deadline: any InstantProtocol, underlyingError: any Error) {
        self.deadline = deadline
        self.underlyingError = underlyingError
    }

    /// What happened, in a sentence.
    public var description: String {
        "The deadline \(deadline) came before the work was done, which then ended with: \(underlyingError)"
    }
}
