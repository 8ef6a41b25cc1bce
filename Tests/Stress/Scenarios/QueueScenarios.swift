import SluiceConcurrency
import TestSupport

enum QueueScenarios {
    static var all: [Scenario] { dequeue + iterate + finish + [twoConsumers, removing, load] }

    private static let claimOfElement = "the element is delivered or still there, never both and never neither"

    private static var dequeue: [Scenario] {
        Contest.scenarios(
            "queue/enqueue against cancel of dequeue", claim: claimOfElement, sides: ("delivered", "cancelled")
        ) {
            let queue = AsyncQueue<Int>()
            return Contest {
                do {
                    try claim(try await queue.dequeue() == 7, "another element")
                    return .served
                } catch is CancellationError {
                    return .cancelled
                }
            } serve: {
                queue.enqueue(7)
            } check: { ending in
                try check(queue, after: ending)
            }
        }
    }

    private static var iterate: [Scenario] {
        Contest.scenarios(
            "queue/enqueue against cancel of elements", claim: claimOfElement, sides: ("delivered", "cancelled")
        ) {
            let queue = AsyncQueue<Int>()
            return Contest {
                for await element in queue.elements {
                    try claim(element == 7, "another element")
                    return .served
                }
                return .cancelled
            } serve: {
                queue.enqueue(7)
            } check: { ending in
                try check(queue, after: ending)
            }
        }
    }

    private static var finish: [Scenario] {
        Contest.scenarios(
            "queue/finish against cancel", claim: "the consumer ends once", sides: ("finished", "cancelled")
        ) {
            let queue = AsyncQueue<Int>()
            return Contest {
                do {
                    try claim(try await queue.dequeue() == nil, "an element from nowhere")
                    return .served
                } catch is CancellationError {
                    return .cancelled
                }
            } serve: {
                queue.finish()
            } check: { _ in
                try claim(queue.enqueue(7) == .finished && queue.count == 0, "it took an element after its end")
            }
        }
    }

    /// Two consumers wait. The first is cancelled as an element arrives, which must then go to the second.
    private static var twoConsumers: Scenario {
        Scenario(
            "queue/enqueue against cancel of the first of two", claim: "the second gets what the first does not",
            sides: ("the first's", "the second's")
        ) { heat in
            let queues = (0..<heat.rounds).map { _ in AsyncQueue<Int>() }
            let arrived = Counter()
            func consumers() async -> [Task<Int?, any Error>] {
                let tasks = queues.map { queue in
                    Task {
                        arrived.add()
                        defer { heat.ended.add() }
                        return try await queue.dequeue()
                    }
                }
                return tasks
            }
            let first = await consumers()
            await spin { arrived.value == heat.rounds }
            let second = await consumers()
            await spin { arrived.value == heat.rounds * 2 }
            await heat.race({ queues[$0].enqueue(7) }, against: { first[$0].cancel() })
            for round in queues.indices {
                let got = try? await first[round].value
                // If the first got the element, the second gets another one.
                if got != nil { queues[round].enqueue(7) }
                try claim(try await second[round].value == 7, "the second got something else")
                try claim(queues[round].count == 0, "an element is left")
                (got != nil ? heat.firstWon : heat.secondWon).add()
            }
        }
    }

    private static var removing: Scenario {
        Scenario(
            "queue/removeAll against tryDequeue", claim: "each element goes to one of both",
            sides: ("taken", "removed")
        ) { heat in
            let queues = (0..<heat.rounds).map { _ in AsyncQueue<Int>() }
            for queue in queues { queue.enqueue(1) }
            let removed = Counter()
            await heat.race(
                { round in
                    let wasTaken = queues[round].tryDequeue() != nil
                    queues[round].enqueue(1)
                    (wasTaken ? heat.firstWon : heat.secondWon).add()
                }, against: { round in removed.add(queues[round].removeAll().count) })
            let left = queues.reduce(0) { $0 + $1.count }
            try claim(
                heat.firstWon.value + removed.value + left == heat.rounds * 2,
                "\(heat.firstWon.value) taken, \(removed.value) removed, \(left) left of \(heat.rounds * 2)")
        }
    }

