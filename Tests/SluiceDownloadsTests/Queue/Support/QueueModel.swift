import Foundation
import SluiceDownloads

/// A minimal queue to compare stores with: one list, which every operation searches from its start.
struct QueueModel {
    struct Job: Equatable {
        var number: Int
        var request: DownloadRequest
        // Stored, because computing them for every job at every step takes most of a test's time.
        var target: URL
        var host: String
        var state = QueuedDownload.State.waiting
        var batches: Set<String> = []
        var failures = 0
        var bytes: Int64?
        var message: String?
        /// The end of a delay.
        var notBefore: Int64?
        var lease: Lease?
        var isCancelled = false
        var mayBePublished = false
        var ended: Int64?
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

    var jobs: [Job] = []
    private var lastNumber = 0
    private var lastClaim = 0

    private func open(_ job: Job) -> Bool { !job.state.isFinal }

    private mutating func change(_ number: Int, _ body: (inout Job) -> Void) {
        body(&jobs[jobs.firstIndex { $0.number == number }!])
    }

    mutating func enqueue(_ request: DownloadRequest, batch: String?, keepsFinished: Bool) -> Outcome {
        let batch = batch ?? ""
        let target = request.target
        let rivals = jobs.filter { $0.target == target }
        if let other = rivals.first(where: { open($0) && $0.request.url != request.url }) {
            return .conflict(other.number)
        }
        if let same = rivals.first(where: { $0.request.url == request.url }) {
            if open(same) {
                change(same.number) {
                    $0.batches.insert(batch)
                    $0.request.priority = max($0.request.priority, request.priority)
                    $0.isCancelled = false
                }
                return .joined(same.number)
            }
            if same.state == .done, keepsFinished {
                change(same.number) { $0.batches.insert(batch) }
                return .kept(same.number)
            }
            jobs.removeAll { $0.number == same.number }
        }
        lastNumber += 1
        jobs.append(Job(number: lastNumber, request: request, target: target, host: request.host, batches: [batch]))
        return .added(lastNumber)
    }

    /// Whether the lease is valid.
    mutating func settle(_ lease: Lease, _ outcome: JobSettlement.Outcome, now: Int64) -> Bool {
        guard jobs.contains(where: { $0.lease?.claim == lease.claim }) else { return false }
        change(lease.job) { job in
            let isCancelled = job.isCancelled
            (job.lease, job.isCancelled) = (nil, false)
            switch outcome {
            case .done(let bytes): (job.state, job.bytes, job.message) = (.done, bytes, nil)
            case .failed(let message): (job.state, job.failures, job.message) = (.failed, job.failures + 1, message)
            case .retry(let delay, let message):
                (job.state, job.failures, job.message) = (.waiting, job.failures + 1, message)
                job.notBefore = now + delay.components.seconds * 1000
            case .released, .cancelled: job.state = .waiting
            }
            if isCancelled, job.state == .waiting { (job.state, job.notBefore) = (.cancelled, nil) }
            if job.state.isFinal { job.ended = now }
        }
        return true
    }

    mutating func takeBack(now: Int64, if isLost: (Lease) -> Bool) {
        for index in jobs.indices where jobs[index].lease.map(isLost) == true {
            jobs[index].mayBePublished = true
            jobs[index].lease = nil
            jobs[index].state = jobs[index].isCancelled ? .cancelled : .waiting
            jobs[index].ended = jobs[index].isCancelled ? now : nil
            jobs[index].isCancelled = false
        }
    }

    mutating func claim(
        _ count: Int, worker: Int, limits: DownloadCoordinator.Limits, lease: Int64, batch: String?, now: Int64
    ) -> [Job] {
        takeBack(now: now) { $0.until <= now }
        for index in jobs.indices where jobs[index].notBefore ?? .max <= now { jobs[index].notBefore = nil }
        var claimed: [Job] = []
        for job in inOrder where claimed.count < count {
            guard job.notBefore == nil, batch.map(job.batches.contains) ?? true else { continue }
            let running = jobs.filter { $0.state == .running }
            let user = job.request.user ?? ""
            guard running.count < limits.total,
                running.count(where: { $0.host == job.host }) < limits.perHost ?? .max,
                user.isEmpty || running.count(where: { $0.request.user == user }) < limits.perUser ?? .max
            else { continue }
            lastClaim += 1
            let lease = Lease(job: job.number, claim: lastClaim, worker: worker, until: now + lease)
            change(job.number) { ($0.state, $0.lease) = (.running, lease) }
            claimed.append(jobs.first { $0.number == job.number }!)
        }
        return claimed
    }

