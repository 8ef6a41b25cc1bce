/// A queue that did not take or give an element, and what to do about it.
///
///     do {
///         try await pages.send(page)
///     } catch let error as QueueError where error.code == .finished {
///         return     // nobody wants more pages
///     }
///
/// The element of a `send` that throws is not in the queue, and nobody will get it. A cancelled task gets
/// `CancellationError`, never a `QueueError`.
public struct QueueError: Error, Hashable, Sendable {
    /// What kind of failure it is, for programs.
    public enum Code: Hashable, Sendable {
        /// The queue is finished, or was while the producer waited.
        case finished
        /// The queue is full, and its overflow policy is to reject.
        case full
        /// The deadline came first.
        case deadlineExceeded
    }

    /// What kind of failure it is, for programs.
    public var code: Code

    /// Makes an error.
    public init(code: Code) {
        self.code = code
    }

    /// What the programmer can do about it, as one sentence.
    public var remedy: String {
        switch code {
        case .finished: "Stop producing; or call finish() only when every producer has ended."
        case .full:
            "Try again later, or make the queue with the overflow policy .suspend so that send waits for a place."
        case .deadlineExceeded: "Allow more time, add consumers, or give the queue more capacity."
        }
    }
}

extension QueueError: CustomStringConvertible {
    /// One line: what happened, what to do.
    public var description: String {
        let message =
            switch code {
            case .finished: "The queue is finished."
            case .full: "The queue is full."
            case .deadlineExceeded: "The deadline came before the queue had a place or an element."
            }
        return "\(message) \(remedy)"
    }
}
