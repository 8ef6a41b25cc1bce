import Testing
import TestSupport

@testable import SluiceConcurrency

@Suite struct `The line of waiters` {
    @Test(arguments: 1...20)
    func `joining, leaving and cancelling at random matches an array`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var line = WaitingLine<Int, Bool>()
        var expected: [(number: Int, ticket: WaitingLine<Int, Bool>.Ticket, isInterruptible: Bool)] = []
        var left: [WaitingLine<Int, Bool>.Ticket] = []

        for number in 0..<2_000 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0...3:
                let isInterruptible = Bool.random(using: &random)
                expected.append((number, line.join(number, isInterruptible: isInterruptible), isInterruptible))
            case 4, 5:
                guard !expected.isEmpty else { continue }
                let first = expected.removeFirst()
                #expect(line.settleFirst(true) == first.number)
                left.append(first.ticket)
            case 6:
                guard let index = expected.indices.randomElement(using: &random) else { continue }
                let cancelled = expected.remove(at: index)
                #expect(line.settle(cancelled.ticket, false) == cancelled.number)
                left.append(cancelled.ticket)
            default:
                guard Int.random(in: 0..<50, using: &random) == 0 else { continue }
                let interrupted = expected.filter(\.isInterruptible)
                #expect(line.settle(false) { isInterruptible, _ in isInterruptible } == interrupted.map(\.number))
                expected.removeAll(where: \.isInterruptible)
                left += interrupted.map(\.ticket)
            }
            #expect(line.count == expected.count)
        }

        for ticket in left { #expect(line.settle(ticket, false) == nil, "an old ticket must match no waiter") }
        #expect(line.settleAll(true) == expected.map(\.number))
        #expect(line.isEmpty)
    }

    @Test
    func `a slot is reused, but its old ticket matches no waiter`() {
        var line = WaitingLine<Int, Bool>()
        let kept = line.join(0)
        let old = line.join(1)
        _ = line.settle(old, false)
        let new = line.join(2)

        #expect(line.slotCount == 2)
        #expect(line.settle(old, false) == nil)
        #expect(line.contains(new))
        #expect(line.contains(kept))
    }
}
