import HTTPTypes
import NativeMark
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import SluiceService

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The state of a queue, as `list` and `watch` show it and print it as JSON. It contains no secrets.
///
/// The names are the same as in `QueueSnapshot` and `QueuedDownload`, and in their JSON. A download's request isn't nested, so that a
/// script can use `.failed[].file`.
struct QueueReport: Sendable, Equatable, Encodable {
    struct Download: Sendable, Equatable, Encodable {
        var id: Int64
        var state: String
        var url: String
        /// The path of the file.
        var file: String
        var priority: Int
        var members: [QueuedDownload.Member]
        var failureCount: Int
        /// The number of bytes that a running download has received.
        var receivedBytes: Int64?
        /// The size of the file of a running download, if it is known.
        var totalBytes: Int64?
        /// The size of the file of a download that is done.
        var fileSize: Int64?
        var error: PageValues.Failure?
        /// The time of the next attempt.
        var notBefore: Date?
    }

    /// The number of downloads in each state. The keys are the names of the states.
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
            uniqueKeysWithValues: QueuedDownload.State.allCases.map { ($0.rawValue, snapshot.count(in: $0)) })
        running = snapshot.running.prefix(limit).map { running in
            var download = Download(running.download)
            download.receivedBytes = running.receivedBytes
            download.totalBytes = running.totalBytes
            return download
        }
        waiting = snapshot.waiting.prefix(limit).map { Download($0) }
        paused = snapshot.paused.prefix(limit).map { Download($0) }
        failed = snapshot.ended.lazy.filter { $0.state == .failed }.prefix(limit).map { Download($0) }
        ended = snapshot.ended.lazy.filter { $0.state != .failed }.prefix(limit).map { Download($0) }
    }

    func count(in state: QueuedDownload.State) -> Int { counts[state.rawValue] ?? 0 }

    /// "2 running, 250 waiting, 1 failed".
    var countsText: String {
        Format.counts(
            Dictionary(uniqueKeysWithValues: QueuedDownload.State.allCases.map { ($0, count(in: $0)) }))
    }
}

extension QueueReport.Download {
    init(_ download: QueuedDownload) {
        self.init(
            id: download.id.rawValue, state: download.state.rawValue, url: download.request.url.redactedForDisplay,
            file: download.request.target.path(percentEncoded: false), priority: download.request.priority,
            members: download.members,
            failureCount: download.failureCount, fileSize: download.fileSize,
            error: download.error.map { PageValues.Failure($0) }, notBefore: download.notBefore)
    }
}

extension QueueReport {
    /// The number of ended downloads that a queue keeps by default.
    private static let historyCount = 10_000

    /// Reads the queue. With `findingFailures`, lists failed downloads even if many others have ended since.
    static func read(_ downloads: DownloadCoordinator, limit: Int, findingFailures: Bool) async throws -> QueueReport {
        var snapshot = try await downloads.snapshot(listing: limit)
        let found = snapshot.ended.count { $0.state == .failed }
        if findingFailures, found < min(limit, snapshot.count(in: .failed)) {
            snapshot = try await downloads.snapshot(listing: historyCount)
        }
        return await QueueReport(snapshot, limit: limit).addingProgress(of: snapshot)
    }

    /// Adds the progress of downloads that other processes run, from their partial files.
    func addingProgress(of snapshot: QueueSnapshot) async -> QueueReport {
        var report = self
        // Relative targets are in the worker's directory, which may be the current directory.
        let directory = URL.currentDirectory()
        let requests = snapshot.running.prefix(running.count).map { $0.download.request.resolved(in: directory) }
        let names = requests.map { ($0.directory, $0.partialTarget.lastPathComponent) }
        let found = (try? await FileIO.shared.statuses(of: names, followsLinks: false)) ?? []
        for (index, status) in found.enumerated() where report.running[index].receivedBytes == 0 {
            guard case .success(let file?) = status, file.kind == .file else { continue }
            report.running[index].receivedBytes = file.size
            report.running[index].totalBytes = await Checkpoint.read(requests[index].checkpointTarget)?.total
        }
        return report
    }
}
