import DequeModule
import HTTPTypes
import HeapModule
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The jobs of a ``MemoryQueueStore``. Times are in milliseconds. Copies would share the jobs, so there are none.
struct MemoryQueueState {
    /// A class, because a turn looks at each of its jobs about twenty times, and copying a job retains its nine strings and arrays.
    final class Job: @unchecked Sendable {
        // The store's lock protects it, like the rest of the state.

        /// Without members and header fields; ``seen`` has the members.
        var download: QueuedDownload
        var members: JobMembers
        var lease: Lease?
        var mayBePublished = false
        var ended: Int64?

        var host: String
        let target: TargetPath
        let isUnresolved: Bool

        init(
            download: QueuedDownload, members: JobMembers, host: String, target: TargetPath, isUnresolved: Bool
        ) {
            self.download = download
            self.members = members
            self.host = host
            self.target = target
            self.isUnresolved = isUnresolved
        }

        func line(of user: String) -> Line { Line(host: host, user: user, isUnresolved: isUnresolved) }

        var isCancelled: Bool { lease?.isCancelled == true }

        /// The job as its observers see it.
        var seen: QueuedDownload {
            var seen = download
            seen.members = members.members
            seen.isCancelling = lease?.isCancelled == true
            seen.request.user = lease.map { $0.user.isEmpty ? nil : $0.user } ?? seen.members[0].user
            seen.request.headerFields = members.all[0].headerFields ?? [:]
            return seen
        }
    }

    struct Lease {
        var worker: QueueWorker
        var token: Int64
        /// The user that the job is charged to.
        var user: String
        var isCancelled = false
        /// What the worker last reported.
        var progress: ReportedProgress?
    }

    private(set) var jobs: [JobID: Job] = [:]
    /// The jobs that can be claimed. A job stands in the line of each user with an active member.
    private(set) var lines: [Line: MemoryQueueLine] = [:]
    /// The first jobs of the lines, so that a claim needn't look at every line. Each line's current first job is here; all other entries
    /// are stale, and claims skip them.
    private var firsts = Heap<LineHead>()
    /// During a claim, the lines that the claim has taken from ``firsts``.
    private var taken: Set<Line> = []
    /// The jobs that are waiting for a delay, and when it ends.
    private var delayed: [JobID: Int64] = [:]
    private var firstDelayOver = Int64.max
    /// The running jobs, and when their leases end.
    private var leased: [JobID: Int64] = [:]
    private var running = RunningCounts()
    private var presences: [QueueWorker: (presence: WorkerPresence, seen: Int64)] = [:]
    private var hosts: [String: HostHealth] = [:]
    /// The jobs for each target. There is rarely more than one.
    private var byTarget: [TargetPath: [JobID]] = [:]
    private var lastID: Int64 = 0
    private var lastToken: Int64 = 0
    /// The last ``keptEvents`` events.
    private var events: Deque<QueueEvent> = []
    private(set) var lastEvent: Int64 = 0
    /// The rates of all workers together.
    var rates = DownloadCoordinator.MaximumRates()
    /// The time of the current operation.
    var now: Int64 = 0
    /// How far the time of day is ahead of ``now``.
    var ahead: Int64 = 0

    // MARK: Taking in

    mutating func enqueue(_ request: DownloadRequest, _ options: EnqueueOptions) -> EnqueuedJob {
        let target = request.targetPath
        let resource = DownloadRequest.resource(of: request.url.absoluteString)
        let found = (byTarget[target] ?? []).compactMap { jobs[$0]?.download }
        if let other = found.first(where: { !$0.state.isFinal && $0.resource != resource }) {
            return EnqueuedJob(id: other.id, admission: .conflict(with: other.request.url))
        }
        let element = JobMembers.Element(request, batch: options.batch)
        if let same = found.first(where: { $0.resource == resource }) {
            let id = same.id
            if !same.state.isFinal {
                join(id, element)
                if let job = jobs[id] {
                    if let checksum = request.checksum { job.download.request.checksum = checksum }
                    if !request.mirrors.isEmpty { job.download.request.mirrors = request.mirrors }
                }
                return EnqueuedJob(id: id, admission: .joined)
            }
            if same.state == .done, options.keepsFinished {
                record(EventContent(.joined, of: element), id)
                changeEnded(id) { $0.join(element) }
                return EnqueuedJob(id: id, admission: .kept)
            }
            forget(id)
        }
        lastID += 1
        let id = JobID(rawValue: lastID)
        var plain = request
        plain.headerFields = [:]
        jobs[id] = Job(
            download: QueuedDownload(id: id, request: plain, state: .waiting), members: JobMembers([element]),
            host: request.host, target: target,
            isUnresolved: request.isUnresolved)
        byTarget[target, default: []].append(id)
        joinLines(id)
        record(EventContent(.added, of: element), id)
        return EnqueuedJob(id: id, admission: .added)
    }

