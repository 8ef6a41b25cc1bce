import SluiceConcurrency
import SluiceLock

/// What the observers of a queue in this process wait for: snapshots wait for any change, and handles for the end of one job.
final class QueueObservers: Sendable {
    private struct State {
        /// The ends of jobs for which handles wait. An entry stays until its job ends.
        var ends: [JobID: (condition: Condition, signal: Signal)] = [:]
        var events: [JobID: [ObjectIdentifier: Events]] = [:]
    }

    private struct Events {
        var member: QueuedDownload.Member
        var queue: AsyncQueue<DownloadEvent>
    }

    /// The changes of all jobs.
    let changes = Changes()
    private let state = Lock(State())

    /// A condition that is signalled when the job ends, or when one of its members leaves. Look at the job after taking it.
    func nextEnd(of job: JobID) -> Condition {
        state.withLock { state in
            let pair = state.ends[job] ?? Condition.makeCondition()
            state.ends[job] = pair
            return pair.condition
        }
    }

    func noteEnd(of job: JobID) {
        state.withLock { $0.ends.removeValue(forKey: job)?.signal }?.signal()
    }

    func events(of job: JobID, for member: QueuedDownload.Member) -> AsyncQueue<DownloadEvent> {
        let queue = AsyncQueue<DownloadEvent>()
        state.withLock {
            $0.events[job, default: [:]][ObjectIdentifier(queue)] = Events(member: member, queue: queue)
        }
        return queue
    }

    func remove(_ queue: AsyncQueue<DownloadEvent>, of job: JobID) {
        let removed = state.withLock { state in
            defer { if state.events[job]?.isEmpty == true { state.events[job] = nil } }
            return state.events[job]?.removeValue(forKey: ObjectIdentifier(queue))
        }
        removed?.queue.finish()
    }

    func note(_ event: DownloadEvent) {
        let job = event.job
        let isEnd = event.isEnd
        let (queues, end) = state.withLock { state in
            let queues = (isEnd ? state.events.removeValue(forKey: job) : state.events[job])?.values.map(\.queue)
            return (queues ?? [], isEnd ? state.ends.removeValue(forKey: job)?.signal : nil)
        }
        for queue in queues {
            queue.enqueue(event)
            if isEnd { queue.finish() }
        }
        end?.signal()
        changes.note()
    }

    /// The selected members of a job have been cancelled, and the job continues for others.
    func noteEnd(of selection: QueuedDownload.Selection, in job: JobID) {
        let (queues, end) = state.withLock { state in
            let ended = state.events[job]?.filter { selection.means($0.value.member) } ?? [:]
            for id in ended.keys { state.events[job]?[id] = nil }
            return (ended.values.map(\.queue), state.ends.removeValue(forKey: job)?.signal)
        }
        for queue in queues {
            queue.enqueue(.finished(job: job, outcome: .cancelled))
            queue.finish()
        }
        end?.signal()
    }
}
