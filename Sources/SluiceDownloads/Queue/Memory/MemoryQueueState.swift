#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The jobs of a ``MemoryQueueStore``: a pure value. Times are in milliseconds.
struct MemoryQueueState {
    struct Job {
        var download: QueuedDownload
        var batches: Set<String>
        var lease: Lease?
        var mayBePublished = false
        var ended: Int64?

        let lane: Lane
        let target: TargetPath
    }

    struct Lease {
        var worker: QueueWorker
        var token: Int64
        var until: Int64
        var isCancelled = false
    }

    struct Lane: Hashable {
        var host: String
        var user: String
    }

    private(set) var jobs: [JobID: Job] = [:]
    private(set) var lines: [Lane: MemoryQueueLine] = [:]
    /// The jobs that wait for a delay, with the time at which it ends.
    private var delayed: [JobID: Int64] = [:]
    private var firstDelayOver = Int64.max
    private var leased: Set<JobID> = []
    private var running = RunningCounts()
    /// The jobs for each target. There is seldom more than one.
    private var byTarget: [TargetPath: [JobID]] = [:]
    private var lastID: Int64 = 0
    private var lastToken: Int64 = 0

    // MARK: Taking in

    mutating func enqueue(_ request: DownloadRequest, _ options: EnqueueOptions) -> EnqueuedJob {
        let target = request.targetPath
        let url = request.url.absoluteString
        let found = (byTarget[target] ?? []).compactMap { jobs[$0]?.download }
        if let other = found.first(where: { !$0.state.isFinal && $0.request.url.absoluteString != url }) {
            return EnqueuedJob(id: other.id, outcome: .conflict(with: other.request.url))
        }
        if let same = found.first(where: { $0.request.url.absoluteString == url }) {
            let id = same.id
            if !same.state.isFinal {
                join(id, request, options)
                return EnqueuedJob(id: id, outcome: .joined)
            }
            if same.state == .done, options.keepsFinished {
                jobs[id]?.batches.insert(options.batch ?? "")
                return EnqueuedJob(id: id, outcome: .kept)
            }
            forget(id)
        }
        lastID += 1
        let id = JobID(rawValue: lastID)
        let job = Job(
            download: QueuedDownload(id: id, request: request, state: .waiting), batches: [options.batch ?? ""],
            lane: Lane(host: request.host, user: request.user ?? ""), target: target)
        jobs[id] = job
        byTarget[target, default: []].append(id)
        lines[job.lane, default: MemoryQueueLine()].insert(id, priority: request.priority)
        return EnqueuedJob(id: id, outcome: .added)
    }

    private mutating func join(_ id: JobID, _ request: DownloadRequest, _ options: EnqueueOptions) {
        guard let job = jobs[id] else { return }
        jobs[id]?.batches.insert(options.batch ?? "")
        // Enqueuing a cancelled job again revokes the cancellation.
        jobs[id]?.lease?.isCancelled = false
        guard job.download.request.priority < request.priority else { return }
        leaveLine(id)
        jobs[id]?.download.request.priority = request.priority
        if job.download.state == .waiting, delayed[id] == nil { joinLine(id) }
    }

    private mutating func joinLine(_ id: JobID) {
        guard let place = jobs.index(forKey: id) else { return }
        let (lane, priority) = (jobs.values[place].lane, jobs.values[place].download.request.priority)
        lines[lane, default: MemoryQueueLine()].insert(id, priority: priority)
    }

    private mutating func leaveLine(_ id: JobID) {
        guard let place = jobs.index(forKey: id) else { return }
        let (lane, priority) = (jobs.values[place].lane, jobs.values[place].download.request.priority)
        lines[lane]?.remove(id, priority: priority)
        if lines[lane]?.isEmpty == true { lines[lane] = nil }
    }

    // MARK: Handing out and taking back

    mutating func claim(_ claim: JobClaim, now: Int64) -> [ClaimedJob] {
        var claimed: [ClaimedJob] = []
        while claimed.count < claim.count, let id = bestOpen(claim), let place = jobs.index(forKey: id) {
            leaveLine(id)
            lastToken += 1
            jobs.values[place].lease = Lease(
                worker: claim.worker, token: lastToken, until: now + claim.lease.milliseconds)
            jobs.values[place].download.state = .running
            leased.insert(id)
            let lane = jobs.values[place].lane
            running.add(host: lane.host, user: lane.user)
            claimed.append(
                ClaimedJob(
                    lease: JobLease(job: id, token: lastToken), request: jobs.values[place].download.request,
                    failures: jobs.values[place].download.failureCount,
                    mayBePublished: jobs.values[place].mayBePublished))
        }
        return claimed
    }