    private mutating func join(_ id: JobID, _ element: JobMembers.Element) {
        record(EventContent(.joined, of: element), id)
        changeMembers(id) { job in
            if job.isCancelled {
                job.members = JobMembers([element])
                job.lease?.isCancelled = false
            } else {
                job.members.join(element)
            }
        }
    }

    /// Changes the members of an unfinished job, and then its lines, its state and its charge.
    private mutating func changeMembers(_ id: JobID, _ body: (Job) -> Void) {
        guard let job = jobs[id] else { return }
        leaveLines(id)
        body(job)
        job.download.request.priority = job.members.priority
        if let lease = job.lease {
            guard !lease.isCancelled else { return }
            let user = job.members.charge(lease.user, running)
            running.remove(host: job.host, user: lease.user)
            running.add(host: job.host, user: user)
            job.lease?.user = user
        } else {
            let state: QueuedDownload.State = job.members.arePaused ? .paused : .waiting
            if job.download.state != state {
                job.download.state = state
                record(EventContent(state == .paused ? .paused : .resumed), id)
            }
            joinLines(id)
        }
    }

    private mutating func changeEnded(_ id: JobID, _ body: (inout JobMembers) -> Void) {
        guard let job = jobs[id] else { return }
        body(&job.members)
        job.download.request.priority = job.members.priority
    }

    private mutating func joinLines(_ id: JobID) {
        guard delayed[id] == nil, let job = jobs[id], job.download.state == .waiting
        else { return }
        let priority = job.download.request.priority
        for user in job.members.activeUsers {
            let line = job.line(of: user)
            lines[line, default: MemoryQueueLine()].insert(id, priority: priority)
            if lines[line]?.isFirst(id) == true {
                firsts.insert(LineHead(priority: priority, job: id.rawValue, line: line))
            }
        }
    }

    private mutating func leaveLines(_ id: JobID) {
        guard delayed[id] == nil, let job = jobs[id], job.download.state == .waiting
        else { return }
        let priority = job.download.request.priority
        for user in job.members.activeUsers {
            let line = job.line(of: user)
            guard let found = lines.index(forKey: line) else { continue }
            let wasFirst = lines.values[found].isFirst(id)
            lines.values[found].remove(id, priority: priority)
            if lines.values[found].isEmpty {
                lines.remove(at: found)
            } else if wasFirst, let next = first(of: line) {
                firsts.insert(next)
            }
        }
    }

    // MARK: Handing out and taking back

    mutating func claim(_ claim: JobClaim, now: Int64) throws -> [ClaimedJob] {
        guard claim.count > 0, running.total < claim.limits.total else { return [] }
        if !hosts.isEmpty || !running.hostLimits.isEmpty {
            hosts = hosts.filter { !$0.value.isWell(now: now) && now - $0.value.until < HostHealth.memory }
            running.hostLimits = hosts.compactMapValues { $0.limit(now: now) }
        }
        if firsts.count > 2 * lines.count + 64 { firsts = Heap(lines.keys.compactMap { first(of: $0) }) }
        // Moved, because adding to a copy would copy the dictionaries.
        var counts = RunningCounts()
        swap(&counts, &running)
        var rule = ClaimRule(claim, consume counts)
        defer {
            running = rule.running
            for line in taken { if let first = first(of: line) { firsts.insert(first) } }
            taken = []
        }
        return try rule.handOut(from: &self)
    }

    private func first(of line: Line, in batch: String? = nil) -> LineHead? {
        let head = lines[line]?.first { id in batch.map { jobs[id]?.members.hasActive(in: $0) == true } ?? true }
        return head.map { LineHead(priority: $0.priority, job: $0.id.rawValue, line: line) }
    }

