/// Tokens that arrive at an even rate, up to a burst, counted exactly.
///
/// Whole tokens and the next, incomplete token are counted separately. The incomplete token is counted in units of one
/// `period`-th of a token, the amount that arrives in one attosecond at a rate of one. So no amount is ever rounded away,
/// regardless of how often tokens are counted. Products use 256 bits if necessary; a larger result means a full bucket, or a
/// moment that is never reached.
struct TokenBucket: Hashable, Sendable {
    /// A moment later than any time of a clock, and small enough to add to without overflow.
    static let never = Int128.max / 4

    /// The number of tokens that arrive during `period` attoseconds.
    private(set) var rate: UInt128
    private(set) var period: UInt128
    private(set) var burst: Int
    private(set) var tokens: Int
    /// The part of the incomplete token that has arrived, in `period`-ths; zero if the bucket is full.
    private(set) var fraction: UInt128 = 0
    /// The time up to which tokens are counted, in attoseconds.
    private(set) var time: Int128 = 0

    init(rate: Int, per period: Duration, burst: Int) {
        self.rate = UInt128(rate)
        self.period = UInt128(period.attoseconds)
        self.burst = burst
        tokens = burst
    }

    /// Adds the tokens that have arrived by `now`. After the clock is set back, none arrive until it has caught up.
    mutating func refill(until now: Int128) {
        guard now > time else { return }
        let elapsed = UInt128(truncatingIfNeeded: now &- time)
        time = now
        guard tokens < burst else { return }
        guard let (whole, rest) = Self.divide(elapsed, times: rate, plus: fraction, by: period),
            whole < UInt128(burst - tokens)
        else { return fill() }
        tokens += Int(whole)
        fraction = rest
    }

    mutating func take(_ weight: Int) -> Bool {
        guard weight <= tokens else { return false }
        tokens -= weight
        return true
    }

    /// Returns the first moment at which `wanted` tokens will have arrived, even if the bucket can't hold as many at one time.
    func moment(of wanted: UInt128) -> Int128 {
        guard wanted > UInt128(tokens) else { return time }
        // The whole tokens without the last one; to them is added the rest of the incomplete token, and `rate - 1` to round up.
        let missing = wanted - UInt128(tokens) - 1
        guard let wait = Self.divide(missing, times: period, plus: period - fraction + (rate - 1), by: rate)?.quotient,
            wait < UInt128(Self.never), time < Self.never - Int128(wait)
        else { return Self.never }
        return time + Int128(wait)
    }

    /// Tokens that have arrived are kept, up to the burst.
    mutating func change(rate: Int, per period: Duration, burst: Int) {
        let period = UInt128(period.attoseconds)
        fraction = Self.divide(fraction, times: period, plus: 0, by: self.period)?.quotient ?? 0
        self.rate = UInt128(rate)
        self.period = period
        self.burst = burst
        if tokens >= burst { fill() }
    }

    // MARK: Machinery

    private mutating func fill() {
        tokens = burst
        fraction = 0
    }

    /// Returns `(factor * other + addend) / divisor`, or `nil` if the quotient overflows.
    private static func divide(
        _ factor: UInt128, times other: UInt128, plus addend: UInt128, by divisor: UInt128
    ) -> (quotient: UInt128, remainder: UInt128)? {
        let (product, isLarge) = factor.multipliedReportingOverflow(by: other)
        let (sum, isLarger) = product.addingReportingOverflow(addend)
        if !isLarge && !isLarger { return sum.quotientAndRemainder(dividingBy: divisor) }
        // The slower path for 256 bits is rarely needed.
        var (high, low) = factor.multipliedFullWidth(by: other)
        let carry: Bool
        (low, carry) = low.addingReportingOverflow(addend)
        if carry { high += 1 }
        return high < divisor ? divisor.dividingFullWidth((high, low)) : nil
    }
}
