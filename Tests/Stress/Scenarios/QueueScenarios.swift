import SluiceConcurrency

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

    /// Two wait; the first is cancelled as an element comes, which must then go to the second.
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
                // One is left for the second in any case.
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

    /// Concurrent producers and consumers; consumers are cancelled and come again; the last reference goes away at the end.
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

    /// Takes all that it can; in small tasks that are cancelled after a while, if asked to.
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
