/// Why a ``RateLimiter`` did not give tokens.
public struct RateLimitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of reasons.
    public enum Code: Hashable, Sendable {
        /// More tokens were asked for than the limiter ever holds.
        case heavierThanBurst
        /// The tokens are not there before the deadline.
        case deadlineExceeded
    }

    /// The kind of reason.
    public let code: Code
    /// How many tokens were asked for.
    public let weight: Int
    /// How many the limiter holds when it is full.
    public let burst: Int

    /// What happened, and what helps against it.
    public var description: String {
        switch code {
        case .heavierThanBurst:
            "A rate limiter that holds at most \(burst) tokens cannot give \(weight) at once. "
                + "Take them in several parts, or make the burst larger."
        case .deadlineExceeded:
            "\(weight) tokens will not be there by the deadline. Allow more time, ask for fewer, or raise the rate."
        }
    }
}
