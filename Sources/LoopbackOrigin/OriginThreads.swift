import SluiceFiles

/// An executor with the threads on which all origins and their handlers run. On the cooperative pool, each step of a response would wait
/// for the tests' own work, and clients would time out. A real server is another process with its own threads.
final class OriginThreads: TaskExecutor {
    static let shared = OriginThreads(count: 2)

    private let jobs = ConditionLock<[UnownedJob]>([])

    private init(count: Int) {
        for _ in 0..<count {
            let result = DetachedThread.start(stackSize: 1 << 20) { [self] in
                while true { next().runSynchronously(on: asUnownedTaskExecutor()) }
            }
            precondition(
                result == 0, "The origin needs \(count) threads: \(DetachedThread.missing(for: "origin", -result))")
        }
    }

    private func next() -> UnownedJob {
        jobs.wait { $0.isEmpty ? nil : $0.removeFirst() }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        jobs.wakeOne()
    }
}
