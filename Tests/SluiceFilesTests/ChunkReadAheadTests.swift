import Foundation
import SluiceFiles
import Testing

/// The state machine alone, over all orders of events.
struct ReadAheadMachine {
    private struct Broken: Error {}

    private enum Event: CaseIterable { case ask, arrive, end, fail, abandon }

    /// Holds what a consumer and a reader see of one order of events to the contract, at each step. Returns whether the order is one that can happen.
    private func run(_ events: [Event], depth: Int) -> Bool {
        var machine = ReadAhead<Int>(depth: depth)
        var isReading = false
        var isWaiting = false
        var isAbandoned = false
        var made: UInt8 = 0
        var expected: UInt8 = 0
        var isOver = false
        var failsNext = false

        func check(_ answer: ReadAhead<Int>.Answer) {
            switch answer {
            case .success(let chunk?):
                expect(chunk == Data([expected]), "in order, each once: \(events)")
                expected += 1
            case .success(nil):
                expect(isOver && expected == made && !failsNext, "the end comes after the last chunk: \(events)")
            case .failure:
                expect(failsNext && expected == made, "the error comes once, after the chunks before it: \(events)")
                failsNext = false
            }
        }

        for event in events {
            switch event {
            case .ask where !isWaiting && !isAbandoned:
                let (answer, reads) = machine.ask(7)
                expect(!(reads && isReading), "one reader at a time: \(events)")
                if reads { isReading = true }
                isWaiting = answer == nil
                if let answer { check(answer) }
            case .arrive where isReading, .end where isReading, .fail where isReading:
                var chunk: Data?
                var end: Result<Void, any Error>?
                if event == .arrive { chunk = Data([made]) }
                if event == .end { end = .success(()) }
                if event == .fail { end = .failure(Broken()) }
                if !isAbandoned {
                    if event == .arrive { made += 1 } else { isOver = true }
                    failsNext = event == .fail
                }
                let step = machine.arrived(chunk, end: end)
                expect((step.waiter != nil) == isWaiting, "a waiting reader is answered: \(events)")
                if isWaiting { check(step.answer) }
                isWaiting = false
                isReading = step.goesOn
                expect(!(isReading && (isOver || isAbandoned)), "nothing is read after the end: \(events)")
            case .abandon where !isWaiting && !isAbandoned:
                isAbandoned = true
                let dropped = machine.abandon()
                expect(dropped.count == Int(made - expected), "what lies ready is given back: \(events)")
            default: return false
            }
            expect(machine.isReading == isReading, "the reader was told: \(events)")
            expect(machine.count <= depth, "no more than the depth lies ready: \(events)")
            expect(!isWaiting || isReading, "a waiting loop has a reader: \(events)")
            if !isOver && !isAbandoned && expected > 0 && machine.count < depth {
                expect(isReading, "what is wanted is read: \(events)")
            }
        }
        return true
    }

    /// Thousands of times: `#expect` takes microseconds also where it holds.
    private func expect(_ holds: Bool, _ claim: @autoclosure () -> String) {
        if !holds { Issue.record("\(claim())") }
    }

    @Test(arguments: 0...3) func `in every order of events, chunks come in order and within their bound`(depth: Int) {
        var possible = 0
        func orders(_ prefix: [Event]) {
            guard run(prefix, depth: depth), prefix.count < 13 else { return }
            possible += 1
            for event in Event.allCases { orders(prefix + [event]) }
        }
        orders([])
        #expect(possible > 100)
    }
}
