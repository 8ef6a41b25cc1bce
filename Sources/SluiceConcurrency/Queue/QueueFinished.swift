/// An error thrown to a producer if its queue is finished before the element is added. The element isn't delivered.
///
///     do {
///         try await pages.send(page)
///     } catch is QueueFinished {
///         return
///     }
public struct QueueFinished: Error, Hashable, Sendable, CustomStringConvertible {
    /// Creates an error for a finished queue.
    public init() {}

    /// What happened and what to do, in two sentences.
    public var description: String {
        "The queue is finished and takes no more elements. Stop producing, or call finish() only after every producer has ended."
    }
}
