public import SluiceLock

/// Runs an operation once for all concurrent calls with the same key.
///
///     let flights = SingleFlight<URL, Image>()
///     let image = try await flights.run(for: url) { try await network.download(url) }
///
/// The first call for a key starts the operation. Calls that arrive while it runs wait for it and get the same value or error. Later calls
/// start a new operation. Results aren't cached; for one value that is kept, use ``AsyncLazy``.
///
/// **Cancellation.** A cancelled caller throws `CancellationError` immediately, and the operation continues for the others. If the last
/// remaining caller is cancelled, the operation is cancelled too, and the caller waits until it has ended. The caller throws even if the
/// operation still completes; the value is dropped. A call for the key in the meantime starts a new operation.
///
/// **Deadlocks.** An operation that calls ``run(for:_:)`` with its own key deadlocks.
///
/// **Task.** An unstructured task runs the operation, outside any actor, so that the operation can outlive the caller that started it. It
/// has the priority and the task-local values of that caller. A later caller of higher priority raises it, and so does a waiting caller
/// whose priority is raised. When that caller leaves, the task keeps its priority. On Apple's systems before version 26, only the first
/// caller's priority counts.
///
/// **Order.** Operations of different keys are independent. The callers of one key are resumed in the order of their calls.
///
/// **Cost.** Joining, leaving and finishing are O(1) for each caller. Keys are hashed and compared under the lock, where a key must not use
/// the `SingleFlight`. A key that isn't equal to itself, such as a NaN, traps.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline let storage = SingleFlightStorage<Key, Value>()

    /// Creates an object with no running operations.
    @inlinable
    public init() {}

    /// Returns the result of the running operation for `key`, or starts `operation` and returns its result.
    ///
    /// To limit the wait, call this method in `withDeadline`.
    ///
    /// - Precondition: `key` is equal to itself, unlike a NaN.
    /// - Throws: The operation's error; `CancellationError` if the calling task is cancelled before the operation ends. In a task that is
    ///   already cancelled, this method doesn't start or join an operation.
    /// - Complexity: O(1) on average, and one task for each operation.
    @inlinable
    public func run(for key: Key, _ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await storage.run(key, operation)
    }

    /// The number of running operations that a call could join, for display: it may change before the caller reads it.
    public var runningCount: Int { storage.count }

    /// Whether there is a running operation for `key` that a call would join, for display: it may change before the caller reads it.
    public func isRunning(for key: Key) -> Bool { storage.isInFlight(key) }

    /// The highest priority of the callers for `key` so far, or `nil` if there is no running operation that a call would join.
    package func priority(for key: Key) -> TaskPriority? { storage.priority(key) }

    /// Cancels the running operations, and every later one when it starts. Their callers get whatever the operations throw.
    package func cancelAll() { storage.cancelAll() }
}

// MARK: - The state machine

/// The running operations, and the callers that wait for each of them.
///
/// It resumes and cancels no task.
///
/// ```text
/// join ──▶ start: the caller creates the operation's task
///     └──▶ wait
/// finished ──▶ all waiting tasks are resumed
/// leave ──▶ this one is resumed; if it was the last, the flight is removed and its task is cancelled
/// ```
@usableFromInline
struct SingleFlightStateMachine<
    Key: Hashable & Sendable, Waiter: Sendable, Outcome: Sendable, Work: Sendable
