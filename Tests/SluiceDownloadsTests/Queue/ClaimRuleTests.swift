import Foundation
import TestSupport
import Testing

@testable import SluiceDownloads

/// The time of the claims.
private let now: Int64 = 1_000

@Suite struct `The claim rule` {
    struct Waiting: ClaimableJob, Sendable {
        var name: String
        var priority: Int
        var host: String
        var isUnresolved: Bool
        var members: JobMembers

        /// The members are users, or `user/batch`; a member with an exclamation mark is paused.
        init(
            _ name: String, _ members: String..., host: String = "h", priority: Int = 0, isUnresolved: Bool = false
        ) {
            (self.name, self.priority, self.host, self.isUnresolved) = (name, priority, host, isUnresolved)
            self.members = JobMembers(
                (members.isEmpty ? [""] : members).map { text in
                    let parts = text.trimmingCharacters(in: ["!"]).split(separator: "/").map(String.init)
                    return JobMembers.Element(
                        QueuedDownload.Member(
                            user: parts.first, batch: parts.dropFirst().first, priority: priority,
                            isPaused: text.hasSuffix("!")))
                })
        }
    }

    /// The simplest store: an array.
    struct WaitingList: ClaimSource {
        var jobs: [Waiting?]
        var health: [String: HostHealth] = [:]
        private var taken: Set<Line> = []

        init(_ jobs: [Waiting], _ health: [String: HostHealth]) {
            self.jobs = jobs
            self.health = health
        }

        private var heads: [LineHead] {
            jobs.enumerated().flatMap { number, job in
                guard let job else { return [LineHead]() }
                return job.members.activeUsers.map { user in
                    LineHead(
                        priority: job.priority, job: Int64(number),
                        line: Line(host: job.host, user: user, isUnresolved: job.isUnresolved))
                }
            }
        }

        mutating func nextLine(before head: LineHead?) -> LineHead? {
            guard let first = heads.filter({ !taken.contains($0.line) }).min(), head.map({ first < $0 }) ?? true
            else { return nil }
            taken.insert(first.line)
            return first
        }

        func next(after head: LineHead, in batch: String?) -> LineHead? {
            heads.filter { other in
                other.line == head.line && batch.map { jobs[Int(other.job)]!.members.hasActive(in: $0) } ?? true
            }.min()
        }

        func learnLimit(of host: String, _ running: inout RunningCounts) {
            guard running.hostLimits[host] == nil else { return }
            running.hostLimits[host] = health[host]?.limit(now: now) ?? .max
        }

        func passed(_ head: LineHead, _ rule: inout ClaimRule) {}

        func waitingJob(_ head: LineHead) -> Waiting? { jobs[Int(head.job)] }

        mutating func handOut(_ job: Waiting, to claim: JobClaim, charging charged: JobMembers.Element) -> ClaimedJob {
            let number = jobs.firstIndex { $0?.name == job.name }!
            jobs[number] = nil
            let request = DownloadRequest.named(job.name, user: charged.member.user)
            return ClaimedJob(
                lease: JobLease(job: JobID(rawValue: Int64(number)), token: 1), request: request, failures: 0,
                mayBePublished: false)
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var waiting: [Waiting]
        /// The hosts and users of the running jobs.
        var running: [(host: String, user: String)] = []
        var health: [String: HostHealth] = [:]
        var count = 9
        var limits = DownloadCoordinator.Limits.none
        var batch: String?
        var resolves = false
        var avoiding: Set<String> = []
        /// The claimed jobs, each with the user that it is charged to.
        var claimed: [String]
    }