    /// The waiting jobs, in the order of their claims.
    var inOrder: [Job] {
        jobs.filter { $0.state == .waiting }.sorted {
            ($1.request.priority, $0.number) < ($0.request.priority, $1.number)
        }
    }

    var endedLatestFirst: [Job] {
        jobs.filter { $0.state.isFinal }.sorted { ($0.ended!, $0.number) > ($1.ended!, $1.number) }
    }

    var nextDue: Int64? {
        (jobs.compactMap(\.notBefore) + jobs.compactMap(\.lease?.until)).min()
    }

    func isEmpty(_ batch: String?) -> Bool {
        !jobs.contains { open($0) && (batch.map($0.batches.contains) ?? true) }
    }

    mutating func renew(worker: Int, until: Int64) -> [(lease: Lease, isCancelled: Bool)] {
        for index in jobs.indices where jobs[index].lease?.worker == worker { jobs[index].lease?.until = until }
        return jobs.filter { $0.lease?.worker == worker }.map { ($0.lease!, $0.isCancelled) }
    }

    /// Returns the numbers of the stopped and of the running jobs.
    mutating func cancel(now: Int64, _ isMeant: (Job) -> Bool, batch: String? = nil) -> (stopped: [Int], running: [Int])
    {
        var found: (stopped: [Int], running: [Int]) = ([], [])
        for index in jobs.indices where open(jobs[index]) && isMeant(jobs[index]) {
            if let batch {
                jobs[index].batches.remove(batch)
                guard jobs[index].batches.isEmpty else { continue }
            }
            if jobs[index].state == .running {
                jobs[index].isCancelled = true
                found.running.append(jobs[index].number)
            } else {
                (jobs[index].state, jobs[index].ended, jobs[index].notBefore) = (.cancelled, now, nil)
                found.stopped.append(jobs[index].number)
            }
        }
        return found
    }

    /// Returns the numbers of the jobs that wait again.
    mutating func retry(_ isMeant: (Job) -> Bool) -> [Int] {
        var retried: [Int] = []
        for index in jobs.indices where [.failed, .cancelled].contains(jobs[index].state) && isMeant(jobs[index]) {
            guard !jobs.contains(where: { open($0) && $0.target == jobs[index].target }) else { continue }
            (jobs[index].state, jobs[index].failures, jobs[index].message) = (.waiting, 0, nil)
            jobs[index].ended = nil
            retried.append(jobs[index].number)
        }
        return retried
    }

    mutating func prioritize(_ priority: Int, _ isMeant: (Job) -> Bool) -> Int {
        let found = jobs.indices.filter { open(jobs[$0]) && isMeant(jobs[$0]) }
        for index in found { jobs[index].request.priority = priority }
        return found.count
    }

    /// Returns the number of removed jobs.
    mutating func remove(_ isMeant: (Job) -> Bool) -> Int {
        let found = jobs.filter { $0.state.isFinal && isMeant($0) }
        remove(Set(found.map(\.number)))
        return found.count
    }

    mutating func forget(batch: String) {
        jobs.removeAll { $0.state.isFinal && $0.batches == [batch] }
        for index in jobs.indices where jobs[index].state.isFinal { jobs[index].batches.remove(batch) }
    }

    private mutating func remove(_ numbers: Set<Int>) {
        jobs.removeAll { $0.state.isFinal && numbers.contains($0.number) }
    }

    mutating func prune(before limit: Int64, keeping count: Int) {
        remove(Set(endedLatestFirst.filter { $0.ended! < limit }.map(\.number)))
        remove(Set(endedLatestFirst.dropFirst(count).map(\.number)))
    }
}
