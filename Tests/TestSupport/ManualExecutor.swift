import Foundation

/// An executor that runs tasks on the thread of the test, job by job, so that the test controls their order.
///
///     let executor = ManualExecutor()
///     let waiter = executor.spawn { await condition.wait() }
///     executor.runUntilIdle()             // the waiter is suspended now, for certain
///     signal.signal()
///     executor.runUntilIdle()
///     #expect(await waiter.value == .signalled)
///
/// Without a seed, jobs run in the order in which they become ready. With a seed, the next job is chosen at random. The
/// same seed gives the same order.
public final class ManualExecutor: TaskExecutor, @unchecked Sendable {
    // `lock` protects everything below.
    private let lock = NSLock()
    private var jobs: [UnownedJob] = []
    private var random: SeededRandom?
    private var hasEnded = false
    /// Resumed when `run(until:)` gets a job, or when its body ends.
    private var idle: CheckedContinuation<Void, Never>?

    /// Creates an executor with nothing to do.
    public init(seed: UInt64? = nil) {
        random = seed.map(SeededRandom.init(seed:))
    }

    /// Enqueues a job for `runUntilIdle()`.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let idle = lock.withLock {
            jobs.append(job)
            return self.idle.take()
        }
        idle?.resume()
    }

    /// Creates a task that only runs in `runUntilIdle()`.
    public func spawn<Success: Sendable>(
        priority: TaskPriority? = nil, _ body: sending @escaping @isolated(any) () async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: self, priority: priority, operation: body)
    }

    /// Creates a throwing task that only runs in `runUntilIdle()`.
    public func spawnThrowing<Success: Sendable>(
        priority: TaskPriority? = nil, _ body: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: self, priority: priority, operation: body)
    }

    /// Runs jobs, including those that they make ready, until every task is suspended or done.
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

    /// Runs jobs, including those that other threads enqueue, until the body has ended. The body doesn't run on the executor.
    ///
    ///     await executor.run { await gate.open() }            // an actor: the tasks it releases become ready a moment later
    ///     await executor.run { _ = await caller.result }
    ///
    /// Only one task at a time may call this method.
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

    /// Waits for a job and returns true, or returns false once the body has ended.
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
