@testable import SluiceConcurrency

/// The waiting tasks of a limiter as a plain list that is searched from the beginning each time: what random tests compare with.
struct NaiveLine {
    struct Waiter {
        let task: Int
        var priority: UInt8
        let weight: Int
        let isInterruptible: Bool
    }

    /// In the order in which they joined their priority.
    private(set) var waiters: [Waiter] = []
    private var passedOver: [UInt8: Int] = [:]

    private var priorities: [UInt8] { Set(waiters.map(\.priority)).sorted(by: >) }

    var next: Waiter? {
        guard var next = priorities.first else { return nil }
        for priority in priorities where passes(priority) >= 16 && passes(priority) > passes(next) { next = priority }
        return waiters.first { $0.priority == next }
    }

    func wouldBeNext(_ priority: UInt8) -> Bool {
        priorities.allSatisfy { $0 < priority && passes($0) < 16 }
    }

    mutating func join(_ waiter: Waiter) { waiters.append(waiter) }

    mutating func passOver() {
        for priority in priorities { passedOver[priority, default: 0] += 1 }
    }

    mutating func takeNext() -> Waiter? {
        guard let next else { return nil }
        waiters.removeAll { $0.task == next.task }
        passOver()
        passedOver[next.priority] = 0
        tidy()
        return next
    }

    /// Returns the waiters that it removes, in the order of the line.
    mutating func remove(where predicate: (Waiter) -> Bool) -> [Waiter] {
        let removed = priorities.flatMap { priority in waiters.filter { $0.priority == priority && predicate($0) } }
        waiters.removeAll(where: predicate)
        tidy()
        return removed
    }

    mutating func raise(_ task: Int, to priority: UInt8) {
        guard let index = waiters.firstIndex(where: { $0.task == task && $0.priority < priority }) else { return }
        var waiter = waiters.remove(at: index)
        waiter.priority = priority
        tidy()
        waiters.append(waiter)
    }

    private func passes(_ priority: UInt8) -> Int { passedOver[priority] ?? 0 }

    private mutating func tidy() {
        let priorities = priorities
        passedOver = passedOver.filter { priorities.contains($0.key) }
    }
}