    /// Concurrent producers and consumers. Consumers are cancelled and replaced, and the queue is released at the end.
    private static var load: Scenario {
        Scenario(
            "queue/drop under load, consumers cancelled", claim: "every element arrives once, in its producer's order",
            sides: ("delivered", "cancelled"), heatSize: 4_096
        ) { heat in
            let producers = 4
            let each = heat.rounds / producers
            let owner = Slot(AsyncQueue<Int>())
            guard let elements = owner.copy?.elements else { return }
            let sum = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for consumer in 0..<2 {
                    group.addTask { try await consume(elements, each, producers, consumer == 0, heat, sum) }
                }
                for producer in 0..<producers {
                    group.addTask { [queue = owner.copy] in
                        for number in 0..<each {
                            queue?.enqueue(producer * each + number)
                            // Part of the race: consumers are cancelled while elements are still to come.
                            if number.isMultiple(of: 8) { await Task.yield() }
                        }
                    }
                }
                owner.drop()
                try await group.waitForAll()
            }
            let count = each * producers
            try claim(heat.firstWon.value == count, "\(heat.firstWon.value) delivered of \(count)")
            try claim(sum.value == count * (count - 1) / 2, "something else was delivered")
        }
    }

    /// Takes all elements that it can. If requested, does so in small tasks that are cancelled after a while.
    private static func consume(
        _ elements: AsyncQueue<Int>.Elements, _ each: Int, _ producers: Int, _ inPieces: Bool, _ heat: Heat,
        _ sum: Counter
    ) async throws {
        while true {
            let task = Task { () -> Bool in
                var last = Array(repeating: -1, count: producers)
                for await element in elements {
                    try claim(last[element / each] < element, "out of order")
                    last[element / each] = element
                    heat.firstWon.add()
                    sum.add(element)
                }
                return Task.isCancelled
            }
            if inPieces {
                // Part of the race: the consumer is cancelled as it waits or as it takes an element.
                for _ in 0..<5 { await Task.yield() }
                task.cancel()
            }
            guard try await task.value else { return }
            heat.secondWon.add()
        }
    }

    private static func check(_ queue: AsyncQueue<Int>, after ending: Ending) throws {
        let left = queue.removeAll()
        try claim(left == (ending == .served ? [] : [7]), "\(ending), and \(left) is left")
    }
}

// MARK: - Bounded queues

/// Producers that wait for space.
enum BoundedQueueScenarios {
    static var all: [Scenario] { place + removing + deadline + finish + priority + [finishing, load] }

    private static let claimOfElement = "the element is in the queue if send returned, and not if it threw"

    private static var place: [Scenario] {
        sending("queue/tryDequeue against cancel of send") { queue in
            try claim(queue.tryDequeue() == 1, "the first element is gone")
        }
    }

    private static var removing: [Scenario] {
        sending("queue/removeAll against cancel of send") { queue in _ = queue.removeAll() }
    }

    private static func sending(
        _ name: String, _ serve: @escaping @Sendable (AsyncBoundedQueue<Int>) throws -> Void
    ) -> [Scenario] {
        Contest.scenarios(name, claim: claimOfElement, sides: ("sent", "cancelled")) {
            let queue = full()
            return Contest(
                wait: { try await send { _ = try await queue.send(2) } },
                serve: { try? serve(queue) },
                check: { ending in try check(queue, after: ending) })
        }
    }

    private static var deadline: [Scenario] {
        Contest.scenarios(
            "queue/tryDequeue against deadline of send", claim: claimOfElement, sides: ("sent", "too late")
        ) {
            let (queue, clock) = (full(), ManualClock())
            return Contest(
                wait: {
                    try await send {
                        _ = try await queue.send(2, until: .init(offset: .seconds(1)), clock: clock)
                    }
                },
                serve: { _ = queue.tryDequeue() }, cancel: { clock.advance(by: .seconds(2)) },
                check: { ending in try check(queue, after: ending) })
        }
    }

    /// A waiting producer gets the end, once.
    private static var finish: [Scenario] {
        Contest.scenarios(
            "queue/finish against cancel of send",
            claim: "the producer gets one error; the element is not in the queue",
            sides: ("finished", "cancelled")
        ) {
            let queue = full()
            return Contest(
                wait: {
                    do {
                        _ = try await queue.send(2)
                        throw Broken("it was sent to a queue that is full")
                    } catch is QueueFinished {
                        return .served
                    } catch is CancellationError {
                        return .cancelled
                    }
                },
                serve: { queue.finish() },
                check: { _ in try claim(queue.removeAll() == [1], "something else is in the queue") })
        }
    }

