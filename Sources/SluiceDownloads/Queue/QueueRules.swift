import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - Members

/// The members of a job, in the order of their arrival: a pure value. There is at least one.
struct JobMembers: Sendable, Hashable {
    struct Element: Sendable, Hashable {
        var member: QueuedDownload.Member
        /// The header fields of the member's request. Only a queue in memory has them.
        var headerFields: HTTPFields?

        init(_ member: QueuedDownload.Member) { self.member = member }

        init(_ request: DownloadRequest, batch: String?) {
            member = QueuedDownload.Member(user: request.user, batch: batch, priority: request.priority)
            if !request.headerFields.isEmpty { headerFields = request.headerFields }
        }

        /// The name that lines and limits use; empty if there is no user.
        var user: String { member.user ?? "" }
        var batch: String { member.batch ?? "" }
    }

    private(set) var all: [Element]

    init(_ all: [Element]) { self.all = all }

    var members: [QueuedDownload.Member] { all.map(\.member) }

    var priority: Int { all.reduce(.min) { max($0, $1.member.priority) } }

    var arePaused: Bool { all.allSatisfy(\.member.isPaused) }

    /// The users of the active members, each once.
    var activeUsers: [String] {
        if all.count == 1 { return all[0].member.isPaused ? [] : [all[0].user] }
        var users: [String] = []
        for element in all where !element.member.isPaused && !users.contains(element.user) {
            users.append(element.user)
        }
        return users
    }

    /// The batches of the active members, each once, without the empty name.
    var activeBatches: [String] {
        var batches: [String] = []
        for element in all where !element.member.isPaused && !element.batch.isEmpty && !batches.contains(element.batch)
        {
            batches.append(element.batch)
        }
        return batches
    }

    func hasActive(in batch: String) -> Bool { all.contains { !$0.member.isPaused && $0.batch == batch } }

    func contains(_ selection: QueuedDownload.Selection) -> Bool { all.contains { selection.means($0.member) } }

    // MARK: Changing

    /// A member of the same user and batch gets the higher priority and is resumed.
    mutating func join(_ element: Element) {
        guard let index = all.firstIndex(where: { $0.user == element.user && $0.batch == element.batch }) else {
            return all.append(element)
        }
        all[index].member.priority = max(all[index].member.priority, element.member.priority)
        all[index].member.isPaused = false
        all[index].headerFields = element.headerFields ?? all[index].headerFields
    }

    /// The members that the selection doesn't mean.
    func without(_ selection: QueuedDownload.Selection) -> [Element] { all.filter { !selection.means($0.member) } }

    mutating func setPaused(_ isPaused: Bool, _ selection: QueuedDownload.Selection) {
        for index in all.indices where selection.means(all[index].member) { all[index].member.isPaused = isPaused }
    }

    mutating func prioritize(_ selection: QueuedDownload.Selection, _ priority: Int) {
        for index in all.indices where selection.means(all[index].member) { all[index].member.priority = priority }
    }

    // MARK: Charging

    /// The earliest active member whose user has room.
    func withRoom(host: String, _ running: RunningCounts, _ limits: DownloadCoordinator.Limits) -> Element? {
        all.first { !$0.member.isPaused && running.room(host: host, user: $0.user, under: limits) > 0 }
    }

    /// The user to charge a running job to that is charged to `charged`.
    func charge(_ charged: String, _ running: RunningCounts) -> String {
        let users = activeUsers
        if users.isEmpty || users.contains(charged) { return charged }
        return users.min { running.count(ofUser: $0) < running.count(ofUser: $1) }!
    }
}

extension QueuedDownload.Selection {
    /// Whether a member of a selected job is meant.
    func means(_ member: QueuedDownload.Member) -> Bool {
        switch self {
        case .user(let user): (member.user ?? "") == user
        case .batch(let batch): (member.batch ?? "") == batch
        case .all, .state, .ids, .host: true
        }
    }
}

// MARK: - Hosts

/// What an attempt found out about its host.
package enum HostReport: Sendable, Hashable {
    /// The host answered.
    case reached
    /// The host asked for no further requests during this time.
    case busy(for: Duration)
    /// The host couldn't be connected to. After `limit` such attempts in succession, its circuit opens for `pause`.
    case unreachable(limit: Int, pause: Duration)
}

/// What is known about a host that isn't known to be well: a pure value. Times are in milliseconds.
package struct HostHealth: Sendable, Hashable {
    /// No job of the host is claimed until then.
    var until: Int64
    /// The number of connections that failed in succession.
    var failures = 0
    /// Whether the circuit is open. After ``until``, one job at a time is claimed, until one reaches the host.
    var isOpen = false

    /// Returns what is known after a report, or `nil` if the host is well.
    static func after(_ report: HostReport, _ health: HostHealth?, now: Int64) -> HostHealth? {
        var health = health ?? HostHealth(until: now)
        switch report {
        case .reached: (health.failures, health.isOpen) = (0, false)
        case .busy(let time):
            (health.failures, health.isOpen) = (0, false)
            health.until = max(health.until, now + time.milliseconds)
        case .unreachable(let limit, let pause):
            // Another program may have written any number.
            if health.failures < .max { health.failures += 1 }
            if health.failures >= limit {
                health.isOpen = true
                health.until = max(health.until, now + pause.milliseconds)
            }
        }
        return health.isWell(now: now) ? nil : health
    }

    func isWell(now: Int64) -> Bool { until <= now && failures == 0 && !isOpen }

    /// The number of jobs that may run, or `nil` if there is no limit.
    func limit(now: Int64) -> Int? { until > now ? 0 : isOpen ? 1 : nil }

    /// The time from which the entry of a host without reports is removed.
    package static let memory: Int64 = 86_400_000
}

// MARK: - Time

/// The clock of a queue, in milliseconds since 1970. Other processes use the stored times, so a shared queue needs the time of day.
package struct QueueTime: Sendable {
    package let now: @Sendable () -> Int64

    package init(_ now: @escaping @Sendable () -> Int64) { self.now = now }

    /// The time of day, which can be set at any moment.
    static let system = QueueTime { Int64(Date().timeIntervalSince1970 * 1000) }

    /// A clock for a queue that only this process uses: it begins with the time of day, and isn't set with it.
    static func steady(from start: Int64 = system.now(), _ clock: some Clock<Duration> = .continuous) -> QueueTime {
        let began = clock.now
        return QueueTime { start + began.duration(to: clock.now).milliseconds }
    }
}

extension Duration {
    /// Rounded up, so that a delay is never shortened.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let most = Int64.max / 4000
        return min(max(seconds, -most), most) * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

extension Date {
    package init(queueTime milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
