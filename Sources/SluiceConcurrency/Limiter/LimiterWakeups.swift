/// The tasks to resume after the lock is released, with their outcomes.
struct LimiterWakeups<Waiter: Sendable>: Sendable {
    private(set) var first: (waiter: Waiter, outcome: LimiterOutcome)?
    /// The other tasks, in order. There is rarely more than one task to resume, and the first needs no allocation.
    private(set) var others: [(waiter: Waiter, outcome: LimiterOutcome)] = []

    init() {}

    init(_ waiter: Waiter?, _ outcome: LimiterOutcome) {
        append(waiter, outcome)
    }

    /// Adds a task. Without a waiter it does nothing: the task hasn't suspended yet, and reads its outcome when it does.
    mutating func append(_ waiter: Waiter?, _ outcome: LimiterOutcome) {
        guard let waiter else { return }
        if first == nil { first = (waiter, outcome) } else { others.append((waiter, outcome)) }
    }

    mutating func append(_ waiters: [Waiter], _ outcome: LimiterOutcome) {
        for waiter in waiters { append(waiter, outcome) }
    }
}
