import Foundation
import SluiceDownloads
import SluiceHTTP

/// A minimal queue to compare stores with: one list, which every operation searches from its start.
struct QueueModel {
    struct Job: Equatable {
        var number: Int
        var request: DownloadRequest
        // Stored, because computing them for every job at every step takes most of a test's time.
        var target: URL
        var host: String
        var state = QueuedDownload.State.waiting
        var members: [Member] = []
        var failures = 0
        var bytes: Int64?
        var message: String?
        /// The end of a delay.
        var notBefore: Int64?
        var lease: Lease?
        /// The user that a running job is charged to.
        var charged = ""
        var isCancelled = false
        var mayBePublished = false
        var ended: Int64?
    }

    struct Member: Equatable {
        var user: String
        var batch: String
        var priority: Int
        var isPaused = false
    }

    /// Claims are numbered.
    struct Lease: Hashable {
        var job: Int
        var claim: Int
        var worker: Int
        var until: Int64
    }

    enum Outcome: Equatable {
        case added(Int)
        case joined(Int)
        case kept(Int)
        case conflict(Int)
    }

    /// What is known about a host: when its jobs may start, how many connections failed in a row, and whether only one job may try it.
    struct Host: Equatable {
        var until: Int64 = 0
        var failures = 0
        var isOpen = false
    }

    struct Event: Equatable {
        var time: Int64
        var job: Int
        var kind: String
        var user = ""
        var batch = ""
        var bytes: Int64?
        var message: String?
    }

    var jobs: [Job] = []
    var events: [Event] = []
    var now: Int64 = 0
    var hosts: [String: Host] = [:]
    private var lastNumber = 0
    private var lastClaim = 0

    private func open(_ job: Job) -> Bool { !job.state.isFinal }

    private mutating func record(
        _ number: Int, _ kind: String, _ member: Member? = nil, bytes: Int64? = nil, message: String? = nil
    ) {
        events.append(
            Event(
                time: now, job: number, kind: kind, user: member?.user ?? "", batch: member?.batch ?? "", bytes: bytes,
                message: message))
    }

    private mutating func change(_ number: Int, _ body: (inout Job) -> Void) {
        body(&jobs[jobs.firstIndex { $0.number == number }!])
    }

    mutating func enqueue(_ request: DownloadRequest, batch: String?, keepsFinished: Bool) -> Outcome {
        let member = Member(user: request.user ?? "", batch: batch ?? "", priority: request.priority)
        let target = request.target
        let rivals = jobs.filter { $0.target == target }
        if let other = rivals.first(where: { open($0) && $0.request.resource != request.resource }) {
            return .conflict(other.number)
        }
        if let same = rivals.first(where: { $0.request.resource == request.resource }) {
            if open(same) {
                record(same.number, "joined", member)
                if same.isCancelled {
                    change(same.number) { ($0.members, $0.isCancelled) = ([], false) }
                }
                change(same.number) { $0.join(member) }
                settleMembers(same.number)
                return .joined(same.number)
            }
            if same.state == .done, keepsFinished {
                record(same.number, "joined", member)
                change(same.number) { $0.join(member) }
                return .kept(same.number)
            }
            jobs.removeAll { $0.number == same.number }
            record(same.number, "removed")
        }
        lastNumber += 1
        record(lastNumber, "added", member)
        jobs.append(Job(number: lastNumber, request: request, target: target, host: request.host, members: [member]))
        return .added(lastNumber)
    }

    /// Updates an unfinished job after its members have changed.
    private mutating func settleMembers(_ number: Int) {
        let job = jobs.first { $0.number == number }!
        if job.state == .running {
            guard !job.isCancelled, !job.active.isEmpty, !job.active.contains(where: { $0.user == job.charged }) else {
                return
            }
            let charged = jobs.filter { $0.state == .running }.map(\.charged)
            func load(_ user: String) -> Int { user.isEmpty ? 0 : charged.count { $0 == user } }
            var best = job.active[0]
            for member in job.active where load(member.user) < load(best.user) { best = member }
            change(number) { $0.charged = best.user }
        } else {
            let state: QueuedDownload.State = job.active.isEmpty ? .paused : .waiting
            if job.state != state { record(number, state == .paused ? "paused" : "resumed") }
            change(number) { $0.state = state }
        }
    }

