import HeapModule

/// The rule by which the in-memory and SQLite stores hand out jobs, as a pure value that counts what is running. (PostgreSQL has its own
/// rule, in SQL.)
///
/// Jobs are handed out by priority, then by number. A job is passed over if its host or its users have no room under the limits, or if the
/// claim avoids its host, wants another batch or can't resolve its URL. A job is charged to its first member whose user has room.
///
/// Waiting jobs stand in lines, one for each pair of host and user (a row of the table `lane`). A store offers the lines in the order of
/// their first jobs, and then the next job of a line it has already offered. So a claim looks only at the first jobs, however many are
/// waiting.
struct ClaimRule {
    let claim: JobClaim
    /// Including the jobs that this claim has handed out.
    var running: RunningCounts

    init(_ claim: JobClaim, _ running: RunningCounts) {
        (self.claim, self.running) = (claim, running)
        for host in claim.avoiding { self.running.hostLimits[host] = 0 }
    }

    private var hasRoom: Bool { running.total < claim.limits.total }

    private func hasRoom(_ line: Line) -> Bool {
        running.room(host: line.host, user: line.user, under: claim.limits) > 0
    }

    /// Hands out jobs until the claim has enough, or no waiting job has room.
    mutating func handOut<Source: ClaimSource>(from source: inout Source) throws -> [ClaimedJob] {
        var claimed: [ClaimedJob] = []
        // The next jobs of lines that were already offered.
        var heads = Heap<LineHead>()
        while claimed.count < claim.count, hasRoom,
            let head = try source.nextLine(before: heads.min) ?? heads.popMin()
        {
            try source.learnLimit(of: head.line.host, &running)
            guard claim.resolves || !head.line.isUnresolved, hasRoom(head.line) else {
                try source.passed(head, &self)
                continue
            }
            // The job may have been claimed from another member's line.
            if let job = try source.waitingJob(head), claim.resolves || !job.isUnresolved,
                claim.batch.map(job.members.hasActive) ?? true
            {
                let charged = job.members.withRoom(host: job.host, running, claim.limits)
                guard let charged else { continue }
                claimed.append(try source.handOut(job, to: claim, charging: charged))
                running.add(host: job.host, user: charged.user)
            }
            // A line without room stays without room until the end of this claim.
            if hasRoom(head.line), let next = try source.next(after: head, in: claim.batch) { heads.insert(next) }
        }
        return claimed
    }
}

/// The waiting jobs of a store, for one claim.
protocol ClaimSource {
    associatedtype WaitingJob: ClaimableJob

    /// Takes the next line if its first job comes before `head`. Lines come in the order of their first jobs, and none comes twice.
    mutating func nextLine(before head: LineHead?) throws -> LineHead?

    /// The first job of a line; with a batch, the first job with an active member in the batch. `head` was the first, but has left the line
    /// or isn't in the batch.
    func next(after head: LineHead, in batch: String?) throws -> LineHead?

    /// Notes how many jobs of a host may run, if that isn't known yet.
    func learnLimit(of host: String, _ running: inout RunningCounts) throws

    /// A line without room was passed over. The first jobs of all other lines come later.
    mutating func passed(_ head: LineHead, _ rule: inout ClaimRule) throws

    /// Returns `nil` if the job is no longer waiting.
    func waitingJob(_ head: LineHead) throws -> WaitingJob?

    /// Leases a job and removes it from its lines.
    mutating func handOut(_ job: WaitingJob, to claim: JobClaim, charging charged: JobMembers.Element) throws
        -> ClaimedJob
}

protocol ClaimableJob {
    var host: String { get }
    var isUnresolved: Bool { get }
    var members: JobMembers { get }
}

/// The waiting jobs of one host and one user, the two that limits apply to. Jobs whose URLs have to be resolved have separate lines.
struct Line: Hashable {
    var host: String
    var user = ""
    var isUnresolved = false
    /// The key of its row in SQLite.
    var id: Int64 = 0
}

/// A line, and the next job to claim from it.
struct LineHead: Comparable {
    var priority: Int
    var job: Int64
    var line: Line

    /// The job to claim first is the smallest.
    static func < (one: Self, other: Self) -> Bool {
        (other.priority, one.job) < (one.priority, other.job)
    }

    static func == (one: Self, other: Self) -> Bool {
        (one.priority, one.job) == (other.priority, other.job)
    }
}

// MARK: - Limits

/// How many jobs are running in total, from each host and for each user.
package struct RunningCounts: Sendable, Hashable {
    package private(set) var total = 0
    private var ofHost: [String: Int] = [:]
    private var ofUser: [String: Int] = [:]
    /// The number of jobs that may run from each unhealthy host.
    var hostLimits: [String: Int] = [:]

    package init() {}

    /// The counts of a store that keeps them. Counts of 0 are left out.
    package init(total: Int, ofHost: [String: Int], ofUser: [String: Int]) {
        (self.total, self.ofHost, self.ofUser) = (total, ofHost, ofUser)
    }

    mutating func add(host: String, user: String) {
        total += 1
        ofHost[host, default: 0] += 1
        if !user.isEmpty { ofUser[user, default: 0] += 1 }
    }

    mutating func remove(host: String, user: String) {
        total -= 1
        ofHost[host] = ofHost[host].flatMap { $0 > 1 ? $0 - 1 : nil }
        if !user.isEmpty { ofUser[user] = ofUser[user].flatMap { $0 > 1 ? $0 - 1 : nil } }
    }

    package func count(ofHost host: String) -> Int { ofHost[host] ?? 0 }

    /// The number of running jobs that are charged to a user; 0 for requests without a user, which aren't counted.
    package func count(ofUser user: String) -> Int { ofUser[user] ?? 0 }

    func room(host: String, user: String, under limits: DownloadCoordinator.Limits) -> Int {
        min(room(host: host, under: limits), room(user: user, under: limits))
    }

    func room(host: String, under limits: DownloadCoordinator.Limits) -> Int {
        let most = min(limits.perHost ?? .max, hostLimits.isEmpty ? .max : hostLimits[host] ?? .max)
        return min(limits.total - total, most == .max ? .max : most - ofHost[host, default: 0])
    }

    func room(user: String, under limits: DownloadCoordinator.Limits) -> Int {
        guard let most = limits.perUser, !user.isEmpty else { return .max }
        return most - ofUser[user, default: 0]
    }
}