>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Waiter, Outcome>

    @usableFromInline
    struct Ticket: Sendable {
        /// The machine isn't the last to hold a key, because it must not be destroyed under the lock.
        @usableFromInline let key: Key
        @usableFromInline let flight: UInt64
        @usableFromInline let waiter: Line.Ticket

        @inlinable
        init(key: Key, flight: UInt64, waiter: Line.Ticket) {
            self.key = key
            self.flight = flight
            self.waiter = waiter
        }
    }

    @usableFromInline
    struct Flight: Sendable {
        /// Whether calls no longer join it. The flight is then kept for callers that were settled before they suspended.
        @usableFromInline var hasLanded = false
        @usableFromInline var line = Line()
        /// The highest priority of its callers so far.
        @usableFromInline var priority: TaskPriority
        /// The operation's task, once the caller that created it has recorded it.
        @usableFromInline var work: Work?

        @inlinable
        init(priority: TaskPriority) {
            self.priority = priority
        }
    }

    /// The numbers of the flights that a call would join. A call looks up its key once; later steps of the flight use the number.
    @usableFromInline var current: [Key: UInt64] = [:]
    @usableFromInline var flights: [UInt64: Flight] = [:]
    @usableFromInline var lastNumber: UInt64 = 0
    @usableFromInline var isCancelled = false

    @inlinable
    init() {}

    var count: Int { current.count }

    var isEmpty: Bool { flights.isEmpty }

    func priority(_ key: Key) -> TaskPriority? { current[key].flatMap { flights[$0]?.priority } }

    func isInFlight(_ key: Key) -> Bool { current[key] != nil }

    /// Adds a caller. Returns whether it must start the operation.
    @inlinable
    mutating func join(_ key: Key, priority: TaskPriority = .medium) -> (ticket: Ticket, starts: Bool) {
        if let number = current[key], let waiter = flights[number]?.line.join() {
            return (Ticket(key: key, flight: number, waiter: waiter), false)
        }
        lastNumber += 1
        current[key] = lastNumber
        // Otherwise no other call would find the flight, and it would never be removed.
        precondition(
            current[key] == lastNumber,
            "A single flight's key must be equal to itself, and its hash must not change.")
        var flight = Flight(priority: priority)
        let waiter = flight.line.join()
        flights[lastNumber] = flight
        return (Ticket(key: key, flight: lastNumber, waiter: waiter), true)
    }

    /// Returns the priority of the callers until now, and whether the task must be cancelled. Does nothing if the operation has already
    /// ended.
    @inlinable
    @discardableResult
    mutating func started(_ ticket: Ticket, _ work: Work) -> (priority: TaskPriority, isCancelled: Bool)? {
        guard let flight = flights[ticket.flight], !flight.hasLanded else { return nil }
        flights[ticket.flight]?.work = work
        return (flight.priority, isCancelled)
    }

    /// Returns the tasks to cancel. Those that start from now on must be cancelled, too.
    mutating func cancelAll() -> [Work] {
        isCancelled = true
        return current.values.compactMap { flights[$0]?.work }
    }

    /// Records the priority of a caller. Returns the task to raise to it.
    @inlinable
    mutating func raise(_ ticket: Ticket, to priority: TaskPriority) -> Work? {
        guard let flight = flights[ticket.flight], !flight.hasLanded, flight.priority < priority else { return nil }
        flights[ticket.flight]?.priority = priority
        return flight.work
    }

    @inlinable
    mutating func suspend(_ ticket: Ticket, _ waiter: Waiter) -> Outcome? {
        let outcome = flights[ticket.flight]?.line.suspend(ticket.waiter, waiter)
        removeIfLanded(ticket.flight)
        return outcome
    }

    /// Returns the callers to resume with the outcome, in order.
    @inlinable
    mutating func finished(_ ticket: Ticket, _ outcome: Outcome) -> [Waiter] {
        guard land(ticket) else { return [] }
        defer { removeIfLanded(ticket.flight) }
        return flights[ticket.flight]?.line.settleAll(outcome) ?? []
    }

    /// Removes a cancelled caller. Returns the caller to resume, and its outcome, which `outcome` creates. If the caller was the last one,
    /// `outcome` gets the task to cancel and to wait for; otherwise `nil`.
    @inlinable
    mutating func leave(_ ticket: Ticket, _ outcome: (Work?) -> Outcome) -> (waiter: Waiter?, outcome: Outcome)? {
        guard flights[ticket.flight]?.line.contains(ticket.waiter) == true else { return nil }
        let isLast = flights[ticket.flight]?.line.count == 1
        let outcome = outcome(isLast ? flights[ticket.flight]?.work : nil)
        if isLast { land(ticket) }
        defer { removeIfLanded(ticket.flight) }
        return (flights[ticket.flight]?.line.settle(ticket.waiter, outcome), outcome)
    }

    /// From now on, calls for the key start another flight. Returns false if that was so before.
    @inlinable
    @discardableResult
    mutating func land(_ ticket: Ticket) -> Bool {
        guard flights[ticket.flight]?.hasLanded == false else { return false }
        current[ticket.key] = nil
        flights[ticket.flight]?.hasLanded = true
        return true
    }

    @inlinable
    mutating func removeIfLanded(_ number: UInt64) {
        guard let flight = flights[number], flight.hasLanded, !flight.line.hasUnclaimedOutcomes else { return }
        flights[number] = nil
    }
}

