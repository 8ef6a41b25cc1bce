/// A request asks for more than its ``ConcurrencyLimiter`` ever has, so that it could wait for ever.
///
///     do {
///         try await memory.run(weight: picture.byteCount) { try await decode(picture) }
///     } catch let error as WeightExceedsLimit {
///         // too large for this machine: \(error.weight) of \(error.limit)
///     }
///
/// It is thrown at once, or when ``ConcurrencyLimiter/resize(to:)`` makes the limit too small for a request in line.
public struct WeightExceedsLimit: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was asked for.
    public let weight: Int
    /// The limit at that time.
    public let limit: Int

    /// What happened, and what to do about it.
    public var description: String {
        "A weight of \(weight) was asked of a ConcurrencyLimiter whose limit is \(limit): it would wait for ever. "
            + "Ask for \(limit) or less, or raise the limit with resize(to:)."
    }
}
