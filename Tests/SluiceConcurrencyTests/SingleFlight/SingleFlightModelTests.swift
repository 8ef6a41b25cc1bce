import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `Any order of events leaves the single flight as the naive one` {
    typealias Machine = SingleFlightStateMachine<Int, Int, String, Int>

    /// A caller, and where its wait is.
    private struct Caller {
        let ticket: Machine.Ticket
        let flight: Int
        var isSuspended = false
        /// What it must be told, once that is known.
        var expected: String?
        var told: String?
    }

    @Test(arguments: 1...100) func `callers, operations and cancellations, at random`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = Machine()
        var callers: [Caller] = []
        /// The flight of each key, and the callers in it.
        var flights: [Int: (number: Int, first: Machine.Ticket, callers: [Int])] = [:]
        var abandoned: [Machine.Ticket] = []
        var numbers = 0

        func tell(_ caller: Int, _ outcome: String) {
            #expect(callers[caller].isSuspended && callers[caller].told == nil)
            callers[caller].told = outcome
        }

        for _ in 0..<200 {
            let key = Int.random(in: 0..<3, using: &random)
            let pending = callers.indices.filter { callers[$0].told == nil }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                let (ticket, starts) = machine.join(key)
                #expect(starts == (flights[key] == nil))
                if starts {
                    numbers += 1
                    flights[key] = (numbers, ticket, [])
                    machine.started(ticket, numbers)
                }
                flights[key]?.callers.append(callers.count)
                callers.append(Caller(ticket: ticket, flight: flights[key]!.number))
            case 3..<7:
                guard let caller = pending.filter({ !callers[$0].isSuspended }).randomElement(using: &random) else {
                    break
                }
                let known = machine.suspend(callers[caller].ticket, caller)
                #expect(known == callers[caller].expected)
                callers[caller].isSuspended = true
                callers[caller].told = known
            case 7:
                if let old = abandoned.popLast() {
                    let nobody = machine.finished(old, "late")
                    #expect(nobody == [])
                }
                guard let flight = flights.removeValue(forKey: key) else { break }
                let resumed = machine.finished(flight.first, "done \(flight.number)")
                #expect(resumed == flight.callers.filter { callers[$0].isSuspended })
                for caller in flight.callers { callers[caller].expected = "done \(flight.number)" }
                for caller in resumed { tell(caller, "done \(flight.number)") }
            default:
                guard let caller = pending.randomElement(using: &random) else { break }
                let left = machine.leave(callers[caller].ticket) { $0.map { "last of \($0)" } ?? "left" }
                let place = flights.first { $0.value.callers.contains(caller) }
                guard let place else {
                    #expect(left == nil)
                    break
                }
                let isLast = place.value.callers.count == 1
                let outcome = isLast ? "last of \(place.value.number)" : "left"
                #expect(left?.outcome == outcome)
                #expect((left?.waiter != nil) == callers[caller].isSuspended)
                callers[caller].expected = outcome
                if left?.waiter != nil { tell(caller, outcome) }
                flights[place.key]?.callers.removeAll { $0 == caller }
                if isLast {
                    abandoned.append(place.value.first)
                    flights[place.key] = nil
                }
            }
            #expect(machine.count == flights.count)
        }

        for (_, flight) in flights { for waiter in machine.finished(flight.first, "end") { tell(waiter, "end") } }
        for caller in callers.indices where !callers[caller].isSuspended {
            let known = machine.suspend(callers[caller].ticket, caller)
            #expect(known != nil)
        }
        #expect(machine.isEmpty)
    }
}
