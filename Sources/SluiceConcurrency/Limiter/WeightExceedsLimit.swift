/// An error thrown if a request's weight is more than a limiter can ever give.
///
///     do {
///         try await memory.run(weight: image.byteCount) { try await decode(image) }
///     } catch let error as WeightExceedsLimit {
///         showTooLarge(image, maximum: error.maximumWeight)
///     }
///
/// A ``ConcurrencyLimiter`` throws it for a weight of more than its ``ConcurrencyLimiter/concurrency``, and a ``RateLimiter`` for a weight
/// of more than its burst. The request fails immediately, or when the limiter becomes too small for it while it waits.
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

    /// What happened and what to do, in two sentences.
    public var description: String {
        "The request has a weight of \(weight), but the limiter allows at most \(maximumWeight). "
            + "Split the request, or raise the limiter's concurrency or burst."
    }
}
