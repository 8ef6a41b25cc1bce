/// An error thrown by a ``Promise`` if its resolver was released before it completed the promise.
///
/// To avoid it, complete the promise on every path of the code that has the resolver, including the paths that fail.
public struct PromiseAbandoned: Error, Hashable, CustomStringConvertible {
    /// Creates an error for an abandoned promise.
    public init() {}

    /// What happened and what to do, in two sentences.
    public var description: String {
        "The promise was abandoned: its resolver was released before it was used. Complete the promise on every path of your code."
    }
}
