import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `The token bucket` {
    @Test func `it is full at first, and holds no more than the burst`() {
        var bucket = TokenBucket(rate: 2, per: .seconds(1), burst: 5)
        let first = [bucket.take(5), bucket.take(1)]
        bucket.refill(until: Duration.seconds(2).attoseconds)
        let afterTwoSeconds = bucket.tokens
        bucket.refill(until: Duration.seconds(200_000).attoseconds)

        #expect(first == [true, false])
        #expect(afterTwoSeconds == 4)
        #expect((bucket.tokens, bucket.fraction) == (5, 0))
    }

    /// 1,000,000 tokens at rates that do not divide the period: the last comes exactly when it should.
    @Test(arguments: [(7, Duration.seconds(3)), (999_983, .seconds(1)), (1, .nanoseconds(333))])
    func `a million consumes come out exactly, however often the bucket is asked`(rate: Int, period: Duration) async {
        let (time, tokens) = await offPool { () -> (Int128, Int) in
            var bucket = TokenBucket(rate: rate, per: period, burst: 2)
            _ = bucket.take(2)
            for number in 0..<1_000_000 {
                let due = bucket.moment(of: 1)
                // Now and then a task looks before it is time.
                if number % 16 == 0 { bucket.refill(until: due - 1) }
                if number % 16 == 0, bucket.take(1) { return (-1, number) }
                bucket.refill(until: due)
                guard bucket.take(1) else { return (-2, number) }
            }
            return (bucket.time, bucket.tokens)
        }
        let exact = (1_000_000 * period.attoseconds + Int128(rate) - 1) / Int128(rate)
        #expect(tokens == 0)
        #expect(time == exact)
    }

    /// Whole tokens that are never capped: nothing may be lost at all.
    @Test func `what comes in in very many steps is what comes in in one step`() async {
        let (stepwise, atOnce) = await offPool { () -> (TokenBucket, TokenBucket) in
            var random = SeededRandom(seed: 1)
            var stepwise = TokenBucket(rate: 999_983, per: .seconds(7), burst: .max)
            _ = stepwise.take(.max)
            var atOnce = stepwise
            var now: Int128 = 0
            for _ in 0..<200_000 {
                now += Int128(UInt64.random(in: 0...100_000_000_000_000, using: &random))
                stepwise.refill(until: now)
            }
            atOnce.refill(until: now)
            return (stepwise, atOnce)
        }
        #expect(stepwise == atOnce)
        #expect(stepwise.tokens == Int(stepwise.time * 999_983 / Duration.seconds(7).attoseconds))
    }

    @Test(arguments: 1...50) func `it agrees with fractions that are counted in the plain way`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let (rate, period) = (Int.random(in: 1...20, using: &random), Int.random(in: 1...20, using: &random))
        let burst = Int.random(in: 1...10, using: &random)
        var bucket = TokenBucket(rate: rate, per: Duration(attoseconds: Int128(period)), burst: burst)
        // In `period`-ths of a token.
        var parts = burst * period
        var now = 0
        for _ in 0..<200 {
            let wanted = Int.random(in: 0...burst, using: &random)
            let missing = max(0, wanted * period - parts)
            let due = now + (missing + rate - 1) / rate
            #expect(bucket.moment(of: UInt128(wanted)) == Int128(due))
            now += Int.random(in: 0...5, using: &random)
            parts = min(burst * period, parts + (now - Int(bucket.time)) * rate)
            bucket.refill(until: Int128(now))
            let isThere = parts >= wanted * period
            if isThere { parts -= wanted * period }
            let taken = bucket.take(wanted)
            #expect(taken == isThere)
            #expect(bucket.tokens * period + Int(bucket.fraction) == parts)
        }
    }

    @Test func `no rate, burst, period or time is too large`() {
        let longest = Duration(attoseconds: .max)
        for rate in [1, 3, Int.max] {
            for period in [Duration(attoseconds: 1), .seconds(1), longest] {
                for burst in [1, Int.max] {
                    var bucket = TokenBucket(rate: rate, per: period, burst: burst)
                    let full = bucket.take(burst)
                    #expect(full)
                    #expect(bucket.moment(of: .max) >= bucket.moment(of: 1))
                    #expect(bucket.moment(of: .max) <= TokenBucket.never)
                    bucket.refill(until: 1)
                    bucket.change(rate: rate, per: longest, burst: burst)
                    bucket.refill(until: .max)
                    bucket.change(rate: .max, per: Duration(attoseconds: 1), burst: burst)
                    #expect(bucket.tokens <= burst && bucket.fraction < bucket.period)
                }
            }
        }
        var slow = TokenBucket(rate: 1, per: longest, burst: 1)
        _ = slow.take(1)
        slow.refill(until: .max - 1)
        #expect(slow.tokens == 0)
        slow.refill(until: .max)
        #expect(slow.tokens == 1)
    }

    @Test func `a clock that jumps back brings nothing until it has caught up`() {
        var bucket = TokenBucket(rate: 1, per: Duration(attoseconds: 10), burst: 3)
        bucket.refill(until: 1_000)
        _ = bucket.take(3)
        bucket.refill(until: 500)
        bucket.refill(until: 1_000)
        let before = bucket.tokens
        bucket.refill(until: 1_010)
        #expect((before, bucket.tokens) == (0, 1))
    }

    @Test func `what has come in stays when the rate changes`() {
        var bucket = TokenBucket(rate: 1, per: Duration(attoseconds: 10), burst: 4)
        _ = bucket.take(4)
        bucket.refill(until: 15)  // a token and a half
        bucket.change(rate: 1, per: Duration(attoseconds: 100), burst: 4)
        let due = bucket.moment(of: 2)
        bucket.change(rate: 1, per: Duration(attoseconds: 100), burst: 1)

        #expect(due == 15 + 50)
        #expect((bucket.tokens, bucket.fraction) == (1, 0))
    }
}
