import SluiceConcurrency
import SluiceHTTP
import SluiceLock

/// Notifies a queue's observers in this process: snapshots wait for any change, and handles for the end of one job.
final class QueueObservers: Sendable {
    private struct State {
        /// The jobs that handles are waiting for. An entry stays until its job ends.
        var ends: [JobID: (condition: Condition, signal: Signal)] = [:]
        var events: [JobID: [ObjectIdentifier: Events]] = [:]
        /// The outcomes of jobs that handles exist for.
        var outcomes: [JobID: WeakOutcome] = [:]
    }

    private struct WeakOutcome {
        weak var outcome: JobOutcome?
    }

    private struct Events {
        var member: QueuedDownload.Member
        var queue: AsyncQueue<DownloadEvent>
    }

    /// The changes of all jobs.
    let changes = ChangeSignal()
    private let state = Lock(State())

    /// A condition that is signalled when the job ends, or when one of its members leaves. Look at the job after you take the condition.
    func nextEnd(of job: JobID) -> Condition {
        state.withLock { state in
            let pair = state.ends[job] ?? Condition.makeCondition()
            state.ends[job] = pair
            return pair.condition
        }
    }

    // MARK: Outcomes

    /// The outcome of a job for its handles, shared by all of them.
    func outcome(of job: JobID) -> JobOutcome {
        state.withLock { state in
            if let known = state.outcomes[job]?.outcome { return known }
            let outcome = JobOutcome(of: job, observers: self)
            state.outcomes[job] = WeakOutcome(outcome: outcome)
            return outcome
        }
    }

    /// Notes the outcome of a job. The run calls this before it records the outcome, because another task can replace the job as soon as the
    /// store has it.
    func note(_ outcome: JobOutcome.Ended, of job: JobID) {
        // Released after unlocking, because this may be the last reference.
        let known = state.withLock { $0.outcomes[job]?.outcome }
        known?.note(outcome)
    }

    /// Forgets an outcome that the store refused.
    func revokeOutcome(of job: JobID) {
        let known = state.withLock { $0.outcomes[job]?.outcome }
        known?.revoke()
    }

    /// Forgets all outcomes, because jobs were removed from the queue and their handles have no result.
    func forgetOutcomes() {
        let outcomes = state.withLock { $0.outcomes.values.compactMap(\.outcome) }
        for outcome in outcomes { outcome.forget() }
    }

    func removeOutcome(of job: JobID) {
        state.withLock { state in
            // Another handle may have made a new one in the meantime.
            if state.outcomes[job]?.outcome == nil { state.outcomes[job] = nil }
        }
    }

    // MARK: Ends

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
        guard let job = event.download else { return }
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

    /// Notes that the selected members of a job were cancelled, and the job continues for others.
    func noteEnd(of selection: QueuedDownload.Selection, in job: JobID) {
        noteEnd(in: job) { selection.means($0) }
    }

    /// Notes that a job was cancelled, but continues for members that requested it afterwards.
    func noteEnd(in job: JobID, keeping members: [QueuedDownload.Member]) {
        noteEnd(in: job) { gone in !members.contains { $0.user == gone.user && $0.batch == gone.batch } }
    }

    private func noteEnd(in job: JobID, of isGone: (QueuedDownload.Member) -> Bool) {
        let (queues, end) = state.withLock { state in
            let ended = state.events[job]?.filter { isGone($0.value.member) } ?? [:]
            for id in ended.keys { state.events[job]?[id] = nil }
            return (ended.values.map(\.queue), state.ends.removeValue(forKey: job)?.signal)
        }
        for queue in queues {
            queue.enqueue(.finished(download: job, outcome: .cancelled))
            queue.finish()
        }
        end?.signal()
    }
}
