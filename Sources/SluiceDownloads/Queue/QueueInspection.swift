import SluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// For pages and tools that show a queue: filtered lists, workers, and what was done.

/// Which downloads to list: those that meet all conditions.
///
///     let failed = DownloadFilter(state: .failed, host: "example.com")
package struct DownloadFilter: Sendable, Hashable, Codable {
    /// The state.
    package var state: QueuedDownload.State?
    /// A user who requested the download.
    package var user: String?
    /// A batch that the download belongs to.
    package var batch: String?
    /// The host, spelled like ``DownloadRequest/host``.
    package var host: String?
    /// A part of the file's name. Letters from A to Z match in either case.
    package var name: String?

    /// Creates a filter. By default, it lets all downloads through.
    package init(
        state: QueuedDownload.State? = nil, user: String? = nil, batch: String? = nil, host: String? = nil,
        name: String? = nil
    ) {
        self.state = state
        self.user = user
        self.batch = batch
        self.host = host
        self.name = name
    }

    /// Whether the filter has no condition besides the state.
    package var isOnlyState: Bool { user == nil && batch == nil && host == nil && name == nil }

    func matches(_ job: ListedDownload) -> Bool {
        if let state, job.download.state != state { return false }
        if let host, job.host != host { return false }
        if let user, !job.download.members.contains(where: { $0.user == user }) { return false }
        if let batch, !job.download.members.contains(where: { $0.batch == batch }) { return false }
        guard let name else { return true }
        return job.download.request.name.asciiLowercased.utf8.contains(name.asciiLowercased.utf8)
    }
}

extension String {
    /// As SQLite and PostgreSQL (with the collation `C`) do it, so that all stores find the same names.
    package var asciiLowercased: String {
        String(decoding: utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
    }
}

/// A download in a list, with what its queue knows about it.
package struct ListedDownload: Sendable, Hashable {
    package var download: QueuedDownload
    /// The host that the limits count it for. If the download has moved, it isn't the request's host.
    package var host: String
    /// Whether only workers with a resolver can start it.
    package var isUnresolved = false
    /// The only machine whose workers can start it.
    package var machine: String?
    /// The worker that runs it, and the end of its lease.
    package var worker: String?
    package var leaseEnd: Date?
    /// What the worker last reported.
    package var receivedBytes: Int64?
    package var totalBytes: Int64?
    package var ended: Date?
    /// The first part of its place in the list.
    package var key: Int64 = 0

    package init(_ download: QueuedDownload, host: String) {
        self.download = download
        self.host = host
    }

    /// The place in the list, from which the next page continues.
    package var position: ListPosition { ListPosition(key: key, id: download.id.rawValue) }
}

/// A place in a list of downloads. It stays valid if the download leaves the list.
///
/// Waiting and paused downloads come in the order in which they start, running ones by number, and ended ones latest first. A list of all
/// states has the latest number first.
package struct ListPosition: Sendable, Hashable {
    package var key: Int64
    package var id: Int64

    package init(key: Int64, id: Int64) {
        self.key = key
        self.id = id
    }
}

/// What a worker says about itself.
package struct WorkerPresence: Sendable, Hashable {
    package var machine: String
    package var process: Int64
    package var began: Date
    package var limits: DownloadCoordinator.Limits
    /// Whether it can resolve requests that have an identifier instead of a URL.
    package var resolves: Bool
    /// The description of the error that ended the worker, such as a full disk; `nil` for a worker that runs.
    package var failure: String?

    package init(
        machine: String, process: Int64, began: Date, limits: DownloadCoordinator.Limits, resolves: Bool,
        failure: String? = nil
    ) {
        self.machine = machine
        self.process = process
        self.began = began
        self.limits = limits
        self.resolves = resolves
        self.failure = failure
    }

    /// Reads what a store has kept. A limit that another program has written may be less than 1, the smallest valid one.
    package init(
        machine: String, process: Int64, began: Int64, total: Int, perHost: Int?, perUser: Int?, resolves: Bool,
        failure: String?
    ) {
        self.init(
            machine: machine, process: process, began: Date(queueTime: began),
            limits: DownloadCoordinator.Limits(
                total: max(1, total), perHost: perHost.map { max(1, $0) }, perUser: perUser.map { max(1, $0) }),
            resolves: resolves, failure: failure)
    }

    /// How often a worker reports while it has running jobs. An idle one does it every 30 seconds.
    static let reportInterval = Duration.seconds(5)
    /// A worker that hasn't reported for so long isn't responding.
    static let patience: TimeInterval = 75
}

/// How far a worker is with a job.
package struct ReportedProgress: Sendable, Hashable {
    package var job: JobID
    package var receivedBytes: Int64
    package var totalBytes: Int64?

    package init(job: JobID, receivedBytes: Int64, totalBytes: Int64? = nil) {
        self.job = job
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }
}

/// A worker, as others see it.
package struct SeenWorker: Sendable, Hashable {
    package var name: String
    package var presence: WorkerPresence
    /// When it last reported.
    package var seen: Date
    package var runningCount: Int
    /// The end of the lease of its jobs, if it has some.
    package var leaseEnd: Date?

    package init(
        name: String, presence: WorkerPresence, seen: Date, runningCount: Int = 0, leaseEnd: Date? = nil
    ) {
        self.name = name
        self.presence = presence
        self.seen = seen
        self.runningCount = runningCount
        self.leaseEnd = leaseEnd
    }
}

/// What a queue has done in a minute.
package struct QueueMinute: Sendable, Hashable, Codable {
    /// The beginning.
    package var time: Date
    package var doneCount: Int
    package var failedCount: Int
    package var doneBytes: Int64

    package init(time: Date, doneCount: Int = 0, failedCount: Int = 0, doneBytes: Int64 = 0) {
        self.time = time
        self.doneCount = doneCount
        self.failedCount = failedCount
        self.doneBytes = doneBytes
    }
}