    private func bestOpen(_ claim: JobClaim) -> JobID? {
        guard running.total < claim.limits.total else { return nil }
        var best: (priority: Int, id: JobID)?
        for (lane, line) in lines where running.room(host: lane.host, user: lane.user, under: claim.limits) > 0 {
            guard let head = line.first(where: { isMember($0, of: claim.batch) }) else { continue }
            if let found = best, (found.priority, head.id) > (head.priority, found.id) { continue }
            best = head
        }
        return best?.id
    }

    private func isMember(_ id: JobID, of batch: String?) -> Bool {
        batch.map { jobs[id]?.batches.contains($0) == true } ?? true
    }

    /// Returns `false` if the lease is no longer valid.
    mutating func settle(_ settlement: JobSettlement, now: Int64) -> Bool {
        let id = settlement.lease.job
        // Uses the index, because access by key would move the job out of the dictionary and back.
        guard let place = jobs.index(forKey: id), let lease = jobs.values[place].lease,
            lease.token == settlement.lease.token
        else { return false }
        endLease(id, at: place)
        switch settlement.outcome {
        case .done(let bytes):
            jobs.values[place].download.bytes = bytes
            jobs.values[place].download.message = nil
            end(at: place, .done, now: now)
        case .failed(let message):
            noteFailure(at: place, message)
            end(at: place, .failed, now: now)
        case .retry(let delay, let message):
            noteFailure(at: place, message)
            if lease.isCancelled {
                end(at: place, .cancelled, now: now)
            } else {
                wait(id, until: now + delay.milliseconds)
            }
        case .released, .cancelled:
            if lease.isCancelled { end(at: place, .cancelled, now: now) } else { wait(id) }
        }
        return true
    }

    private typealias Place = Dictionary<JobID, Job>.Index

    private mutating func noteFailure(at place: Place, _ message: String) {
        jobs.values[place].download.failureCount += 1
        jobs.values[place].download.message = message
    }

    private mutating func endLease(_ id: JobID, at place: Place) {
        jobs.values[place].lease = nil
        leased.remove(id)
        let lane = jobs.values[place].lane
        running.remove(host: lane.host, user: lane.user)
    }

    private mutating func wait(_ id: JobID, until due: Int64? = nil) {
        jobs[id]?.download.state = .waiting
        jobs[id]?.download.notBefore = due.map { Date(queueTime: $0) }
        guard let due else { return joinLine(id) }
        delayed[id] = due
        firstDelayOver = min(firstDelayOver, due)
    }

    private mutating func end(at place: Place, _ state: QueuedDownload.State, now: Int64) {
        jobs.values[place].download.state = state
        jobs.values[place].download.notBefore = nil
        jobs.values[place].ended = now
    }

    mutating func admitDelayed(now: Int64) {
        guard firstDelayOver <= now else { return }
        for (id, due) in delayed where due <= now {
            delayed[id] = nil
            wait(id)
        }
        firstDelayOver = delayed.values.min() ?? .max
    }

    mutating func takeBackExpiredLeases(now: Int64) {
        for id in leased where jobs[id]?.lease.map({ $0.until <= now }) == true {
            takeBack(id, now: now)
        }
    }

    mutating func releaseJobs(of worker: QueueWorker, now: Int64) {
        for id in leased where jobs[id]?.lease?.worker == worker { takeBack(id, now: now) }
    }

    private mutating func takeBack(_ id: JobID, now: Int64) {
        guard let place = jobs.index(forKey: id) else { return }
        let isCancelled = jobs.values[place].lease?.isCancelled == true
        jobs.values[place].mayBePublished = true
        endLease(id, at: place)
        if isCancelled { end(at: place, .cancelled, now: now) } else { wait(id) }
    }

    mutating func renew(_ worker: QueueWorker, until: Int64) -> [RenewedLease] {
        leased.sorted().compactMap { id in
            guard let lease = jobs[id]?.lease, lease.worker == worker else { return nil }
            jobs[id]?.lease?.until = until
            return RenewedLease(lease: JobLease(job: id, token: lease.token), isCancelled: lease.isCancelled)
        }
    }

    var nextDue: Int64? {
        let leases = leased.compactMap { jobs[$0]?.lease?.until }.min()
        return [delayed.isEmpty ? nil : firstDelayOver, leases].compactMap(\.self).min()
    }

    func hasOpenJobs(in batch: String?) -> Bool {
        guard let batch else { return !lines.isEmpty || !delayed.isEmpty || !leased.isEmpty }
        return jobs.values.contains { !$0.download.state.isFinal && $0.batches.contains(batch) }
    }

    // MARK: Cancelling and forgetting

