import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The state of a queue as `list` and `watch` show it, and their JSON. It contains no secrets.
struct QueueReport: Sendable, Equatable, Encodable {
    struct Member: Sendable, Equatable, Encodable {
        var user: String?
        var batch: String?
        var priority: Int
        var paused: Bool
    }

    struct Download: Sendable, Equatable, Encodable {
        var id: Int64
        var state: String
        var url: String
        /// The path of the file.
        var file: String
        var priority: Int
        var members: [Member]
        var failures: Int
        /// The number of bytes that a running download has.
        var received: Int64?
        /// The size of the file of a running download, if it is known.
        var total: Int64?
        /// The size of the file of a download that is done.
        var bytes: Int64?
        var error: String?
        /// The time of the next attempt.
        var notBefore: Date?
    }

    /// The number of downloads in each state, by the name of the state.
    var counts: [String: Int]
    var running: [Download]
    var waiting: [Download]
    var paused: [Download]
    var failed: [Download]
    /// The downloads that are done or cancelled, the latest first.
    var ended: [Download]

    /// - Parameters:
    ///   - snapshot: The state of the queue.
    ///   - limit: The maximum number of downloads in each list.
    init(_ snapshot: QueueSnapshot, limit: Int) {
        counts = Dictionary(
            uniqueKeysWithValues: QueuedDownload.State.allCases.map { ($0.rawValue, snapshot.count($0)) })
        running = snapshot.running.prefix(limit).map { running in
            var download = Download(running.download)
            download.received = running.received
            download.total = running.expected
            return download
        }
        waiting = snapshot.waiting.prefix(limit).map { Download($0) }
        paused = snapshot.paused.prefix(limit).map { Download($0) }
        failed = snapshot.ended.lazy.filter { $0.state == .failed }.prefix(limit).map { Download($0) }
        ended = snapshot.ended.lazy.filter { $0.state != .failed }.prefix(limit).map { Download($0) }
    }

    func count(_ state: QueuedDownload.State) -> Int { counts[state.rawValue] ?? 0 }

    var received: Int64 { running.reduce(0) { $0 + ($1.received ?? 0) } }
}

extension QueueReport.Download {
    init(_ download: QueuedDownload) {
        self.init(
            id: download.id.rawValue, state: download.state.rawValue, url: download.request.url.redactedForDisplay,
            file: download.request.target.path(percentEncoded: false), priority: download.request.priority,
            members: download.members.map {
                QueueReport.Member(user: $0.user, batch: $0.batch, priority: $0.priority, paused: $0.isPaused)
            },
            failures: download.failureCount, bytes: download.bytes,
            // An older version may have stored it.
            error: download.message.map { Redaction().redacted($0) },
            notBefore: download.notBefore)
    }
}

// MARK: Reading

extension QueueReport {
    /// The number of ended downloads that a queue keeps by default.
    private static let historyCount = 10_000

    /// Reads the queue. With `findingFailures`, failed downloads are also listed if many others have ended after them.
    static func read(_ downloads: DownloadCoordinator, limit: Int, findingFailures: Bool) async throws -> QueueReport {
        var snapshot = try await downloads.snapshot(listing: limit)
        let found = snapshot.ended.count { $0.state == .failed }
        if findingFailures, found < min(limit, snapshot.count(.failed)) {
            snapshot = try await downloads.snapshot(listing: historyCount)
        }
        return await QueueReport(snapshot, limit: limit).addingProgress(of: snapshot)
    }

    /// Adds the progress of downloads that other processes run, from their partial files.
    func addingProgress(of snapshot: QueueSnapshot) async -> QueueReport {
        var report = self
        // A worker has relative targets in its directory, which may be the current one.
        let directory = URL.currentDirectory()
        let requests = snapshot.running.prefix(running.count).map { $0.download.request.resolved(in: directory) }
        let names = requests.map { ($0.directory, $0.partialTarget.lastPathComponent) }
        let found = (try? await FileIO.shared.statuses(of: names, followingLinks: false)) ?? []
        for (index, status) in found.enumerated() where report.running[index].received == 0 {
            guard case .success(let file?) = status, file.kind == .file else { continue }
            report.running[index].received = file.size
            report.running[index].total = await Self.total(of: requests[index])
        }
        return report
    }

    /// The size of the whole file, from the checkpoint.
    private static func total(of request: DownloadRequest) async -> Int64? {
        struct Checkpoint: Decodable { var total: Int64? }
        guard let data = try? await Data(asyncContentsOf: request.checkpointTarget, maximumSize: 64 << 10) else {
            return nil
        }
        return (try? JSONDecoder().decode(Checkpoint.self, from: data))?.total
    }
}