    mutating func note(_ report: HostReport, ofJob number: Int, now: Int64) {
        guard let job = jobs.first(where: { $0.number == number }) else { return }
        var host = hosts[job.host] ?? Host()
        switch report {
        case .reached: (host.failures, host.isOpen) = (0, false)
        case .busy(let time):
            (host.failures, host.isOpen) = (0, false)
            host.until = max(host.until, now + time.components.seconds * 1000)
        case .unreachable(let limit, let pause):
            host.failures += 1
            if host.failures >= limit {
                host.isOpen = true
                host.until = max(host.until, now + pause.components.seconds * 1000)
            }
        }
        hosts[job.host] = host
    }

    /// Returns whether the lease is valid.
    mutating func settle(_ lease: Lease, _ outcome: JobSettlement.Outcome, now: Int64) -> Bool {
        guard jobs.contains(where: { $0.lease?.claim == lease.claim }) else {
            for index in jobs.indices where jobs[index].number == lease.job {
                if case .done = outcome, [.waiting, .paused].contains(jobs[index].state) {
                    jobs[index].mayBePublished = true
                }
            }
            return false
        }
        change(lease.job) { job in
            let isCancelled = job.isCancelled
            (job.lease, job.isCancelled, job.charged) = (nil, false, "")
            switch outcome {
            case .done(let bytes): (job.state, job.bytes, job.message) = (.done, bytes, nil)
            case .failed(let error):
                (job.state, job.failures, job.message) = (.failed, job.failures + 1, error.description)
            case .retry(let delay, let error):
                (job.state, job.failures, job.message) = (.waiting, job.failures + 1, error.description)
                job.notBefore = now + delay.components.seconds * 1000
            case .postponed(let delay, let host, let reason):
                (job.state, job.host) = (.waiting, host ?? job.host)
                job.message = reason?.description ?? job.message
                job.notBefore = now + delay.components.seconds * 1000
            case .moved(let host): (job.state, job.host) = (.waiting, host)
            case .released, .cancelled: job.state = .waiting
            }
            if isCancelled, job.state == .waiting { (job.state, job.notBefore) = (.cancelled, nil) }
            if job.state == .waiting, job.active.isEmpty { job.state = .paused }
            if job.state.isFinal { job.ended = now }
        }
        let job = jobs.first { $0.number == lease.job }!
        let kind = job.state == .waiting ? "released" : "\(job.state)"
        switch outcome {
        case .done(let bytes): record(lease.job, kind, bytes: bytes)
        case .failed(let error): record(lease.job, kind, message: error.description)
        case .retry(_, let error):
            record(lease.job, kind == "released" ? "retrying" : kind, message: error.description)
        case .postponed(_, _, let reason): record(lease.job, kind, message: reason?.description)
        case .moved, .released, .cancelled: record(lease.job, kind)
        }
        return true
    }

    mutating func takeBack(now: Int64, if isLost: (Lease) -> Bool) {
        for index in jobs.indices where jobs[index].lease.map(isLost) == true {
            jobs[index].mayBePublished = true
            jobs[index].lease = nil
            jobs[index].state =
                jobs[index].isCancelled ? .cancelled : jobs[index].active.isEmpty ? .paused : .waiting
            jobs[index].ended = jobs[index].isCancelled ? now : nil
            (jobs[index].isCancelled, jobs[index].charged) = (false, "")
            record(jobs[index].number, jobs[index].state == .waiting ? "released" : "\(jobs[index].state)")
        }
    }

