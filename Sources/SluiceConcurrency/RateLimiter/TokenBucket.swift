/// Tokens that come in at an even rate, up to a burst, counted exactly.
///
/// Whole tokens and the begun one are kept apart, the latter in parts of one `period`-th of a token, which is what comes in
/// during one attosecond at a rate of one. So nothing is ever rounded away, however often it is asked. Products have 256
/// bits where they need them, and what would not fit even then is a full bucket or a moment out of reach.
struct TokenBucket: Hashable, Sendable {
    /// A moment later than all that a clock can tell, and far enough from the end to add to.
    static let never = Int128.max / 4

    /// This many tokens come in during `period` attoseconds.
    private(set) var rate: UInt128
    private(set) var period: UInt128
    private(set) var burst: Int
    private(set) var tokens: Int
    /// Of the token that is coming in, in `period`-ths; zero in a full bucket.
    private(set) var fraction: UInt128 = 0
    /// Until when was counted, in attoseconds.
    private(set) var time: Int128 = 0

    /// A full bucket.
    init(rate: Int, per period: Duration, burst: Int) {
        self.rate = UInt128(rate)
        self.period = UInt128(period.attoseconds)
        self.burst = burst
        tokens = burst
    }

    /// Counts what has come in until now. A clock that was set back brings nothing until it has caught up.
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

    /// Takes tokens if there are so many.
    mutating func take(_ weight: Int) -> Bool {
        guard weight <= tokens else { return false }
        tokens -= weight
        return true
    }

    /// The first moment at which so many will have come in (also more than fit in, which then are taken in between).
    func moment(of wanted: UInt128) -> Int128 {
        guard wanted > UInt128(tokens) else { return time }
        // One token less, what is missing of the begun one, and what rounds up.
        let missing = wanted - UInt128(tokens) - 1
        guard let wait = Self.divide(missing, times: period, plus: period - fraction + (rate - 1), by: rate)?.quotient,
            wait < UInt128(Self.never), time < Self.never - Int128(wait)
        else { return Self.never }
        return time + Int128(wait)
    }

    /// Goes on at another rate. What has come in stays, as far as it fits in.
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

    /// Nil if the quotient does not fit.
    private static func divide(
        _ factor: UInt128, times other: UInt128, plus addend: UInt128, by divisor: UInt128
    ) -> (quotient: UInt128, remainder: UInt128)? {
        let (product, isLarge) = factor.multipliedReportingOverflow(by: other)
        let (sum, isLarger) = product.addingReportingOverflow(addend)
        if !isLarge && !isLarger { return sum.quotientAndRemainder(dividingBy: divisor) }
        // 256 bits are slow, and seldom needed.
        var (high, low) = factor.multipliedFullWidth(by: other)
        let carry: Bool
        (low, carry) = low.addingReportingOverflow(addend)
        if carry { high += 1 }
        return high < divisor ? divisor.dividingFullWidth((high, low)) : nil
    }
}
