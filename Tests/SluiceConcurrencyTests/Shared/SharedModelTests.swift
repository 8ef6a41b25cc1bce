import TestSupport
import Testing

@testable import SluiceConcurrency

/// Thousands of random steps of loops and of the producer.
@Suite struct `Any order of steps of a shared sequence` {
    struct Unplugged: Error {}
    typealias Machine = SharedStateMachine<Int, Unplugged, Int, String>

    struct Loop {
        /// The number of the next element.
        var next: Int
        var ticket: Machine.Line.Ticket?
        var isSuspended = false
        var hasEnded = false
    }

    enum Producer {
        case notStarted, asks, waits, takes, ended
    }

    @Test(arguments: UInt64(0)..<40)
    func `every loop gets all elements in order, and no task waits that could go on`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (buffer, replay) = (Int.random(in: 1...3, using: &random), Int.random(in: 0...3, using: &random))
        let bound = max(buffer, replay + 1)
        var machine = Machine(buffer: buffer, replay: replay)
        var loops: [UInt64: Loop] = [:]
        var producer = Producer.notStarted
        /// The number of elements that the base has yielded; each is its number.
        var count = 0
        var isOver = false

        func resume(producer waiter: Int?) {
            guard let waiter else { return }
            if waiter != -1 || producer != .waits {
                Issue.record("\(waiter) is resumed while the producer \(producer)")
            }
            producer = .takes
        }

        func resume(_ waiters: [Int]) {
            for waiter in waiters {
                let number = UInt64(waiter)
                if loops[number]?.isSuspended != true { Issue.record("\(number) is resumed, and isn't suspended") }
                loops[number]?.ticket = nil
                loops[number]?.isSuspended = false
            }
        }

        func leave(_ number: UInt64) {
            loops[number] = nil
            let action = machine.leave(number)
            resume(producer: action.go)
            // The last loop stops the producer, which ends with the next thing that it does.
            if loops.isEmpty, producer != .notStarted { isOver = true }
            if let stop = action.stop {
                if stop != -1 || !isOver { Issue.record("the producer is stopped too early") }
                producer = .ended
            }
        }

        for step in 0..<2_000 where !isOver || step % 50 == 0 {
            let number = loops.keys.sorted().randomElement(using: &random)
            switch Int.random(in: 0..<14, using: &random) {
            case 0 where loops.count < 4:
                loops[machine.join()] = Loop(next: max(0, count - replay))
            case 1..<6:
                guard let number, let loop = loops[number], loop.ticket == nil else { continue }
                switch machine.next(number) {
                case .deliver(let element, _, let go):
                    if element != loop.next || element >= count { Issue.record("\(element), not \(loop.next)") }
                    loops[number]?.next += 1
                    resume(producer: go)
                case .finished:
                    if loop.next != count || !isOver { Issue.record("the end comes too early") }
                    loops[number]?.hasEnded = true
                case .failed: Issue.record("nothing fails")
                case .suspend(let ticket, let starts, let go):
                    if loop.next != count || isOver { Issue.record("a loop waits for what is there") }
                    loops[number]?.ticket = ticket
                    if starts {
                        if producer != .notStarted { Issue.record("the producer starts twice") }
                        producer = .asks
                    }
                    resume(producer: go)
                }
            case 6, 7:
                guard let number, let loop = loops[number], let ticket = loop.ticket, !loop.isSuspended else {
                    continue
                }
                if machine.suspend(ticket, Int(number)) == nil {
                    loops[number]?.isSuspended = true
                } else {
                    loops[number]?.ticket = nil
                }
            case 8:
                // A cancelled loop leaves; the last one stays for a while, so that there is something to test.
                guard let number, let loop = loops[number], loops.count > 1 || step > 1_500 else { continue }
                if let ticket = loop.ticket {
                    let waiter = machine.cancel(ticket)
                    if !loop.isSuspended {
                        if waiter != nil { Issue.record("\(number) is resumed, and isn't suspended") }
                        _ = machine.suspend(ticket, Int(number))
                    }
                }
                leave(number)
            case 9...12:
                switch producer {
                case .asks:
                    switch machine.produce(-1) {
                    case .go: producer = .takes
                    case nil: producer = .waits
                    case .stop, .cancelled:
                        if !isOver { Issue.record("the producer is stopped too early") }
                        producer = .ended
                    }
                case .takes:
                    let (waiters, _) = machine.deliver(count)
                    if !isOver { count += 1 }
                    resume(waiters)
                    producer = .asks
                case .notStarted, .waits, .ended: continue
                }
            case 13 where step > 1_000 && producer == .takes && !isOver:
                isOver = true
                producer = .ended
                resume(machine.finish(.finished))
            default: continue
            }
            let slowest = loops.values.map(\.next).min() ?? count
            if count - slowest > bound { Issue.record("a loop is \(count - slowest) elements behind") }
            let isWanted = loops.values.contains { $0.ticket != nil && $0.next == count } && count - slowest < bound
            if isWanted, producer == .waits { Issue.record("the producer waits, and an element is wanted") }
            if loops.values.contains(where: { $0.isSuspended && $0.next < count }) {
                Issue.record("a loop waits, and its element is there")
            }
        }
        #expect(machine.loopCount == loops.count)
        #expect(count > 20)
    }
}