    /// Returns `false` if the lease is no longer valid.
    mutating func settle(_ settlement: JobSettlement, now: Int64) -> Bool {
        let id = settlement.lease.job
        guard let job = jobs[id] else { return false }
        if let report = settlement.host {
            let host = job.host
            hosts[host] = HostHealth.after(report, hosts[host], now: now)
        }
        guard let lease = job.lease,
            lease.token == settlement.lease.token
        else {
            if case .done = settlement.outcome, [.waiting, .paused].contains(job.download.state) {
                job.mayBePublished = true
            }
            return false
        }
        endLease(id, job)
        if settlement.outcome.failure != nil { job.download.failureCount += 1 }
        if let error = settlement.outcome.error {
            job.download.error = error.kept(for: job.download.request.url)
        }
        if let host = settlement.outcome.newHost { job.host = host }
        switch settlement.outcome {
        case .done(let bytes):
            (job.download.fileSize, job.download.error) = (bytes, nil)
            end(job, .done, now: now)
        case .failed: end(job, .failed, now: now)
        // A job that was cancelled while it failed isn't retried.
        case _ where lease.isCancelled: end(job, .cancelled, now: now)
        case .retry, .postponed, .moved, .released, .cancelled:
            wait(id, until: settlement.outcome.delay.map { now + $0.milliseconds })
        }
        record(EventContent(job.download.state, after: settlement.outcome), id)
        return true
    }

    private mutating func endLease(_ id: JobID, _ job: Job) {
        if let lease = job.lease { running.remove(host: job.host, user: lease.user) }
        job.lease = nil
        leased[id] = nil
    }

    private mutating func wait(_ id: JobID, until due: Int64? = nil) {
        guard let job = jobs[id] else { return }
        job.download.state = job.members.arePaused ? .paused : .waiting
        job.download.notBefore = due.map { [ahead] in Date(queueTime: $0 + ahead) }
        guard let due else { return joinLines(id) }
        delayed[id] = due
        firstDelayOver = min(firstDelayOver, due)
    }

    private mutating func end(_ job: Job, _ state: QueuedDownload.State, now: Int64) {
        job.download.state = state
        job.download.notBefore = nil
        job.ended = now
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
        for id in leased.filter({ $0.value <= now }).keys.sorted() { takeBack(id, now: now) }
    }

    mutating func releaseJobs(of worker: QueueWorker, now: Int64) {
        presences[worker] = nil
        for id in leased.keys.sorted() where jobs[id]?.lease?.worker == worker { takeBack(id, now: now) }
    }

    private mutating func takeBack(_ id: JobID, now: Int64) {
        guard let job = jobs[id] else { return }
        let isCancelled = job.isCancelled
        job.mayBePublished = true
        endLease(id, job)
        if isCancelled { end(job, .cancelled, now: now) } else { wait(id) }
        record(EventContent(job.download.state), id)
    }

    mutating func renew(_ worker: QueueWorker, until: Int64) -> [RenewedLease] {
        leased.keys.sorted().compactMap { id in
            guard let job = jobs[id], let lease = job.lease, lease.worker == worker else { return nil }
            leased[id] = until
            let stop: RenewedLease.Stop? =
                lease.isCancelled ? .cancelled : job.members.arePaused ? .paused : nil
            return RenewedLease(lease: JobLease(job: id, token: lease.token), stop: stop)
        }
    }

    /// The workers that have running jobs.
    var workers: Set<QueueWorker> { Set(leased.keys.compactMap { jobs[$0]?.lease?.worker }) }

    /// When the next delay, lease or host pause ends. For simplicity, the delays of paused jobs count, too.
    func nextDue(now: Int64) -> Int64? {
        let leases = leased.values.min()
        let pauses = hosts.values.lazy.map(\.until).filter { $0 > now }.min()
        return [delayed.isEmpty ? nil : firstDelayOver, leases, pauses].compactMap(\.self).min()
    }

    func hasOpenJobs(in batch: String?) -> Bool {
        guard let batch else {
            return !lines.isEmpty || !leased.isEmpty || delayed.keys.contains { jobs[$0]?.download.state == .waiting }
        }
        func isOpen(_ id: JobID) -> Bool { jobs[id]?.members.hasActive(in: batch) == true }
        // Usually one of the running jobs is in the batch, or the next one to run is, or nothing is waiting at all.
        if leased.keys.contains(where: isOpen) { return true }
        if lines.isEmpty, delayed.isEmpty { return false }
        if let first = firsts.min, first == self.first(of: first.line), isOpen(JobID(rawValue: first.job)) {
            return true
        }
        return jobs.values.contains {
            ($0.download.state == .waiting || $0.download.state == .running) && $0.members.hasActive(in: batch)
        }
    }

