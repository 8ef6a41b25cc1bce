import SluiceFiles

/// The threads on which all origins and their handlers run.
///
/// A server is another process in life, with threads of its own. On the cooperative pool each step of an answer would wait for whatever
/// a test computes there, and clients would take the origin for a server that is silent.
final class OriginThreads: TaskExecutor {
    static let shared = OriginThreads(count: 2)

    private let jobs = ConditionLock<[UnownedJob]>([])

    private init(count: Int) {
        for _ in 0..<count {
            let result = DetachedThread.start(stackSize: 1 << 20) { [self] in
                while true { next().runSynchronously(on: asUnownedTaskExecutor()) }
            }
            precondition(
                result == 0, "The origin needs \(count) threads: \(DetachedThread.missing(for: "origin", -result)).")
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
