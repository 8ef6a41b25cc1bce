public import HTTPTypes

/// Whether a failed attempt is worth another, and when.
///
///     var random = SystemRandomNumberGenerator()
///     if RetryPolicy.isTransient(status), let delay = policy.delay(beforeRetry: 1, using: &random) { … }
///
/// Delays grow exponentially with full jitter: the n-th retry waits a random time between zero and
/// `baseDelay × 2ⁿ⁻¹`, at most ``maximumDelay`` (Marc Brooker, "Exponential Backoff And Jitter", 2015). A server's
/// `Retry-After` is obeyed: the delay is never shorter. One that asks for more than ``maximumRetryAfter`` ends the retries,
/// rather than keep somebody waiting for hours.
public struct RetryPolicy: Sendable, Hashable {
    /// How many more attempts follow the first one.
    public var maximumRetries: Int
    /// The upper bound of the first retry's random delay.
    public var baseDelay: Duration
    /// The upper bound of every random delay.
    public var maximumDelay: Duration
    /// The longest `Retry-After` that is waited for.
    public var maximumRetryAfter: Duration

    /// A policy; the defaults suit a person who waits: three retries within a few seconds.
    public init(
        maximumRetries: Int = 3, baseDelay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(30),
        maximumRetryAfter: Duration = .seconds(120)
    ) {
        precondition(maximumRetries >= 0, "RetryPolicy: maximumRetries cannot be negative")
        self.maximumRetries = maximumRetries
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.maximumRetryAfter = maximumRetryAfter
    }

    /// No second attempt.
    public static let never = RetryPolicy(maximumRetries: 0)

    /// How long to wait before the retry with this number, counted from 1; nil if there is none.
    public func delay(
        beforeRetry number: Int, retryAfter: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        precondition(number >= 1, "RetryPolicy: retries are counted from 1")
        guard number <= maximumRetries else { return nil }
        if let retryAfter, retryAfter > maximumRetryAfter { return nil }
        let growth = 1 << min(number - 1, 20)
        let bound = baseDelay < maximumDelay / growth ? baseDelay * growth : maximumDelay
        let jitter = bound * Double.random(in: 0...1, using: &generator)
        return max(jitter, retryAfter ?? .zero)
    }

    /// Whether a response with this status may turn out otherwise later.
    ///
    /// 408, 425, 429, 500, 502, 503 and 504, as RFC 9110 (section 15), RFC 8470 and RFC 6585 describe them. The other
    /// failures say something about the request or the resource, and would say it again.
    public static func isTransient(_ status: HTTPResponse.Status) -> Bool {
        [408, 425, 429, 500, 502, 503, 504].contains(status.code)
    }

    /// What a `Retry-After` field asks for (RFC 9110, section 10.2.3): seconds, or a date, seen from `now`.
    ///
    /// A date in the past asks for no delay. Nil where the field is absent or in neither form.
    package static func retryAfter(in headerFields: HTTPFields, now: HTTPDate) -> Duration? {
        guard let text = headerFields[.retryAfter]?.trimmingSpaces(), !text.isEmpty else { return nil }
        if text.isDigits {
            return .seconds(Int64(text) ?? Int64(Int32.max))
        }
        return HTTPDate(parsing: text, now: now).map { .seconds(max(0, $0.secondsSince1970 - now.secondsSince1970)) }
    }
}
