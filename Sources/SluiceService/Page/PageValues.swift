import HTTPTypes
import SluiceDownloads
package import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The JSON documents of the API. The names are those of `sluice queue list --json` and of the library's types. They contain no secrets.
package enum PageValues {
    /// The document as JSON. Numbers that JSON lacks can't occur: sizes and counts are integers.
    static func json(_ value: some Encodable) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return (try? encoder.encode(value)) ?? Data("{}".utf8)
    }

    struct Problem: Encodable, Sendable {
        var status: Int
        var message: String
    }

    /// An error, which `sluice queue list` shows, too.
    package struct Failure: Encodable, Sendable, Equatable {
        package var code: String
        package var subject: String
        package var message: String
        package var remedy: String?
        package var status: Int?
        /// The whole error as text, which isn't encoded.
        package var text: String

        private enum CodingKeys: String, CodingKey {
            case code, subject, message, remedy, status
        }
    }

    struct Download: Encodable, Sendable {
        var id: Int64
        var state: String
        /// Whether it is running and being cancelled or paused.
        var isStopping: Bool
        var url: String
        /// The path of the file.
        var file: String
        var name: String
        var host: String
        /// The only machine whose workers can start it.
        var machine: String?
        var priority: Int
        var members: [QueuedDownload.Member]
        var failureCount: Int
        var receivedBytes: Int64?
        var totalBytes: Int64?
        var bytesPerSecond: Int64?
        var secondsLeft: Int64?
        var fileSize: Int64?
        var error: Failure?
        var notBefore: Date?
        var worker: String?
        var leaseEnd: Date?
        var ended: Date?
        var waitReason: WaitReason?
    }

    struct Page: Encodable, Sendable {
        var downloads: [Download]
        /// The value of `after` for the next page.
        var next: String?
    }

    struct Worker: Encodable, Sendable {
        var name: String
        var machine: String
        var process: Int64
        var began: Date
        var seen: Date
        var isResponding: Bool
        var runningCount: Int
        var leaseEnd: Date?
        var total: Int
        var perHost: Int?
        var perUser: Int?
        var resolves: Bool
        /// Why it ended, if it has failed.
        var failure: String?
    }

    struct Queue: Encodable, Sendable {
        var title: String
        var isReadOnly: Bool
        var counts: [String: Int]
        /// When the counts were read.
        var time: Date
        /// The last event.
        var cursor: Int64
        var hosts: [QueueSnapshot.Host]
        var workers: [Worker]
        /// What was done in each minute of the last hour.
        var minutes: [QueueMinute]
    }

    struct DownloadPage: Encodable, Sendable {
        var download: Download
        /// Its last events, latest first.
        var events: [QueueEvent]
    }

    struct Events: Encodable, Sendable {
        var events: [QueueEvent]
        /// The value of `after` for the following events.
        var next: Int64
    }

    // MARK: What clients send

    struct Addition: Decodable, Sendable {
        struct Request: Decodable, Sendable {
            var url: String
            /// A relative directory, below the one of the worker.
            var directory: String?
            var name: String?
            var user: String?
            var priority: Int?
            var checksum: String?
        }

        var downloads: [Request]
        var batch: String?
    }

    struct Added: Encodable, Sendable {
        struct Download: Encodable, Sendable {
            var id: Int64
            /// `added`, `joined`, `kept` or `conflict`.
            var admission: String
        }

        var downloads: [Download]
    }

    struct Change: Decodable, Sendable {
        enum Action: String, Decodable, Sendable, CaseIterable {
            case pause, resume, cancel, retry, remove, prioritize
        }

        var action: Action
        /// The downloads; or a filter.
        var ids: [Int64]?
        var filter: DownloadFilter?
        var priority: Int?
        /// Whether to tell only how many downloads would be changed.
        var isPreview: Bool?
    }

    struct Changed: Encodable, Sendable {
        var changedCount: Int
        /// Downloads that run until their workers have stopped them.
        var stoppingCount: Int
        var isPreview: Bool
    }
}

extension PageValues.Download {
    init(_ listed: ListedDownload, outlook: QueueOutlook, rate: Double? = nil) {
        let download = listed.download
        let isRunning = download.state == .running
        self.init(
            id: download.id.rawValue, state: download.state.rawValue, isStopping: download.isStopping,
            url: download.request.url.redactedForDisplay,
            file: download.request.target.path(percentEncoded: false), name: download.request.name, host: listed.host,
            machine: listed.machine, priority: download.request.priority,
            members: download.members,
            failureCount: download.failureCount, receivedBytes: isRunning ? listed.receivedBytes : nil,
            totalBytes: isRunning ? listed.totalBytes : nil, fileSize: download.fileSize,
            error: download.error.map { PageValues.Failure($0) }, notBefore: download.notBefore,
            worker: listed.worker, leaseEnd: listed.leaseEnd, ended: download.state.isFinal ? listed.ended : nil,
            waitReason: outlook.reason(for: listed).map(\.redacted))
        guard isRunning, let rate, rate > 0 else { return }
        bytesPerSecond = Int64(min(rate, 1e15))
        if let receivedBytes, let totalBytes, totalBytes > receivedBytes {
            secondsLeft = Int64(min(Double(totalBytes - receivedBytes) / rate, 1e12))
        }
    }
}

extension PageValues.Failure {
    /// An older version may have stored secrets, so each text is redacted.
    package init(_ error: TransferError) {
        let redaction = Redaction()
        self.init(
            code: error.code.description, subject: redaction.redacted(error.subject),
            message: redaction.redacted(error.message), remedy: error.remedy.map { redaction.redacted($0) },
            status: error.status?.code, text: redaction.redacted(error.description))
    }
}

extension WaitReason {
    fileprivate var redacted: WaitReason {
        let redaction = Redaction()
        return WaitReason(
            code, redaction.redacted(message), remedy: remedy.map { redaction.redacted($0) }, until: until)
    }
}

extension QueueEvent {
    /// An older version may have stored secrets.
    var redacted: QueueEvent {
        var event = self
        event.message = message.map { Redaction().redacted($0) }
        return event
    }
}

extension PageValues.Queue {
    init(
        _ inspection: DownloadCoordinator.Inspection, _ minutes: [QueueMinute],
        _ configuration: QueuePage.Configuration, responds: (SeenWorker) -> Bool
    ) {
        let snapshot = inspection.snapshot
        self.init(
            title: configuration.title, isReadOnly: configuration.isReadOnly,
            counts: Dictionary(
                uniqueKeysWithValues: QueuedDownload.State.allCases.map { ($0.rawValue, snapshot.count(in: $0)) }),
            time: inspection.outlook.now, cursor: snapshot.cursor.rawValue, hosts: snapshot.hosts,
            workers: inspection.workers.map { worker in
                let presence = worker.presence
                return PageValues.Worker(
                    name: worker.name, machine: presence.machine, process: presence.process, began: presence.began,
                    seen: worker.seen, isResponding: responds(worker), runningCount: worker.runningCount,
                    leaseEnd: worker.leaseEnd, total: presence.limits.total, perHost: presence.limits.perHost,
                    perUser: presence.limits.perUser, resolves: presence.resolves,
                    failure: presence.failure.map { Redaction().redacted($0) })
            }, minutes: minutes)
    }
}