    // MARK: Controlling

    mutating func cancel(_ selection: QueuedDownload.Selection, now: Int64) -> JobChange {
        var change = JobChange()
        defer { firstDelayOver = delayed.values.min() ?? .max }
        for id in jobs(in: selection, where: { !$0.isFinal }) {
            guard let job = jobs[id] else { continue }
            let remaining = job.isCancelled ? [] : job.members.without(selection)
            if !remaining.isEmpty {
                for element in job.members.all where selection.means(element.member) {
                    record(EventContent(.left, of: element), id)
                }
                changeMembers(id) { $0.members = JobMembers(remaining) }
                change.continuing.append(id)
                if leased[id] != nil, job.members.arePaused { change.pausing.append(id) }
            } else if leased[id] != nil {
                job.lease?.isCancelled = true
                change.cancelling.append(id)
            } else {
                leaveLines(id)
                delayed[id] = nil
                end(job, .cancelled, now: now)
                record(EventContent(.cancelled), id)
                change.stopped.append(job.seen)
            }
        }
        return change
    }

    mutating func pause(_ selection: QueuedDownload.Selection) -> JobChange {
        var change = JobChange()
        for id in jobs(in: selection, where: { !$0.isFinal }) where jobs[id]?.isCancelled == false {
            guard let job = jobs[id], !job.members.arePaused else { continue }
            changeMembers(id) { $0.members.setPaused(true, selection) }
            if jobs[id]?.members.arePaused == false {
                change.continuing.append(id)
            } else if leased[id] != nil {
                change.pausing.append(id)
            } else if let seen = jobs[id]?.seen {
                change.stopped.append(seen)
            }
        }
        return change
    }

    mutating func resume(_ selection: QueuedDownload.Selection) -> [JobID] {
        jobs(in: selection) { !$0.isFinal }.filter { id in
            guard let job = jobs[id], !job.isCancelled else { return false }
            let werePaused = job.members.arePaused
            changeMembers(id) { $0.members.setPaused(false, selection) }
            return werePaused
        }
    }

    mutating func retry(_ selection: QueuedDownload.Selection) -> [JobID] {
        jobs(in: selection) { $0 == .failed || $0 == .cancelled }.filter { id in
            guard let job = jobs[id] else { return false }
            let rivals = byTarget[job.target] ?? []
            guard !rivals.contains(where: { jobs[$0]?.download.state.isFinal == false }) else { return false }
            job.download.failureCount = 0
            job.download.error = nil
            job.ended = nil
            job.members.setPaused(false, .all)
            wait(id)
            record(EventContent(.retried), id)
            return true
        }
    }

    mutating func prioritize(_ selection: QueuedDownload.Selection, priority: Int) -> Int {
        let found = jobs(in: selection) { !$0.isFinal }
        for id in found { changeMembers(id) { $0.members.prioritize(selection, priority) } }
        return found.count
    }

    mutating func remove(_ selection: QueuedDownload.Selection) -> Int {
        let ended = jobs(in: selection, where: \.isFinal)
        if ended.count == jobs.count, jobs.values.allSatisfy({ $0.members.all.count == 1 }) {
            // Usually the queue contains only this list, and all of it has ended.
            (jobs, byTarget) = ([:], [:])
            for id in ended { record(EventContent(.removed), id) }
            return ended.count
        }
        for id in ended {
            let remaining = jobs[id]?.members.without(selection) ?? []
            if remaining.isEmpty { forget(id) } else { changeEnded(id) { $0 = JobMembers(remaining) } }
        }
        return ended.count
    }

    /// Returns the selected jobs in the given states, ordered by number.
    private func jobs(
        in selection: QueuedDownload.Selection, where isWanted: (QueuedDownload.State) -> Bool
    ) -> [JobID] {
        func isSelected(_ job: Job) -> Bool { isWanted(job.download.state) && job.isSelected(by: selection) }
        if let ids = selection.ids {
            return Set(ids).filter { jobs[$0].map(isSelected) == true }.sorted()
        }
        return jobs.values.filter(isSelected).map(\.download.id).sorted()
    }