    mutating func cancel(_ selection: QueuedDownload.Selection, now: Int64) -> JobCancellation {
        var cancellation = JobCancellation()
        defer { firstDelayOver = delayed.values.min() ?? .max }
        for id in jobs(in: selection, where: { !$0.isFinal }) {
            if case .batch(let batch) = selection {
                jobs[id]?.batches.remove(batch)
                if jobs[id]?.batches.isEmpty == false { continue }
            }
            if leased.contains(id) {
                jobs[id]?.lease?.isCancelled = true
                cancellation.running.append(id)
            } else {
                leaveLine(id)
                delayed[id] = nil
                guard let place = jobs.index(forKey: id) else { continue }
                end(at: place, .cancelled, now: now)
                cancellation.stopped.append(jobs.values[place].download)
            }
        }
        return cancellation
    }

    /// Returns the selected jobs in the wanted states, in the order of their numbers.
    private func jobs(
        in selection: QueuedDownload.Selection, where isWanted: (QueuedDownload.State) -> Bool
    ) -> [JobID] {
        let candidates: [Job]
        if case .ids(let ids) = selection {
            candidates = Set(ids).compactMap { jobs[$0] }
        } else {
            candidates = Array(jobs.values)
        }
        return candidates.filter { isWanted($0.download.state) && $0.isMember(of: selection) }.map(\.download.id)
            .sorted()
    }

    // MARK: Controlling

    mutating func retry(_ selection: QueuedDownload.Selection) -> [JobID] {
        jobs(in: selection) { $0 == .failed || $0 == .cancelled }.filter { id in
            guard let place = jobs.index(forKey: id) else { return false }
            let rivals = byTarget[jobs.values[place].target] ?? []
            guard !rivals.contains(where: { jobs[$0]?.download.state.isFinal == false }) else { return false }
            jobs.values[place].download.failureCount = 0
            jobs.values[place].download.message = nil
            jobs.values[place].ended = nil
            wait(id)
            return true
        }
    }

    mutating func prioritize(_ selection: QueuedDownload.Selection, priority: Int) -> Int {
        let found = jobs(in: selection) { !$0.isFinal }
        for id in found {
            leaveLine(id)
            jobs[id]?.download.request.priority = priority
            if jobs[id]?.download.state == .waiting, delayed[id] == nil { joinLine(id) }
        }
        return found.count
    }

    mutating func remove(_ selection: QueuedDownload.Selection) -> Int {
        let ended = jobs(in: selection, where: \.isFinal)
        for id in ended { forget(id) }
        return ended.count
    }

    mutating func forget(batch: String) {
        let ended = jobs.compactMap { $1.download.state.isFinal && $1.batches.contains(batch) ? $0 : nil }
        if ended.count == jobs.count, jobs.values.allSatisfy({ $0.batches.count == 1 }) {
            // The usual case: the queue contains only this list, and all of it has ended.
            (jobs, byTarget) = ([:], [:])
            return
        }
        for id in ended {
            jobs[id]?.batches.remove(batch)
            if jobs[id]?.batches.isEmpty == true { forget(id) }
        }
    }

    mutating func prune(endedBefore limit: Int64, keeping count: Int) {
        let ended = endedLatestFirst
        for (place, job) in ended.enumerated() where place >= count || job.ended! < limit { forget(job.download.id) }
    }

    private mutating func forget(_ id: JobID) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        byTarget[job.target]?.removeAll { $0 == id }
        if byTarget[job.target]?.isEmpty == true { byTarget[job.target] = nil }
    }

    // MARK: Looking

    private var endedLatestFirst: [Job] {
        jobs.values.filter { $0.ended != nil && $0.download.state.isFinal }
            .sorted { ($0.ended!, $0.download.id) > ($1.ended!, $1.download.id) }
    }

    func snapshot(listing count: Int) -> QueueSnapshot {
        let count = max(0, count)
        var snapshot = QueueSnapshot()
        for job in jobs.values { snapshot.counts[job.download.state, default: 0] += 1 }
        snapshot.running = leased.sorted().prefix(count).compactMap { jobs[$0].map { .init(download: $0.download) } }
        let waiting = jobs.values.lazy.map(\.download).filter { $0.state == .waiting }
        snapshot.waiting = Array(
            waiting.sorted { ($1.request.priority, $0.id) < ($0.request.priority, $1.id) }.prefix(count))
        snapshot.ended = endedLatestFirst.prefix(count).map(\.download)
        return snapshot
    }
}

extension MemoryQueueState.Job {
    fileprivate func isMember(of selection: QueuedDownload.Selection) -> Bool {
        switch selection {
        case .all: true
        case .state(let state): download.state == state
        case .batch(let batch): batches.contains(batch)
        case .ids: true  // They were found by their numbers.
        case .user(let user): lane.user == user
        case .host(let host): lane.host == host
        }
    }
}
