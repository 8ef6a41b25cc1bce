import SluiceConcurrency
import Synchronization

/// Every scenario, in the order of the table. A new group adds a line here, and a new scenario adds one to its group.
enum Catalog {
    static var scenarios: [Scenario] {
        ConditionScenarios.all + PromiseScenarios.all + QueueScenarios.all + BoundedQueueScenarios.all
            + LimiterScenarios.all
            + KeyedLimiterScenarios.all + RateLimiterScenarios.all + BroadcastScenarios.all + SharedScenarios.all
            + SingleFlightScenarios.all + LazyScenarios.all + MemoryScenarios.all
    }
}

// MARK: - Faults

/// Inserted faults. If one isn't reported, the checks don't work.
extension Catalog {
    static var faults: [Scenario] {
        [
            // For ThreadSanitizer, which reports it; without the sanitizer it may go unnoticed.
            Scenario("fault/race", claim: "nothing", sides: ("added", "added"), mustGoBothWays: false) { heat in
                let cell = Unprotected()
                await heat.race({ _ in cell.value += 1 }, against: { _ in cell.value += 1 })
                heat.firstWon.add(cell.value)
            },
            Scenario("fault/lost", claim: "an element is not lost", sides: ("added", "taken")) { heat in
                let queue = AsyncQueue<Int>()
                await heat.race(
                    { queue.enqueue($0) }, against: { if !$0.isMultiple(of: 100) { _ = queue.tryDequeue() } })
                try claim(queue.count == 0, "\(queue.count) elements are left")
            },
            Scenario("fault/doubled", claim: "a waiter is resumed once", sides: ("once", "twice")) { heat in
                for _ in 0..<heat.rounds { heat.ended.add(2) }
                try claim(heat.ended.value == heat.rounds, "\(heat.ended.value) waits ended of \(heat.rounds)")
            },
            Scenario("fault/oneway", claim: "a race goes both ways", sides: ("always", "never")) { heat in
                heat.firstWon.add(heat.rounds)
            },
            Scenario("fault/hang", claim: "a wait ends", sides: ("ended", "never")) { heat in
                let (condition, signal) = Condition.makeCondition()
                heat.firstAt.add()
                await condition.wait()
                signal.signal()
            },
        ]
    }

    // Shared without a lock, on purpose.
    private final class Unprotected: @unchecked Sendable {
        var value = 0
    }
}