    func seen(in selection: QueuedDownload.Selection, after id: JobID?, atMost count: Int) -> [QueuedDownload] {
        let later = jobs(in: selection) { _ in true }.drop { other in id.map { other <= $0 } ?? false }
        return later.prefix(max(0, count)).compactMap { jobs[$0]?.seen }
    }

    mutating func prune(endedBefore limit: Int64, keeping count: Int) {
        let ended = endedLatestFirst
        for (index, job) in ended.enumerated().reversed() where index >= count || job.ended! < limit {
            forget(job.download.id)
        }
    }

    private mutating func forget(_ id: JobID) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        byTarget[job.target]?.removeAll { $0 == id }
        if byTarget[job.target]?.isEmpty == true { byTarget[job.target] = nil }
        record(EventContent(.removed), id)
    }

    // MARK: Events

    private mutating func record(_ content: EventContent, _ id: JobID) {
        lastEvent += 1
        events.append(content.event(number: lastEvent, job: id, time: now + ahead))
        if events.count > keptEvents { events.removeFirst() }
    }

    /// Returns `nil` if events after the number have been removed.
    func events(after number: Int64?, atMost count: Int) -> [QueueEvent]? {
        let first = lastEvent - Int64(events.count) + 1
        let wanted = number.map { $0.addingClamped(1) } ?? first
        guard wanted >= first else { return nil }
        return Array(events.dropFirst(Int(min(wanted - first, Int64(events.count)))).prefix(count))
    }

    // MARK: Looking

    private var endedLatestFirst: [Job] {
        jobs.values.filter { $0.ended != nil && $0.download.state.isFinal }
            .sorted { ($0.ended!, $0.download.id) > ($1.ended!, $1.download.id) }
    }

    func snapshot(listing count: Int, now: Int64) -> QueueSnapshot {
        let count = max(0, count)
        var snapshot = QueueSnapshot()
        for job in jobs.values { snapshot.counts[job.download.state, default: 0] += 1 }
        snapshot.running = leased.keys.sorted().prefix(count).compactMap { jobs[$0].map { .init(download: $0.seen) } }
        snapshot.waiting = inLine(.waiting, count)
        snapshot.paused = inLine(.paused, count)
        snapshot.ended = endedLatestFirst.prefix(count).map(\.seen)
        snapshot.cursor = QueueEvent.Cursor(rawValue: lastEvent)
        snapshot.hosts = hosts.compactMap { QueueSnapshot.Host($0, $1, now: now, ahead: ahead) }.sorted {
            $0.name < $1.name
        }
        return snapshot
    }

    func list(_ filter: DownloadFilter, after position: ListPosition?, atMost count: Int) -> [ListedDownload] {
        let isDescending = filter.state.map(\.isFinal) ?? true
        func comes(_ one: ListPosition, before other: ListPosition) -> Bool {
            isDescending ? (other.key, other.id) < (one.key, one.id) : (one.key, one.id) < (other.key, other.id)
        }
        return jobs.values.map { listed($0, keyed: filter.state) }
            .filter { job in filter.matches(job) && position.map { comes($0, before: job.position) } ?? true }
            .sorted { comes($0.position, before: $1.position) }
            .prefix(max(0, count)).map(\.self)
    }

    private func listed(_ job: Job, keyed state: QueuedDownload.State?) -> ListedDownload {
        var listed = ListedDownload(job.seen, host: job.host)
        listed.isUnresolved = job.isUnresolved
        listed.worker = job.lease?.worker.name
        listed.leaseEnd = leased[job.download.id].map { Date(queueTime: $0 + ahead) }
        listed.receivedBytes = job.lease?.progress?.receivedBytes
        listed.totalBytes = job.lease?.progress?.totalBytes
        listed.ended = job.ended.map { Date(queueTime: $0 + ahead) }
        switch state {
        case .waiting, .paused: listed.key = Int64(~job.download.request.priority)
        case .done, .failed, .cancelled: listed.key = job.ended ?? 0
        case .running, nil: break
        }
        return listed
    }

    mutating func report(_ presence: WorkerPresence, of worker: QueueWorker, _ progress: [ReportedProgress]) {
        presences = presences.filter { _, report in
            report.presence.failure == nil || report.presence.machine != presence.machine
                || Date(queueTime: report.seen + ahead) >= presence.began
        }
        presences[worker] = (presence, now)
        for one in progress where jobs[one.job]?.lease?.worker == worker { jobs[one.job]?.lease?.progress = one }
    }

    var seenWorkers: [SeenWorker] {
        presences.map { worker, report in
            let held = leased.filter { jobs[$0.key]?.lease?.worker == worker }
            return SeenWorker(
                name: worker.name, presence: report.presence, seen: Date(queueTime: report.seen + ahead),
                runningCount: held.count, leaseEnd: held.values.min().map { Date(queueTime: $0 + ahead) })
        }.sorted {
            ($0.presence.machine, $0.presence.process, $0.name) < ($1.presence.machine, $1.presence.process, $1.name)
        }
    }

    /// Without what only claims need.
    var shownRunning: RunningCounts {
        var counts = running
        counts.hostLimits = [:]
        return counts
    }

    func minutes(since time: Date) -> [QueueMinute] {
        var minutes: [Int64: QueueMinute] = [:]
        for event in events where event.time >= time && (event.kind == .done || event.kind == .failed) {
            let minute = event.time.queueTime / 60_000
            var sum = minutes[minute] ?? QueueMinute(time: Date(queueTime: minute * 60_000))
            if event.kind == .done { sum.doneCount += 1 } else { sum.failedCount += 1 }
            sum.doneBytes = sum.doneBytes.addingClamped(event.kind == .done ? event.fileSize ?? 0 : 0)
            minutes[minute] = sum
        }
        return minutes.sorted { $0.key < $1.key }.map(\.value)
    }

    func events(of job: JobID, atMost count: Int) -> [QueueEvent] {
        Array(events.reversed().lazy.filter { $0.download == job }.prefix(max(0, count)))
    }

    private func inLine(_ state: QueuedDownload.State, _ count: Int) -> [QueuedDownload] {
        jobs.values.filter { $0.download.state == state }
            .sorted { one, other in
                let (first, second) = (one.download, other.download)
                return (second.request.priority, first.id) < (first.request.priority, second.id)
            }.prefix(count).map(\.seen)
    }
}

