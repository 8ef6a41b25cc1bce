import HTTPTypes

/// The members of a job, in the order of their arrival, as a pure value. There is at least one.
struct JobMembers: Sendable, Hashable {
    struct Element: Sendable, Hashable {
        var member: QueuedDownload.Member
        /// The header fields of the member's request. Only an in-memory queue has them.
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

    /// The users of the active members, without duplicates.
    var activeUsers: [String] {
        if all.count == 1 { return all[0].member.isPaused ? [] : [all[0].user] }
        var users: [String] = []
        for element in all where !element.member.isPaused && !users.contains(element.user) {
            users.append(element.user)
        }
        return users
    }

    /// The batches of the active members, without duplicates and without the empty name.
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

    /// A member with the same user and batch gets the higher priority and is resumed.
    mutating func join(_ element: Element) {
        guard let index = all.firstIndex(where: { $0.user == element.user && $0.batch == element.batch }) else {
            return all.append(element)
        }
        all[index].member.priority = max(all[index].member.priority, element.member.priority)
        all[index].member.isPaused = false
        all[index].headerFields = element.headerFields ?? all[index].headerFields
    }

    /// The members that aren't selected.
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

    /// The user to charge a running job to, if it is currently charged to `charged`.
    func charge(_ charged: String, _ running: RunningCounts) -> String {
        let users = activeUsers
        if users.isEmpty || users.contains(charged) { return charged }
        return users.min { running.count(ofUser: $0) < running.count(ofUser: $1) }!
    }
}

extension QueuedDownload.Selection {
    /// Whether the selection includes this member of a selected job.
    func means(_ member: QueuedDownload.Member) -> Bool {
        switch self {
        case .user(let user, ids: _): (member.user ?? "") == user
        case .batch(let batch): (member.batch ?? "") == batch
        case .all, .state, .ids, .host: true
        }
    }

    /// The IDs that the selection names; `nil` if it selects by other properties alone.
    package var ids: [QueuedDownload.ID]? {
        switch self {
        case .ids(let ids): ids
        case .user(_, ids: let ids): ids
        case .all, .state, .batch, .host: nil
        }
    }
}
