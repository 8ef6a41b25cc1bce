import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `Every interleaving of the rate limiter behaves like the naive one` {
    typealias Operation = RateLimiterExplorer.Operation

    @Test(arguments: [1, 2]) func `two tasks, any three operations each`(burst: Int) async {
        let violations = await offPool {
            let first = Self.programs(of: [.consume(2), .leave(1, .cancelled), .pass(10), .earlyTick])
            let second = Self.programs(of: [.consume(1), .leave(0, .expired), .change(5, burst: 1)])
            return first.flatMap { first in second.compactMap { Self.violation(burst, [first, $0]) } }
        }
        #expect(violations == [])
    }

    @Test(arguments: [1, 2]) func `three tasks, chosen programs`(burst: Int) async {
        let programs: [[[Operation]]] = [
            // The baton goes from hand to hand.
            [[.consume(1), .consume(1)], [.consume(1), .pass(10)], [.consume(burst)]],
            // The leader gives up, while the next one joins, plans or suspends.
            [[.consume(burst), .leave(1, .cancelled)], [.consume(burst)], [.consume(1)]],
            // A heavy leader gives up before a light one, for which there are enough tokens already.
            [[.consume(burst), .pass(10), .leave(1, .cancelled)], [.consume(burst)], [.consume(1)]],
            // The sleep ends too early, and too late.
            [[.consume(burst), .earlyTick], [.consume(1), .pass(30)], [.consume(burst), .earlyTick]],
            // The rate and the burst change while tasks wait.
            [[.consume(burst), .change(3, burst: 1)], [.consume(burst)], [.consume(1), .change(20, burst: 2)]],
            // A deadline at the moment of the tokens.
            [[.consume(burst), .pass(10), .leave(1, .expired)], [.consume(1)], [.consume(1), .leave(1, .cancelled)]],
        ]
        let violations = await offPool { programs.compactMap { Self.violation(burst, $0) } }
        #expect(violations == [])
    }

    @Test(arguments: UInt64(0)..<30) func `six tasks, two hundred operations each, chosen at random`(seed: UInt64) async
    {
        let violation = await offPool {
            var random = SeededRandom(seed: seed)
            let programs = (0..<6).map { _ in (0..<200).map { _ in Self.operation(using: &random) } }
            var explorer = RateLimiterExplorer(burst: 3, programs: programs)
            explorer.walk(using: &random)
            return explorer.violation
        }
        #expect(violation == nil)
    }

    private static func operation(using random: inout SeededRandom) -> Operation {
        let other = Int.random(in: 0..<6, using: &random)
        let time = Int128(Int.random(in: 1...20, using: &random))
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<24: return .consume(Int.random(in: 0...3, using: &random))
        case 24..<28: return .leave(other, .cancelled)
        case 28..<30: return .leave(other, .expired)
        case 30..<35: return .pass(2 * time)
        case 35..<37: return .earlyTick
        case 37..<39: return .change(time, burst: Int.random(in: 1...3, using: &random))
        default: return .cancelWaiting
        }
    }

    private static func violation(_ burst: Int, _ programs: [[Operation]]) -> String? {
        var explorer = RateLimiterExplorer(burst: burst, programs: programs)
        explorer.explore()
        return explorer.violation.map { "burst \(burst), \(programs): \($0)" }
    }

    /// All programs of three operations that begin with consuming.
    private static func programs(of operations: [Operation]) -> [[Operation]] {
        var programs: [[Operation]] = [[.consume(1)]]
        for _ in 0..<2 { programs = programs.flatMap { program in operations.map { program + [$0] } } }
        return programs
    }
}