extension WaitingLine {
    /// Whether a waiter that was settled before it suspended hasn't received its outcome yet.
    @inlinable
    var hasUnclaimedOutcomes: Bool { occupied > count }
}

// MARK: - The storage

@usableFromInline
final class SingleFlightStorage<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    enum Outcome: Sendable {
        case finished(Result<Value, any Error>)
        /// If there is a task, the caller was the last one and waits for the task to end.
        case left(Task<Void, Never>?)
    }

    @usableFromInline typealias Waiter = UnsafeContinuation<Outcome, Never>
    @usableFromInline typealias Machine = SingleFlightStateMachine<Key, Waiter, Outcome, Task<Void, Never>>

    @usableFromInline let machine = Lock(Machine())

    @inlinable
    init() {}

    var count: Int { machine.withLock { $0.count } }

    func priority(_ key: Key) -> TaskPriority? { machine.withLock { $0.priority(key) } }

    func isInFlight(_ key: Key) -> Bool { machine.withLock { $0.isInFlight(key) } }

    @inlinable
    func run(_ key: Key, _ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        let priority = Task.currentPriority
        let (ticket, starts) = machine.withLock { $0.join(key, priority: priority) }
        if starts { start(ticket, priority, operation) } else { raise(ticket, to: priority) }
        let outcome = await withEscalations(from: priority) {
            await suspending { waiter in
                machine.withLock { $0.suspend(ticket, waiter) }
            } onCancel: {
                leave(ticket)
            }
        } raised: { priority in
            self.raise(ticket, to: priority)
        }
        switch outcome {
        case .finished(let result): return try result.get()
        case .left(let task):
            await task?.value
            throw CancellationError()
        }
    }

    @inlinable
    func start(
        _ ticket: Machine.Ticket, _ priority: TaskPriority, _ operation: @escaping @Sendable () async throws -> Value
    ) {
        // A new task would inherit the base priority of this one, whose priority may have been raised since it began.
        let task = Task(priority: priority) {
            let result: Result<Value, any Error>
            do {
                result = .success(try await operation())
            } catch {
                result = .failure(error)
            }
            let outcome = Outcome.finished(result)
            for waiter in self.machine.withLock({ $0.finished(ticket, outcome) }) { waiter.resume(returning: outcome) }
        }
        // Callers may have joined in the meantime.
        guard let started = machine.withLock({ $0.started(ticket, task) }) else { return }
        if started.priority > priority { Self.escalate(task, to: started.priority) }
        if started.isCancelled { task.cancel() }
    }

    func cancelAll() {
        for task in machine.withLock({ $0.cancelAll() }) { task.cancel() }
    }

    @inlinable
    func raise(_ ticket: Machine.Ticket, to priority: TaskPriority) {
        guard let task = machine.withLock({ $0.raise(ticket, to: priority) }) else { return }
        Self.escalate(task, to: priority)
    }

    @inlinable
    static func escalate(_ task: Task<Void, Never>, to priority: TaskPriority) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { task.escalatePriority(to: priority) }
    }

    @inlinable
    func leave(_ ticket: Machine.Ticket) {
        guard let (waiter, outcome) = machine.withLock({ $0.leave(ticket) { .left($0) } }) else { return }
        if case .left(let task?) = outcome { task.cancel() }
        waiter?.resume(returning: outcome)
    }
}