    mutating func claim(
        _ count: Int, worker: Int, limits: DownloadCoordinator.Limits, lease: Int64, batch: String?,
        resolves: Bool = false,
        now: Int64
    ) -> [Job] {
        takeBack(now: now) { $0.until <= now }
        for index in jobs.indices where jobs[index].notBefore ?? .max <= now { jobs[index].notBefore = nil }
        var claimed: [Job] = []
        for job in inOrder where claimed.count < count {
            guard job.notBefore == nil, job.isOpen(in: batch), resolves || job.request.url.scheme != "sluice-id" else {
                continue
            }
            let running = jobs.filter { $0.state == .running }
            let ofHost = running.count { $0.host == job.host }
            let host = hosts[job.host] ?? Host()
            guard host.until <= now, !host.isOpen || ofHost == 0 else { continue }
            let charged = job.active.first { member in
                member.user.isEmpty || running.count { $0.charged == member.user } < limits.perUser ?? .max
            }
            guard running.count < limits.total,
                ofHost < limits.perHost ?? .max, let charged
            else { continue }
            lastClaim += 1
            let lease = Lease(job: job.number, claim: lastClaim, worker: worker, until: now + lease)
            change(job.number) { ($0.state, $0.lease, $0.charged) = (.running, lease, charged.user) }
            record(job.number, "started", Member(user: charged.user, batch: "", priority: 0))
            claimed.append(jobs.first { $0.number == job.number }!)
        }
        return claimed
    }

    /// The waiting jobs, in the order of their claims.
    var inOrder: [Job] {
        inOrder(.waiting)
    }

    func inOrder(_ state: QueuedDownload.State) -> [Job] {
        jobs.filter { $0.state == state }.sorted { ($1.priority, $0.number) < ($0.priority, $1.number) }
    }

    var endedLatestFirst: [Job] {
        jobs.filter { $0.state.isFinal }.sorted { ($0.ended!, $0.number) > ($1.ended!, $1.number) }
    }

    func nextDue(now: Int64) -> Int64? {
        (jobs.compactMap(\.notBefore) + jobs.compactMap(\.lease?.until) + hosts.values.map(\.until).filter { $0 > now })
            .min()
    }

    func isEmpty(_ batch: String?) -> Bool {
        !jobs.contains { [.waiting, .running].contains($0.state) && $0.isOpen(in: batch) }
    }

    mutating func renew(worker: Int, until: Int64) -> [(lease: Lease, stop: RenewedLease.Stop?)] {
        for index in jobs.indices where jobs[index].lease?.worker == worker { jobs[index].lease?.until = until }
        return jobs.filter { $0.lease?.worker == worker }.map { job in
            (job.lease!, job.isCancelled ? .cancelled : job.active.isEmpty ? .paused : nil)
        }
    }

    /// Numbers of jobs, as in ``JobChange``.
    struct Change: Equatable {
        var stopped: [Int] = []
        var cancelling: [Int] = []
        var pausing: [Int] = []
        var continuing: [Int] = []
    }

    /// What a selection means: some jobs, and some of their members.
    struct Selection {
        var jobs: (Job) -> Bool = { _ in true }
        var members: (Member) -> Bool = { _ in true }

        func contains(_ job: Job) -> Bool { jobs(job) && job.members.contains(where: members) }
    }

    private func numbers(_ selection: Selection, _ states: [QueuedDownload.State]) -> [Int] {
        jobs.filter { states.contains($0.state) && selection.contains($0) }.map(\.number)
    }

    private static let unfinished: [QueuedDownload.State] = [.waiting, .running, .paused]

    mutating func cancel(now: Int64, _ selection: Selection) -> Change {
        var found = Change()
        for number in numbers(selection, Self.unfinished) {
            let job = jobs.first { $0.number == number }!
            let remaining = job.members.filter { !selection.members($0) }
            if !remaining.isEmpty, !job.isCancelled {
                for member in job.members where selection.members(member) { record(number, "left", member) }
                change(number) { $0.members = remaining }
                settleMembers(number)
                found.continuing.append(number)
                if job.state == .running, remaining.allSatisfy(\.isPaused) { found.pausing.append(number) }
            } else if job.state == .running {
                change(number) { $0.isCancelled = true }
                found.cancelling.append(number)
            } else {
                change(number) { ($0.state, $0.ended, $0.notBefore) = (.cancelled, now, nil) }
                record(number, "cancelled")
                found.stopped.append(number)
            }
        }
        return found
    }

