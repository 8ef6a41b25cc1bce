/// The error of a request that asks a limiter for more than it ever has.
///
///     do {
///         try await memory.run(weight: image.byteCount) { try await decode(image) }
///     } catch let error as WeightExceedsLimit {
///         showTooLarge(image, maximum: error.maximumWeight)
///     }
///
/// A ``ConcurrencyLimiter`` throws it for a weight of more than its ``ConcurrencyLimiter/concurrency``, a ``RateLimiter``
/// for a weight of more than its burst. Such a request would wait forever. It fails immediately, or when the limiter
/// becomes too small for it while it waits.
public struct WeightExceedsLimit: Error, Hashable, Sendable, CustomStringConvertible {
    /// The weight of the request.
    public var weight: Int
    /// The largest weight that the limiter could give at that time.
    public var maximumWeight: Int

    /// Creates an error.
    public init(weight: Int, maximumWeight: Int) {
        self.weight = weight
        self.maximumWeight = maximumWeight
    }

    /// What happened, and what to do about it.
    public var description: String {
        "The request has a weight of \(weight), and at most \(maximumWeight) is possible. "
            + "Split the request, or raise the limiter's concurrency or burst."
    }
}
