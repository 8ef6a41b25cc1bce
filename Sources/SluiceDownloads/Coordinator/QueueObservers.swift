import SluiceConcurrency
import SluiceLock

/// The observers of a queue in this process: snapshots observe all jobs, and handles observe one.
final class QueueObservers: Sendable {
    private struct State {
        var ofAll: [ObjectIdentifier: Pulse] = [:]
        var ofJob: [JobID: [ObjectIdentifier: Pulse]] = [:]
        var events: [JobID: [ObjectIdentifier: Events]] = [:]
    }

    private struct Events {
        var member: QueuedDownload.Member
        var queue: AsyncQueue<DownloadEvent>
    }

    private let state = Lock(State())

    /// The pulse is sent at each change, until it is passed to ``remove(_:)``.
    func pulse() -> Pulse {
        let pulse = Pulse()
        state.withLock { $0.ofAll[ObjectIdentifier(pulse)] = pulse }
        return pulse
    }

    func remove(_ pulse: Pulse) {
        let removed = state.withLock { $0.ofAll.removeValue(forKey: ObjectIdentifier(pulse)) }
        _ = removed
    }

    /// The pulse is sent when the job ends.
    func withPulse<R>(of job: JobID, _ body: (Pulse) async throws -> R) async rethrows -> R {
        let pulse = Pulse()
        state.withLock { $0.ofJob[job, default: [:]][ObjectIdentifier(pulse)] = pulse }
        defer {
            state.withLock { state in
                state.ofJob[job]?[ObjectIdentifier(pulse)] = nil
                if state.ofJob[job]?.isEmpty == true { state.ofJob[job] = nil }
            }
        }
        return try await body(pulse)
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

    func waitForChange(atMost limit: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void) async {
        let pulse = pulse()
        defer { remove(pulse) }
        await pulse.wait(atMost: limit, sleep: sleep)
    }

    func noteChange() {
        for pulse in state.withLock({ Array($0.ofAll.values) }) { pulse.send() }
    }

    func note(_ event: DownloadEvent) {
        let job = event.job
        let isEnd = event.isEnd
        let (queues, pulses) = state.withLock { state in
            defer { if isEnd { state.events[job] = nil } }
            return (
                state.events[job].map { $0.values.map(\.queue) } ?? [],
                isEnd ? state.ofJob[job].map { Array($0.values) } ?? [] : []
            )
        }
        for queue in queues {
            queue.enqueue(event)
            if isEnd { queue.finish() }
        }
        for pulse in pulses { pulse.send() }
        noteChange()
    }

    /// The selected members of a job have been cancelled, and the job continues for others.
    func noteEnd(of selection: QueuedDownload.Selection, in job: JobID) {
        let (queues, pulses) = state.withLock { state in
            let ended = state.events[job]?.filter { selection.means($0.value.member) } ?? [:]
            for id in ended.keys { state.events[job]?[id] = nil }
            return (ended.values.map(\.queue), state.ofJob[job].map { Array($0.values) } ?? [])
        }
        for queue in queues {
            queue.enqueue(.finished(job: job, outcome: .cancelled))
            queue.finish()
        }
        for pulse in pulses { pulse.send() }
    }

    /// A pulse for all changes, as long as the object exists.
    final class Subscription: Sendable {
        let pulse: Pulse
        private let observers: QueueObservers

        init(_ observers: QueueObservers) {
            self.observers = observers
            pulse = observers.pulse()
        }

        deinit { observers.remove(pulse) }
    }
}