    /// There is space, but the queue is about to be finished.
    private static var finishing: Scenario {
        Scenario(
            "queue/finish against send", claim: "the element is in the queue if send returned, and not if it threw",
            sides: ("sent", "refused")
        ) { heat in
            let queues = (0..<heat.rounds).map { _ in AsyncBoundedQueue<Int>(capacity: 1) }
            let sent = Slot<[Bool]>([])
            await heat.race(
                { round in
                    let wasSent = (try? await queues[round].send(7)) != nil
                    sent.change { $0?.append(wasSent) }
                    heat.ended.add()
                }, against: { queues[$0].finish() })
            for (queue, wasSent) in zip(queues, sent.take() ?? []) {
                try claim(try await queue.dequeue() == (wasSent ? 7 : nil), "sent: \(wasSent), but not so in the queue")
                try claim(try await queue.dequeue() == nil, "no end")
                (wasSent ? heat.firstWon : heat.secondWon).add()
            }
        }
    }

    private static var priority: [Scenario] {
        Contest.scenarios(
            "priority queue/enqueue against cancel of dequeue",
            claim: "the element is delivered or still there, never both and never neither",
            sides: ("delivered", "cancelled")
        ) {
            let queue = AsyncPriorityQueue<Int, Int> { $0 }
            return Contest(
                wait: {
                    do {
                        try claim(try await queue.dequeue() == 7, "another element")
                        return .served
                    } catch is CancellationError {
                        return .cancelled
                    }
                },
                serve: { _ = queue.enqueue(7) },
                check: { ending in
                    let left = queue.tryDequeue()
                    try claim(
                        left == (ending == .served ? nil : 7), "\(ending), and \(String(describing: left)) is left")
                })
        }
    }

    /// Consumers, and producers that are sometimes cancelled, with a capacity of 2.
    private static var load: Scenario {
        Scenario(
            "queue/send under load, producers cancelled", claim: "what was sent arrives once; never over capacity",
            sides: ("sent", "cancelled"), heatSize: 4_096
        ) { heat in
            let queue = AsyncBoundedQueue<Int>(capacity: 2)
            let (given, taken, most) = (Counter(), Counter(), Counter())
            await withDiscardingTaskGroup { group in
                for _ in 0..<2 {
                    group.addTask {
                        for await element in queue.elements {
                            taken.add(element)
                            most.keepMaximum(queue.count)
                            // Part of the race: if a consumer always took elements immediately, no producer would wait.
                            for _ in 0..<element % 4 { await Task.yield() }
                        }
                    }
                }
                group.addTask {
                    await withDiscardingTaskGroup { group in
                        for producer in 0..<8 {
                            group.addTask { await produce(queue, producer, heat.rounds / 8, heat, given) }
                        }
                    }
                    queue.finish()
                }
            }
            try claim(
                given.value == taken.value, "the sum of what was sent is \(given.value), of what came \(taken.value)")
            try claim(most.value <= 2, "\(most.value) elements at a capacity of 2")
        }
    }

    private static func produce(
        _ queue: AsyncBoundedQueue<Int>, _ producer: Int, _ count: Int, _ heat: Heat, _ given: Counter
    ) async {
        for number in 0..<count {
            let element = producer * count + number + 1
            let task = Task { try await queue.send(element) }
            if number.isMultiple(of: 2) {
                // Part of the race: the producer is cancelled before it runs, as it starts to wait, or as it is admitted.
                for _ in 0..<number / 2 % 4 { await Task.yield() }
                task.cancel()
            }
            let wasSent = (try? await task.value) != nil
            if wasSent { given.add(element) }
            (wasSent ? heat.firstWon : heat.secondWon).add()
        }
    }

    // MARK: Machinery

    private static func full() -> AsyncBoundedQueue<Int> {
        let queue = AsyncBoundedQueue<Int>(capacity: 1)
        _ = queue.trySend(1)
        return queue
    }

    private static func send(_ body: () async throws -> Void) async throws -> Ending {
        do {
            try await body()
            return .served
        } catch is CancellationError {
            return .cancelled
        } catch is DeadlineExceeded {
            return .cancelled
        }
    }

    private static func check(_ queue: AsyncBoundedQueue<Int>, after ending: Ending) throws {
        let left = queue.removeAll()
        try claim(left == (ending == .served ? [2] : []), "\(ending), and \(left) is in the queue")
    }
}
