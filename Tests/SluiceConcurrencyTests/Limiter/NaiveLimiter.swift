@testable import SluiceConcurrency

/// A limiter as one would write it if each operation happened at one moment: what the explorer compares with.
struct NaiveLimiter: Hashable {
    /// How one task's wait ends.
    struct Wake: Hashable {
        let task: Int
        let outcome: LimiterOutcome
    }

    struct Waiter: Hashable {
        let task: Int
        let weight: Int
        let isInterruptible: Bool
    }

    enum Entry: Hashable {
        case run, wait, refuse
    }

    var limit: Int
    var running = 0
    /// The number of places that are held, also those of weight zero.
    var holders = 0
    var peak = 0
    var granted = 0
    var line: [Waiter] = []
    /// The tasks that wait until the limiter is idle.
    var watchers: [Int] = []
    /// How the wait of each task ended that has not heard of it yet.
    var outcomes: [Int: LimiterOutcome] = [:]

    init(limit: Int) {
        self.limit = limit
    }

    mutating func enter(_ task: Int, weight: Int, isInterruptible: Bool = true) -> Entry {
        if weight > limit { return .refuse }
        if tryEnter(weight: weight) { return .run }
        line.append(Waiter(task: task, weight: weight, isInterruptible: isInterruptible))
        return .wait
    }

    mutating func tryEnter(weight: Int) -> Bool {
        guard line.isEmpty && running + weight <= limit else { return false }
        take(weight)
        return true
    }

    /// Returns the task that takes over the place.
    mutating func leave(weight: Int) -> [Wake] {
        running -= weight
        holders -= 1
        return grant()
    }

    /// Returns the tasks that stop waiting.
    mutating func end(_ outcome: LimiterOutcome, where predicate: (Waiter) -> Bool) -> [Wake] {
        let ending = line.filter(predicate).map { Wake(task: $0.task, outcome: outcome) }
        line.removeAll(where: predicate)
        for wake in ending { outcomes[wake.task] = outcome }
        return ending + grant()
    }

    mutating func resize(to limit: Int) -> [Wake] {
        self.limit = limit
        return end(.tooHeavy) { $0.weight > limit }
    }

    /// Returns whether the limiter is idle; otherwise the task waits until it is.
    mutating func watch(_ task: Int) -> Bool {
        if holders > 0 { watchers.append(task) }
        return holders == 0
    }

    private mutating func grant() -> [Wake] {
        var woken: [Wake] = []
        while let next = line.first, running + next.weight <= limit {
            line.removeFirst()
            take(next.weight)
            outcomes[next.task] = .granted
            woken.append(Wake(task: next.task, outcome: .granted))
        }
        if holders == 0 {
            for watcher in watchers {
                outcomes[watcher] = .granted
                woken.append(Wake(task: watcher, outcome: .granted))
            }
            watchers = []
        }
        return woken
    }

    private mutating func take(_ weight: Int) {
        running += weight
        holders += 1
        granted += 1
        peak = max(peak, running)
    }
}
