public import HTTPTypes

/// The rules for retrying a failed request: how often, and how long to wait first.
///
///     var random = SystemRandomNumberGenerator()
///     if RetryPolicy.isTransient(status), let delay = policy.delay(beforeRetry: 1, using: &random) { … }
///
/// The delays are exponential with full jitter (Marc Brooker, "Exponential Backoff And Jitter", 2015): the n-th retry waits a random time
/// between zero and `baseDelay × 2ⁿ⁻¹`, at most ``maximumDelay``. The delay is never shorter than a server's `Retry-After`. If the server
/// asks for more than ``maximumRetryAfter``, there are no further retries, so a caller doesn't wait for hours.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of attempts after the first.
    public var maximumRetries: Int
    /// The upper bound of the random delay before the first retry.
    public var baseDelay: Duration
    /// The upper bound of every random delay.
    public var maximumDelay: Duration
    /// The longest `Retry-After` to wait for.
    public var maximumRetryAfter: Duration

    /// Creates a policy. The defaults suit interactive use: three retries within a few seconds.
    ///
    /// - Precondition: `maximumRetries` isn't negative.
    public init(
        maximumRetries: Int = 3, baseDelay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(30),
        maximumRetryAfter: Duration = .seconds(120)
    ) {
        precondition(
            maximumRetries >= 0, "A retry policy's maximumRetries must not be negative; it is \(maximumRetries).")
        self.maximumRetries = maximumRetries
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.maximumRetryAfter = maximumRetryAfter
    }

    /// A policy without retries.
    public static let never = RetryPolicy(maximumRetries: 0)

    /// Returns the delay before a retry, or `nil` if there must be no further retry. Retries are counted from 1. `retryAfter` is the delay
    /// that the server asked for, if any.
    ///
    /// - Precondition: `number` is at least 1.
    public func delay(
        beforeRetry number: Int, retryAfter: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        precondition(number >= 1, "The number of a retry must be at least 1; it is \(number).")
        guard number <= maximumRetries else { return nil }
        if let retryAfter, retryAfter > maximumRetryAfter { return nil }
        // Capped so that nothing overflows. Negative delays count as zero.
        let longest = Duration.seconds(1 << 40)
        let (base, most) = (min(max(.zero, baseDelay), longest), min(max(.zero, maximumDelay), longest))
        let bound = min(base * (1 << min(number - 1, 20)), most)
        let jitter = bound * Double.random(in: 0...1, using: &generator)
        return max(jitter, retryAfter ?? .zero)
    }

    /// Returns whether another attempt may succeed after a response with this status: 408, 425, 429, 500, 502, 503 or 504 (RFC 9110,
    /// section 15; RFC 8470; RFC 6585). Other failures are about the request or the resource, and another attempt would fail the same way.
    public static func isTransient(_ status: HTTPResponse.Status) -> Bool {
        [408, 425, 429, 500, 502, 503, 504].contains(status.code)
    }

    /// Returns the delay that a `Retry-After` field asks for (RFC 9110, section 10.2.3), in seconds or as a date after `now`. Returns zero
    /// for a date in the past, at most 68 years (2³¹ - 1 seconds, so that time arithmetic doesn't overflow), and `nil` if the field is
    /// missing or invalid.
    package static func retryAfter(in headerFields: HTTPFields, now: HTTPDate) -> Duration? {
        guard let text = headerFields.value(of: .retryAfter)?.trimmingSpaces(), !text.isEmpty else { return nil }
        let most = Int64(Int32.max)
        if text.isDigits { return .seconds(min(Int64(text) ?? most, most)) }
        guard let date = HTTPDate(parsing: text, now: now) else { return nil }
        let (seconds, overflows) = date.secondsSince1970.subtractingReportingOverflow(now.secondsSince1970)
        return .seconds(overflows ? most : min(max(0, seconds), most))
    }
}
