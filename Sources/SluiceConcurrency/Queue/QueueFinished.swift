/// The error of a producer whose queue is finished, or is finished while the producer waits for a place.
///
///     do {
///         try await pages.send(page)
///     } catch is QueueFinished {
///         return
///     }
///
/// The element of a `send` that throws is not in the queue, and no consumer gets it.
public struct QueueFinished: Error, Hashable, Sendable, CustomStringConvertible {
    /// Creates an error for a queue that is finished.
    public init() {}

    /// What happened and what to do, in two sentences.
    public var description: String {
        "The queue is finished and takes no more elements. Stop producing, or call finish() only after every producer has ended."
    }
}
