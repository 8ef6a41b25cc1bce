import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `LimiterLine: the next task` {
    private func line(_ priorities: [UInt8]) -> LimiterLine<Int> {
        var line = LimiterLine<Int>()
        for (number, priority) in priorities.enumerated() {
            _ = line.join(LimiterRequest(priority: priority), number)
        }
        return line
    }

    private func drain(_ line: inout LimiterLine<Int>) -> [Int] {
        var order: [Int] = []
        while !line.isEmpty { order.append(line.settleNext()!) }
        return order
    }

    @Test
    func `the most urgent is next, and among equals the first`() {
        var line = line([9, 25, 17, 25, 9, 33])
        #expect(drain(&line) == [5, 1, 3, 2, 0, 4])
        #expect(line.slotCount == 0)
    }

    @Test
    func `of seventeen places in a row, one goes to a task that was passed over`() {
        var line = line([9, 9, 9])
        var order: [Int] = []
        for number in 0..<60 {
            _ = line.join(LimiterRequest(priority: 25), 100 + number)
            order.append(line.settleNext()!)
        }

        #expect(order.firstIndex(of: 0) == 16)
        #expect(order.firstIndex(of: 1) == 33)
        #expect(order.firstIndex(of: 2) == 50)
        let urgent = order.filter { $0 >= 100 }
        #expect(urgent == urgent.sorted(), "an aged one that goes first changes nothing among the urgent")
    }

    @Test
    func `several priorities that are passed over take turns`() {
        var line = line(Array(repeating: 9, count: 5) + Array(repeating: 17, count: 5))
        var low: [Int] = []
        for number in 0..<200 {
            _ = line.join(LimiterRequest(priority: 25), 100 + number)
            let next = line.settleNext()!
            if next < 100 { low.append(next) }
        }

        #expect(low.prefix(4) == [5, 0, 6, 1])
        #expect(low.count == 10)
    }

    @Test
    func `a heavy one that aged is next until it fits`() {
        var line = LimiterLine<Int>()
        _ = line.join(LimiterRequest(weight: 5, priority: 9), 0)
        for number in 1...20 { _ = line.join(LimiterRequest(priority: 25), number) }
        for _ in 0..<16 {
            #expect(line.nextWeight == 1)
            _ = line.settleNext()
        }

        #expect(line.nextWeight == 5)
        _ = line.join(LimiterRequest(priority: 33), 21)
        #expect(line.nextWeight == 5)
        #expect(line.settleNext() == 0)
    }

    @Test
    func `a raised one goes to the end of its new level, and keeps its ticket`() {
        var line = LimiterLine<Int>()
        let tickets = [9, 9, 17, 25, 9].enumerated().map { line.join(LimiterRequest(priority: $1), $0) }
        let lowered = line.raise(tickets[3], to: 9)
        let raised = [line.raise(tickets[1], to: 25), line.raise(tickets[4], to: 17), line.raise(tickets[1], to: 33)]

        #expect(!lowered && raised == [true, true, true])
        #expect(line.settle(tickets[4], .cancelled) == 4)
        let raisedAfterwards = line.raise(tickets[4], to: 33)
        #expect(!raisedAfterwards)
        #expect(drain(&line) == [1, 3, 2, 0])
    }

    @Test
    func `one that would be next is of a higher priority than all others, unless they are aged`() {
        var line = line([17, 17])
        #expect((9...25).map(UInt8.init).filter(line.wouldBeNext) == (18...25).map(UInt8.init))
        for _ in 0..<16 { line.passOver() }
        #expect(!line.wouldBeNext(25))
        #expect(drain(&line) == [0, 1])
        #expect(line.wouldBeNext(9))
    }

    @Test
    func `the only priority is no longer aged after it had a place`() {
        var line = line([17, 17])
        for _ in 0..<16 { line.passOver() }
        #expect(line.settleNext() == 0)
        #expect(line.wouldBeNext(25))
    }

    /// Against a list that is searched from the beginning each time.
    @Test(arguments: UInt64(0)..<30)
    func `any order of joining, leaving and being served agrees with a plain list`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var line = LimiterLine<Int>()
        var plain: [(number: Int, priority: UInt8, ticket: LimiterLine<Int>.Ticket)] = []
        var passedOver: [UInt8: Int] = [:]
        for number in 0..<600 {
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1, 2:
                let priority: UInt8 = [9, 17, 25].randomElement(using: &random)!
                plain.append((number, priority, line.join(LimiterRequest(priority: priority), number)))
            case 3:
                guard !plain.isEmpty else { continue }
                let waiting = Set(plain.map(\.priority)).sorted(by: >)
                var next = waiting[0]
                for priority in waiting where (passedOver[priority] ?? 0) >= 16 {
                    if passedOver[priority]! > passedOver[next] ?? 0 { next = priority }
                }
                for priority in waiting { passedOver[priority, default: 0] += 1 }
                passedOver[next] = 0
                let index = plain.firstIndex { $0.priority == next }!
                #expect(line.settleNext() == plain.remove(at: index).number)
            case 4:
                guard let index = plain.indices.randomElement(using: &random) else { continue }
                var raised = plain[index]
                let priority: UInt8 = [17, 25, 33].randomElement(using: &random)!
                let moved = line.raise(raised.ticket, to: priority)
                #expect(moved == (priority > raised.priority))
                guard moved else { continue }
                plain.remove(at: index)
                raised.priority = priority
                plain.append(raised)
            case 5:
                let priority: UInt8 = [9, 17, 25, 33].randomElement(using: &random)!
                let isHighest = plain.allSatisfy { $0.priority < priority }
                let isAged = Set(plain.map(\.priority)).contains { passedOver[$0] ?? 0 >= 16 }
                #expect(line.wouldBeNext(priority) == (isHighest && !isAged))
                guard isHighest, !isAged else { continue }
                line.passOver()
                for waiting in Set(plain.map(\.priority)) { passedOver[waiting, default: 0] += 1 }
            default:
                guard let index = plain.indices.randomElement(using: &random) else { continue }
                let gone = plain.remove(at: index)
                #expect(line.settle(gone.ticket, .cancelled) == gone.number)
                #expect(line.settle(gone.ticket, .cancelled) == nil)
            }
            for priority in passedOver.keys where !plain.contains(where: { $0.priority == priority }) {
                passedOver[priority] = 0
            }
            #expect(line.count == plain.count)
        }
    }
}
