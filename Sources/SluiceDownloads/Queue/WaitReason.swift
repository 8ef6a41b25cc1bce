import SluiceHTTP

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Why a download is waiting, and what to do about it.
package struct WaitReason: Sendable, Hashable, Codable {
    /// A kind of reason. Later versions may add kinds, so a `switch` needs a `default`.
    package struct Code: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible {
        /// The name of the kind.
        package var rawValue: String

        /// Creates a code from its name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the kind.
        package var description: String { rawValue }

        /// All members of the download are paused.
        package static let paused = Code(rawValue: "paused")
        /// The download waits for a delay, usually after a failed attempt.
        package static let delay = Code(rawValue: "delay")
        /// No worker is running, or none responds.
        package static let noWorker = Code(rawValue: "noWorker")
        /// The download has an identifier instead of a URL, and no worker can resolve it.
        package static let noResolver = Code(rawValue: "noResolver")
        /// The file belongs to a machine that has no worker.
        package static let otherMachine = Code(rawValue: "otherMachine")
        /// The host asked for a delay.
        package static let hostBackoff = Code(rawValue: "hostBackoff")
        /// Connections to the host failed, so downloads are tried one at a time, and not before a time.
        package static let circuitBreaker = Code(rawValue: "circuitBreaker")
        /// As many downloads run as the workers allow in total.
        package static let totalLimit = Code(rawValue: "totalLimit")
        /// As many downloads run from the host as the workers allow.
        package static let hostLimit = Code(rawValue: "hostLimit")
        /// As many downloads run for the user as the workers allow.
        package static let userLimit = Code(rawValue: "userLimit")
        /// Nothing holds the download back: a worker starts it after the downloads ahead of it.
        package static let turn = Code(rawValue: "turn")
    }

    /// The kind.
    package var code: Code
    /// The reason in one sentence.
    package var message: String
    /// What to do, in one sentence, if there is something to do.
    package var remedy: String?
    /// The time before which the download doesn't start, if it is known.
    package var until: Date?

    /// Creates a reason, for previews and tests.
    package init(_ code: Code, _ message: String, remedy: String? = nil, until: Date? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.until = until
    }
}

// MARK: - Finding the reason

/// What the reasons of a queue's waiting downloads depend on, at one moment. It uses the same rules as a claim (``ClaimRule``).
package struct QueueOutlook: Sendable {
    package var now: Date
    package var running: RunningCounts
    package var hosts: [String: QueueSnapshot.Host]
    package var workers: [SeenWorker]

    /// - Parameter workers: Workers that don't respond don't count.
    package init(now: Date, running: RunningCounts, hosts: [QueueSnapshot.Host], workers: [SeenWorker]) {
        self.now = now
        self.running = running
        self.hosts = Dictionary(hosts.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.workers = workers
    }

    /// Returns why a download doesn't run, or `nil` if it is running or has ended.
    package func reason(for job: ListedDownload) -> WaitReason? {
        let download = job.download
        switch download.state {
        case .running, .done, .failed, .cancelled: return nil
        case .paused:
            return WaitReason(
                .paused, download.members.count > 1 ? "All of its users have paused it." : "It is paused.",
                remedy: "Resume it.")
        case .waiting: break
        }
        return delay(of: download) ?? workers(for: job) ?? health(of: job.host) ?? limit(of: job)
            ?? WaitReason(.turn, "It is in line: a worker starts it after the downloads ahead of it.")
    }

    private func delay(of download: QueuedDownload) -> WaitReason? {
        guard let time = download.notBefore, time > now else { return nil }
        let cause = download.error.map { " Its last attempt failed: \($0.message)" } ?? ""
        return WaitReason(
            .delay, "It is tried again after a delay.\(cause)", remedy: download.error?.remedy, until: time)
    }

    private func workers(for job: ListedDownload) -> WaitReason? {
        let start = "Start one with 'sluice queue work'."
        if workers.isEmpty { return WaitReason(.noWorker, "No worker of this queue is running.", remedy: start) }
        if let machine = job.machine, !workers.contains(where: { $0.presence.machine == machine }) {
            return WaitReason(
                .otherMachine, "Only workers on \(machine) can write its file, and none is running there.",
                remedy: "Start a worker on \(machine).")
        }
        if job.isUnresolved, able(job).isEmpty {
            return WaitReason(
                .noResolver, "It has an identifier instead of a URL, and no running worker can resolve it.",
                remedy: "Start a worker with a resolver.")
        }
        return nil
    }

    /// The workers that could start it.
    private func able(_ job: ListedDownload) -> [SeenWorker] {
        workers.filter { worker in
            job.machine.map { worker.presence.machine == $0 } ?? true && (!job.isUnresolved || worker.presence.resolves)
        }
    }

    private func health(of name: String) -> WaitReason? {
        guard let host = hosts[name] else { return nil }
        if host.isUnreachable {
            let isNow = host.notBefore <= now
            return WaitReason(
                .circuitBreaker,
                isNow
                    ? "Connections to \(name) failed, so its downloads are tried one at a time."
                    : "Connections to \(name) failed, so its downloads wait.",
                remedy: "Check whether the server runs, and whether this network reaches it.",
                until: isNow ? nil : host.notBefore)
        }
        guard host.notBefore > now else { return nil }
        return WaitReason(
            .hostBackoff, "\(name) asked for a delay, which servers do when they get too many requests.",
            remedy: "Lower the limit per host if this happens often.", until: host.notBefore)
    }

    /// The limit that stops every worker, if there is one. Different workers may have different limits.
    private func limit(of job: ListedDownload) -> WaitReason? {
        let limits = able(job).map(\.presence.limits)
        if limits.allSatisfy({ running.total >= $0.total }), let most = limits.map(\.total).max() {
            return WaitReason(
                .totalLimit, "\(running.total) of at most \(most) downloads are running.",
                remedy: "Wait, or start the workers with a higher --jobs.")
        }
        let ofHost = running.count(ofHost: job.host)
        if let most = Self.most(limits.map(\.perHost)), ofHost >= most {
            return WaitReason(
                .hostLimit, "\(ofHost) of at most \(most) downloads from \(job.host) are running.",
                remedy: "Wait, or start the workers with a higher --per-host.")
        }
        let users = Set(job.download.members.lazy.filter { !$0.isPaused }.map { $0.user ?? "" })
        if let most = Self.most(limits.map(\.perUser)),
            users.allSatisfy({ !$0.isEmpty && running.count(ofUser: $0) >= most }), let user = users.min()
        {
            let name = users.count == 1 ? user : "each of its users"
            return WaitReason(
                .userLimit, "\(running.count(ofUser: user)) of at most \(most) downloads for \(name) are running.",
                remedy: "Wait, or start the workers with a higher --per-user.")
        }
        return nil
    }

    /// The largest of some limits; `nil` if one worker has none.
    private static func most(_ limits: [Int?]) -> Int? {
        limits.contains(nil) ? nil : limits.compactMap(\.self).max()
    }
}