    static let rows: [Row] = [
        Row(testDescription: "nothing waits", waiting: [], claimed: []),
        Row(
            testDescription: "jobs of several lines come by priority, then by number",
            waiting: [
                Waiting("a", "ann"), Waiting("b", "ben", priority: 2), Waiting("c", host: "x", priority: -1),
                Waiting("d", "ann", priority: 2), Waiting("e", host: "x", priority: .max), Waiting("f", priority: .min),
            ], claimed: ["e", "b ben", "d ann", "a ann", "c", "f"]),
        Row(
            testDescription: "a claim gets no more jobs than it wants", waiting: [Waiting("a"), Waiting("b")], count: 1,
            claimed: ["a"]),
        Row(testDescription: "a claim of no jobs gets none", waiting: [Waiting("a")], count: 0, claimed: []),
        Row(
            testDescription: "the total counts the jobs that run",
            waiting: [Waiting("a", host: "x"), Waiting("b", host: "y"), Waiting("c", host: "z")],
            running: [("h", ""), ("i", "ann")], limits: .init(total: 4, perHost: nil), claimed: ["a", "b"]),
        Row(
            testDescription: "a full host is passed over",
            waiting: [Waiting("a"), Waiting("b"), Waiting("c", host: "x"), Waiting("d", host: "x")],
            running: [("h", "")], limits: .init(total: 9, perHost: 2), claimed: ["a", "c", "d"]),
        Row(
            testDescription: "a full user is passed over on every host, and requests without a user aren't counted",
            waiting: [
                Waiting("a", "ann"), Waiting("b", "ann", host: "x"), Waiting("c", "ben"), Waiting("d"), Waiting("e"),
            ], limits: .init(total: 9, perHost: nil, perUser: 1), claimed: ["a ann", "c ben", "d", "e"]),
        Row(
            testDescription: "a job is charged to its earliest active member whose user has room",
            waiting: [Waiting("a", "ann", "ben", "cleo"), Waiting("b", "dan!", "eva", "ben")],
            running: [("x", "ann")], limits: .init(total: 9, perHost: nil, perUser: 1), claimed: ["a ben", "b eva"]),
        Row(
            testDescription: "a job in the lines of several members is claimed once",
            waiting: [Waiting("a", "ann", "ben"), Waiting("b", "ben"), Waiting("c", "ann")],
            claimed: ["a ann", "b ben", "c ann"]),
        Row(
            testDescription: "a batch gets its jobs behind others, charged to any member",
            waiting: [
                Waiting("a", "ann"), Waiting("b", "ann", "ben/list"), Waiting("c", "ann/other"),
                Waiting("d", "ann/list!", "ben"), Waiting("e", "ann/list", host: "x"), Waiting("f", "ann/list"),
            ], batch: "list", claimed: ["b ann", "e ann", "f ann"]),
        Row(
            testDescription: "without a resolver, jobs that must be resolved are passed over",
            waiting: [Waiting("a", isUnresolved: true), Waiting("b")], claimed: ["b"]),
        Row(
            testDescription: "a resolver gets both",
            waiting: [Waiting("a", isUnresolved: true), Waiting("b")], resolves: true, claimed: ["a", "b"]),
        Row(
            testDescription: "avoided hosts are passed over",
            waiting: [Waiting("a", host: "dead"), Waiting("b"), Waiting("c", host: "gone")],
            avoiding: ["dead", "gone"], claimed: ["b"]),
        Row(
            testDescription: "a host with a delay is passed over until its end",
            waiting: [Waiting("a", host: "busy"), Waiting("b", host: "over")],
            health: ["busy": HostHealth(until: now + 1), "over": HostHealth(until: now)], claimed: ["b"]),
        Row(
            testDescription: "an open circuit lets one job through after its pause",
            waiting: [Waiting("a", host: "down"), Waiting("b", host: "down"), Waiting("c")],
            health: ["down": HostHealth(until: now, failures: 3, isOpen: true)], claimed: ["a", "c"]),
        Row(
            testDescription: "an open circuit lets no second job through",
            waiting: [Waiting("a", host: "down")], running: [("down", "")],
            health: ["down": HostHealth(until: now, failures: 3, isOpen: true)], claimed: []),
    ]

    @Test(arguments: rows) func `hands out the jobs with room, in order`(_ row: Row) throws {
        var running = RunningCounts()
        for job in row.running { running.add(host: job.host, user: job.user) }
        let claim = JobClaim(
            worker: QueueWorker(name: "w"), count: row.count, limits: row.limits, lease: .seconds(60), batch: row.batch,
            resolves: row.resolves, avoiding: row.avoiding)
        var rule = ClaimRule(claim, running)
        var list = WaitingList(row.waiting, row.health)
        let claimed = try rule.handOut(from: &list)
        #expect(
            claimed.map { [$0.request.name, $0.request.user].compactMap(\.self).joined(separator: " ") } == row.claimed)
        #expect(rule.running.total == row.running.count + claimed.count)
    }
}