// MARK: - Claims

extension MemoryQueueState: ClaimSource {
    struct WaitingJob: ClaimableJob {
        fileprivate let job: Job

        var host: String { job.host }
        var isUnresolved: Bool { job.isUnresolved }
        var members: JobMembers { job.members }
    }

    mutating func nextLine(before head: LineHead?) -> LineHead? {
        while let first = firsts.min, head.map({ first < $0 }) ?? true {
            firsts.removeMin()
            if first == self.first(of: first.line), taken.insert(first.line).inserted { return first }
        }
        return nil
    }

    func next(after head: LineHead, in batch: String?) -> LineHead? { first(of: head.line, in: batch) }

    /// All limits are already known.
    func learnLimit(of host: String, _ running: inout RunningCounts) {}

    func passed(_ head: LineHead, _ rule: inout ClaimRule) {}

    func waitingJob(_ head: LineHead) -> WaitingJob? {
        guard let job = jobs[JobID(rawValue: head.job)], job.lease == nil else { return nil }
        return WaitingJob(job: job)
    }

    mutating func handOut(
        _ waiting: WaitingJob, to claim: JobClaim, charging charged: JobMembers.Element
    ) -> ClaimedJob {
        let job = waiting.job
        let id = job.download.id
        leaveLines(id)
        lastToken += 1
        job.lease = Lease(
            worker: claim.worker, token: lastToken, user: charged.user)
        job.download.state = .running
        leased[id] = now + claim.lease.milliseconds
        record(EventContent(.started, user: charged.user), id)
        var request = job.download.request
        request.user = charged.member.user
        request.headerFields = charged.headerFields ?? [:]
        return ClaimedJob(
            lease: JobLease(job: id, token: lastToken), request: request, host: job.host,
            failures: job.download.failureCount, mayBePublished: job.mayBePublished)
    }
}

extension MemoryQueueState.Job {
    fileprivate func isSelected(by selection: QueuedDownload.Selection) -> Bool {
        switch selection {
        case .all: true
        case .state(let state): download.state == state
        case .ids: true  // They were found by their numbers.
        case .host(let host): self.host == host
        case .user, .batch: members.contains(selection)
        }
    }
}

extension QueuedDownload {
    fileprivate var resource: Substring { DownloadRequest.resource(of: request.url.absoluteString) }
}
