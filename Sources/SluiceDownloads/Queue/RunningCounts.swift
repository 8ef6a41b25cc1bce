/// How many jobs run, in all, from each host and for each user.
struct RunningCounts {
    private(set) var total = 0
    private var ofHost: [String: Int] = [:]
    private var ofUser: [String: Int] = [:]
    /// The number of jobs that may run from hosts that aren't well.
    var hostLimits: [String: Int] = [:]

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

    /// The number of running jobs that are charged to a user; 0 for requests without a user, which aren't counted.
    func count(ofUser user: String) -> Int { ofUser[user] ?? 0 }

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
