/// The tasks to resume, and their outcomes, once the lock is released.
struct LimiterWakeups<Waiter: Sendable>: Sendable {
    private(set) var first: (waiter: Waiter, outcome: LimiterOutcome)?
    /// In order; most often there is but one to resume, and no memory is allocated for it.
    private(set) var others: [(waiter: Waiter, outcome: LimiterOutcome)] = []

    init() {}

    init(_ waiter: Waiter?, _ outcome: LimiterOutcome) {
        append(waiter, outcome)
    }

    /// Does nothing without a waiter: it has not suspended, and finds its outcome when it does.
    mutating func append(_ waiter: Waiter?, _ outcome: LimiterOutcome) {
        guard let waiter else { return }
        if first == nil { first = (waiter, outcome) } else { others.append((waiter, outcome)) }
    }

    mutating func append(_ waiters: [Waiter], _ outcome: LimiterOutcome) {
        for waiter in waiters { append(waiter, outcome) }
    }
}
