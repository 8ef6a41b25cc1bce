/// The error of a ``Promise`` whose last reference to the resolver went away unused, so that nothing can complete it any more.
///
/// To avoid it, complete the promise on every path of the code that has the resolver, also where that code fails.
public struct PromiseAbandoned: Error, Hashable, CustomStringConvertible {
    /// Creates an error for a promise that was abandoned.
    public init() {}

    /// What happened, in a sentence.
    public var description: String {
        "The promise was abandoned: the last reference to its resolver went away before it was completed."
    }
}
