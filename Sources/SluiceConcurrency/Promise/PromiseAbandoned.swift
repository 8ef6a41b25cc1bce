/// The error of a ``Promise`` that nobody can complete any more, as the last reference to its resolver went away
/// unused.
///
/// To avoid it, complete the promise on every path of the code that has the resolver, also where that fails.
public struct PromiseAbandoned: Error, Hashable, CustomStringConvertible {
    /// Says that a promise was abandoned.
    public init() {}

    /// What happened, in a sentence.
    public var description: String {
        "The promise was abandoned: the last reference to its resolver went away before it was completed."
    }
}
