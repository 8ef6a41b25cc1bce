import SluiceConcurrency
import TestSupport

enum BroadcastScenarios {
    static var all: [Scenario] { send + finish + currentValue + [drop, load] }

    private static var send: [Scenario] {
        Contest.scenarios(
            "broadcast/send against cancel", claim: "the other subscriber gets the element; one that left is forgotten",
            sides: ("received", "cancelled")
        ) {
            let broadcast = Broadcast<Int, Never>()
            let subscription = Slot(broadcast.subscribe())
            let other = broadcast.subscribe()
            return Contest(
                wait: {
                    guard let iterator = subscription.take()?.makeAsyncIterator() else {
                        throw Broken("no task subscribed")
                    }
                    return try await receive(iterator)
                },
                serve: { broadcast.send(7) },
                check: { _ in
                    try claim(try await receive(other.makeAsyncIterator()) == .served, "the other got nothing")
                    await spin { broadcast.subscriberCount == 1 }
                })
        }
    }

    private static var finish: [Scenario] {
        Contest.scenarios(
            "broadcast/finish against cancel", claim: "the subscriber ends, with nothing received",
            sides: ("ended", "ended")
        ) {
            let broadcast = Broadcast<Int, Never>()
            let subscription = broadcast.subscribe()
            return Contest(
                wait: {
                    let ending = try await receive(subscription.makeAsyncIterator())
                    try claim(ending == .cancelled, "an element from nowhere")
                    return Task.isCancelled ? .cancelled : .served
                },
                serve: { broadcast.finish() },
                check: { _ in try claim(!broadcast.send(7), "it took an element after its end") })
        }
    }

    private static var currentValue: [Scenario] {
        Contest.scenarios(
            "current value/update against cancel", claim: "one outcome; the value is the new one",
            sides: ("received", "cancelled")
        ) {
            let current = CurrentValue(0)
            return Contest(
                wait: {
                    for await value in current.values where value == 7 { return .served }
                    return .cancelled
                },
                serve: { current.update { $0 = 7 } },
                check: { _ in try claim(current.value == 7, "the value is \(current.value)") })
        }
    }

    /// A subscription is released unused while an element is sent.
    private static var drop: Scenario {
        Scenario(
            "broadcast/send against drop", claim: "the other subscriber gets the element; one that left is forgotten",
            sides: ("the first was there", "the first was gone")
        ) { heat in
            let broadcasts = (0..<heat.rounds).map { _ in Broadcast<Int, Never>() }
            let first = broadcasts.map { Slot($0.subscribe()) }
            let second = broadcasts.map { $0.subscribe() }
            await heat.race(
                { round in
                    let wasThere = broadcasts[round].subscriberCount == 2
                    broadcasts[round].send(7)
                    (wasThere ? heat.firstWon : heat.secondWon).add()
                }, against: { first[$0].drop() })
            for round in 0..<heat.rounds {
                try claim(try await receive(second[round].makeAsyncIterator()) == .served, "the other got nothing")
                try claim(broadcasts[round].subscriberCount == 1, "a subscriber that left is not forgotten")
            }
        }
    }

    /// Four subscribers stay to the end. Others come, take some elements, and leave or are cancelled.
    private static var load: Scenario {
        Scenario(
            "broadcast/subscribers come and go under load",
            claim: "those that stay get all, in order; those that leave are forgotten",
            sides: ("visitors got some", "visitors got none"), heatSize: 4_096
        ) { heat in
            let received = Counter()
            let broadcast = Broadcast<Int, Never>()
            let residents = (0..<4).map { _ in broadcast.subscribeUnbounded() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for resident in residents {
                    group.addTask {
                        var next = 0
                        for await element in resident {
                            try claim(element == next, "\(element) instead of \(next)")
                            next += 1
                            received.add()
                            heat.ended.add()
                        }
                        try claim(next == heat.rounds, "the end came after \(next) of \(heat.rounds)")
                    }
                }
                group.addTask { await visitors(broadcast, heat) }
                for element in 0..<heat.rounds {
                    broadcast.send(element)
                    // Part of the race: subscribers come and go between elements.
                    if element.isMultiple(of: 16) { await Task.yield() }
                }
                broadcast.finish()
                try await group.waitForAll()
            }
            try claim(received.value == heat.rounds * 4, "\(received.value) received of \(heat.rounds * 4)")
        }
    }

    private static func visitors(_ broadcast: Broadcast<Int, Never>, _ heat: Heat) async {
        for visit in 0..<64 {
            let task = Task {
                var count = 0
                for await _ in broadcast.subscribe(buffering: .newest(4)) {
                    count += 1
                    if count == 5, visit.isMultiple(of: 2) { break }
                }
                return count
            }
            // Part of the race: the visitor is cancelled as it subscribes, waits or takes an element.
            for _ in 0..<(2 + visit % 16) { await Task.yield() }
            task.cancel()
            (await task.value > 0 ? heat.firstWon : heat.secondWon).add()
        }
    }

    private static func receive(
        _ start: consuming Broadcast<Int, Never>.Subscription.Iterator
    ) async throws -> Ending {
        var iterator = start
        switch await iterator.next() {
        case .value(7): return .served
        case nil: return .cancelled
        case let other: throw Broken("\(String(describing: other))")
        }
    }
}

// MARK: - Shared sequences

enum SharedScenarios {
    static var all: [Scenario] { element + end }

    /// An element arrives while one of two loops is cancelled.
    private static var element: [Scenario] {
        Contest.scenarios(
            "shared/element against cancel", claim: "the other loop gets the element; no loop is left behind",
            sides: ("received", "cancelled")
        ) {
            let (base, source) = AsyncStream<Int>.makeStream()
            let shared = base.shared()
            let other = await startedLoop(of: shared)
            return Contest(
                wait: { await receive(shared) ? .served : .cancelled },
                serve: { source.yield(7) },
                check: { _ in
                    try claim(await other.value, "the other loop got nothing")
                    await spin { shared.loopCount == 0 }
                })
        }
    }

    /// The base ends while one of two loops is cancelled.
    private static var end: [Scenario] {
        Contest.scenarios(
            "shared/end against cancel", claim: "both loops end, with nothing received", sides: ("ended", "ended")
        ) {
            let (base, source) = AsyncStream<Int>.makeStream()
            let shared = base.shared()
            let other = await startedLoop(of: shared)
            return Contest(
                wait: {
                    try claim(await !receive(shared), "an element from nowhere")
                    return Task.isCancelled ? .cancelled : .served
                },
                serve: { source.finish() },
                check: { _ in
                    try claim(await !other.value, "the other loop got an element from nowhere")
                    await spin { shared.loopCount == 0 }
                })
        }
    }

    private static func startedLoop(of shared: SharedSequence<AsyncStream<Int>>) async -> Task<Bool, Never> {
        let loop = Task { await receive(shared) }
        await spin { shared.loopCount == 1 }
        return loop
    }

    /// Whether a loop over the sequence gets a 7 before its end.
    private static func receive(_ shared: SharedSequence<AsyncStream<Int>>) async -> Bool {
        for await value in shared where value == 7 { return true }
        return false
    }
}
