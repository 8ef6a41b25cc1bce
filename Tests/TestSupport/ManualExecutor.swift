import Foundation

/// Runs tasks on the thread of the test, one step after the other, so that a test says what has happened and when.
///
///     let executor = ManualExecutor()
///     let waiter = executor.spawn { await condition.wait() }
///     executor.runUntilIdle()             // the waiter is suspended now, for certain
///     signal.signal()
///     executor.runUntilIdle()
///     #expect(await waiter.value == .signalled)
///
/// Without a seed jobs run in the order in which they become ready. With one the next is chosen at random, the same way
/// each time the same seed is given.
public final class ManualExecutor: TaskExecutor, @unchecked Sendable {
    // `lock` protects everything below.
    private let lock = NSLock()
    private var jobs: [UnownedJob] = []
    private var random: SeededRandom?
    private var hasEnded = false
    /// What `run(until:)` waits with for a job, or for the end.
    private var idle: CheckedContinuation<Void, Never>?

    /// Creates an executor with nothing to do.
    public init(seed: UInt64? = nil) {
        random = seed.map(SeededRandom.init(seed:))
    }

    /// Takes a job; it waits for `runUntilIdle()`.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let idle = lock.withLock {
            jobs.append(job)
            return self.idle.take()
        }
        idle?.resume()
    }

    /// Makes a task that only runs in `runUntilIdle()`.
    public func spawn<Success: Sendable>(
        priority: TaskPriority? = nil, _ body: sending @escaping @isolated(any) () async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: self, priority: priority, operation: body)
    }

    /// Makes a task, which may fail, that only runs in `runUntilIdle()`.
    public func spawnThrowing<Success: Sendable>(
        _ body: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: self, operation: body)
    }

    /// Runs jobs, and those that they make ready, until every task is suspended or done.
    public func runUntilIdle() {
        while runOne() {}
    }

    /// Runs one job; returns false if there is none.
    @discardableResult
    public func runOne() -> Bool {
        guard let job = next() else { return false }
        job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }

    /// Runs jobs, also those that other threads make ready, until the body has ended; the body doesn't run on the executor.
    ///
    ///     await executor.run { await gate.open() }            // an actor: what it lets go of comes back a moment later
    ///     await executor.run { _ = await caller.result }
    ///
    /// Only one task at a time may call it.
    public func run(until body: @Sendable @escaping () async -> Void) async {
        lock.withLock { hasEnded = false }
        let task = Task {
            await body()
            let idle = lock.withLock {
                hasEnded = true
                return self.idle.take()
            }
            idle?.resume()
        }
        while await hasJobs() { runUntilIdle() }
        await task.value
        runUntilIdle()
    }

    /// Waits until there is a job, and returns true; or until the body has ended, and returns false.
    private func hasJobs() async -> Bool {
        await withCheckedContinuation { continuation in
            let isReady = lock.withLock {
                let isReady = hasEnded || !jobs.isEmpty
                if !isReady { idle = continuation }
                return isReady
            }
            if isReady { continuation.resume() }
        }
        return lock.withLock { !hasEnded }
    }

    private func next() -> UnownedJob? {
        lock.withLock {
            if jobs.isEmpty { return nil }
            let index = random == nil ? 0 : Int.random(in: jobs.indices, using: &random!)
            return jobs.remove(at: index)
        }
    }
}
