import Dispatch
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
    // `lock` protects `jobs`, `random` and `isFree`.
    private let lock = NSLock()
    private var jobs: [UnownedJob] = []
    private var random: SeededRandom?
    private var isFree = false
    private let thread = DispatchQueue(label: "ManualExecutor")

    /// Creates an executor with nothing to do.
    public init(seed: UInt64? = nil) {
        random = seed.map(SeededRandom.init(seed:))
    }

    /// Takes a job; it waits for `runUntilIdle()`.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFree = lock.withLock {
            if !self.isFree { jobs.append(job) }
            return self.isFree
        }
        if isFree { runSoon(job) }
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

    /// Runs the jobs that wait, and from now on each job as soon as it is ready, on a thread of the executor.
    ///
    /// For the end of a test that waits for its tasks: they go on when the code under test resumes them.
    public func runFreely() {
        let waiting = lock.withLock {
            isFree = true
            defer { jobs = [] }
            return jobs
        }
        for job in waiting { runSoon(job) }
    }

    private func runSoon(_ job: UnownedJob) {
        thread.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    private func next() -> UnownedJob? {
        lock.withLock {
            if jobs.isEmpty { return nil }
            let index = random == nil ? 0 : Int.random(in: jobs.indices, using: &random!)
            return jobs.remove(at: index)
        }
    }
}