    mutating func pause(_ selection: Selection) -> Change {
        var found = Change()
        for number in numbers(selection, Self.unfinished) {
            let job = jobs.first { $0.number == number }!
            guard !job.isCancelled, !job.active.isEmpty else { continue }
            change(number) { $0.setPaused(true, selection) }
            settleMembers(number)
            if jobs.contains(where: { $0.number == number && !$0.active.isEmpty }) {
                found.continuing.append(number)
            } else if job.state == .running {
                found.pausing.append(number)
            } else {
                found.stopped.append(number)
            }
        }
        return found
    }

    /// Returns the numbers of the jobs that are no longer paused.
    mutating func resume(_ selection: Selection) -> [Int] {
        numbers(selection, Self.unfinished).filter { number in
            let job = jobs.first { $0.number == number }!
            guard !job.isCancelled else { return false }
            change(number) { $0.setPaused(false, selection) }
            settleMembers(number)
            return job.active.isEmpty
        }
    }

    /// Returns the numbers of the jobs that wait again.
    mutating func retry(_ selection: Selection) -> [Int] {
        numbers(selection, [.failed, .cancelled]).filter { number in
            let job = jobs.first { $0.number == number }!
            guard !jobs.contains(where: { open($0) && $0.target == job.target }) else { return false }
            change(number) { job in
                (job.state, job.failures, job.message, job.ended) = (.waiting, 0, nil, nil)
                job.setPaused(false, Selection())
            }
            record(number, "retried")
            return true
        }
    }

    mutating func prioritize(_ priority: Int, _ selection: Selection) -> Int {
        let found = numbers(selection, Self.unfinished)
        for number in found {
            change(number) { job in
                for index in job.members.indices where selection.members(job.members[index]) {
                    job.members[index].priority = priority
                }
            }
        }
        return found.count
    }

    /// Returns the number of jobs with removed members.
    mutating func remove(_ selection: Selection) -> Int {
        let found = numbers(selection, [.done, .failed, .cancelled])
        for number in found { change(number) { $0.members.removeAll(where: selection.members) } }
        remove(jobs.filter(\.members.isEmpty).map(\.number))
        return found.count
    }

    private mutating func remove(_ numbers: [Int]) {
        for number in numbers {
            jobs.removeAll { $0.number == number }
            record(number, "removed")
        }
    }

    mutating func prune(before limit: Int64, keeping count: Int) {
        let ended = endedLatestFirst
        let gone = ended.enumerated().filter { $0.offset >= count || $0.element.ended! < limit }
        remove(gone.map(\.element.number).reversed())
    }
}

extension QueueModel.Job {
    var active: [QueueModel.Member] { members.filter { !$0.isPaused } }

    var priority: Int { members.map(\.priority).max()! }

    /// The user that the job is shown with.
    var user: String { state == .running ? charged : members[0].user }

    func isOpen(in batch: String?) -> Bool { batch == nil || active.contains { $0.batch == batch } }

    mutating func join(_ member: QueueModel.Member) {
        if let index = members.firstIndex(where: { $0.user == member.user && $0.batch == member.batch }) {
            members[index].priority = max(members[index].priority, member.priority)
            members[index].isPaused = false
        } else {
            members.append(member)
        }
    }

    mutating func setPaused(_ isPaused: Bool, _ selection: QueueModel.Selection) {
        for index in members.indices where selection.members(members[index]) { members[index].isPaused = isPaused }
    }
}

extension DownloadRequest {
    /// What makes two requests for one target the same download: the host of an identifier is only a hint.
    fileprivate var resource: String { unresolvedID.map { "identifier \($0)" } ?? url.absoluteString }
}
