import ArgumentParser
import HTTPTypes
import NativeMark
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct QueueListCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Shows the downloads of a queue.",
        discussion: """
            The first line counts all downloads. Then come the downloads in each state: the running and the waiting ones, in the \
            order in which they start, the paused and the failed ones, and those that are done or cancelled, the latest first. \
            Each has its number, its file, the users and batches that it is for, and its progress or its error.

            EXAMPLES:
              Show the queue, at most 10 downloads in each state:
                sluice queue list --db songs.db --limit 10
              Print the files of all failed downloads, with their errors:
                sluice queue list --db songs.db --json | jq -r '.failed[] | [.file, .error.message] | @tsv'
              Count the waiting downloads:
                sluice queue list --db songs.db --json --limit 0 | jq .counts.waiting

            For downloads that other processes run, the progress comes from their partial files, if this machine has them.
            """)

    @OptionGroup
    var queue: QueueOption

    @Option(help: .init("The maximum number of downloads to list in each state, 0 to 1000000.", valueName: "n"))
    var limit = 20

    @Flag(help: "Print one JSON document, without secrets.")
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        guard (0...1_000_000).contains(limit) else {
            throw CommandFailure(
                .usage, "--limit \(limit): The number must be from 0 to 1000000. See 'sluice queue list --help'.")
        }
        let database = QueueDatabase(name: queue.db, command: "list")
        let report = try await database.withQueue { downloads in
            try await QueueReport.read(downloads, limit: limit, findingFailures: true)
        }
        if json {
            await console.write(try CommandJSON.line(report), to: .output)
        } else {
            let table = QueueTable(report: report, width: console.outputSize()?.columns)
            let sections = table.sections
            let lines = [report.countsText] + (sections.isEmpty ? [] : [""]) + sections
            await console.write(lines.map { $0 + "\n" }.joined(), to: .output)
        }
        return .success
    }
}

// MARK: - The state

/// The state of a queue, as `list` and `watch` show it and print it as JSON. It contains no secrets.
///
/// The names are the same as in `QueueSnapshot` and `QueuedDownload`, and in their JSON. A download's request isn't nested, so that a
/// script can use `.failed[].file`.
struct QueueReport: Sendable, Equatable, Encodable {
    struct Member: Sendable, Equatable, Encodable {
        var user: String?
        var batch: String?
        var priority: Int
        var isPaused: Bool
    }

    struct Failure: Sendable, Equatable, Encodable {
        var code: String
        var subject: String
        var message: String
        var remedy: String?
        var status: Int?
        /// The whole error as text, for the table.
        var text: String

        enum CodingKeys: String, CodingKey {
            case code, subject, message, remedy, status
        }
    }

    struct Download: Sendable, Equatable, Encodable {
        var id: Int64
        var state: String
        var url: String
        /// The path of the file.
        var file: String
        var priority: Int
        var members: [Member]
        var failureCount: Int
        /// The number of bytes that a running download has received.
        var receivedBytes: Int64?
        /// The size of the file of a running download, if it is known.
        var totalBytes: Int64?
        /// The size of the file of a download that is done.
        var fileSize: Int64?
        var error: Failure?
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
            members: download.members.map {
                QueueReport.Member(user: $0.user, batch: $0.batch, priority: $0.priority, isPaused: $0.isPaused)
            },
            failureCount: download.failureCount, fileSize: download.fileSize,
            error: download.error.map { QueueReport.Failure($0) }, notBefore: download.notBefore)
    }
}

extension QueueReport.Failure {
    /// An older version may have stored secrets, so each text is redacted.
    init(_ error: TransferError) {
        let redaction = Redaction()
        self.init(
            code: error.code.description, subject: redaction.redacted(error.subject),
            message: redaction.redacted(error.message), remedy: error.remedy.map { redaction.redacted($0) },
            status: error.status?.code, text: redaction.redacted(error.description))
    }
}

// MARK: Reading

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
            report.running[index].totalBytes = await Self.total(of: requests[index])
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

// MARK: - The lines

/// The lines of a ``QueueReport`` for a terminal or a text file. Text from URLs, names and servers is sanitized.
///
/// ```text
/// RUNNING
///    7  song-017.wav  ann (top 500), bob   71 %    1.4 MB
///
/// WAITING (1 of 250)
///    8  song-018.wav  bob                 priority 3
/// ```
struct QueueTable {
    var report: QueueReport
    /// The number of columns of the terminal; `nil` for a text file, whose lines aren't cut off.
    var width: Int?
    var now = Date.now

    /// The sections, each with a title, separated by empty lines.
    var sections: [String] {
        let sections: [(title: String, downloads: [QueueReport.Download], count: Int)] = [
            ("RUNNING", report.running, report.count(in: .running)),
            ("WAITING", report.waiting, report.count(in: .waiting)),
            ("PAUSED", report.paused, report.count(in: .paused)),
            ("FAILED", report.failed, report.count(in: .failed)),
            ("ENDED", report.ended, report.count(in: .done) + report.count(in: .cancelled)),
        ]
        let widths = widths
        var lines: [String] = []
        for (title, downloads, count) in sections where !downloads.isEmpty {
            if !lines.isEmpty { lines.append("") }
            let part = downloads.count < count ? "\(title) (\(downloads.count) of \(count))" : title
            lines.append(fitted(part))
            lines += downloads.map { line(for: $0, widths) }
        }
        return lines
    }

    private var all: [QueueReport.Download] {
        report.running + report.waiting + report.paused + report.failed + report.ended
    }

    private struct Widths {
        var id: Int
        var name: Int
        var members: Int
    }

    private func line(for download: QueueReport.Download, _ widths: Widths) -> String {
        let columns = [
            TerminalText.padded("\(download.id)", toWidth: widths.id, alignment: .trailing),
            cell(name(of: download), widths.name), cell(members(of: download), widths.members), note(about: download),
        ]
        var line = columns.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return fitted(line)
    }

    private func fitted(_ line: String) -> String {
        width.map { TerminalText.truncated(line, toWidth: $0) } ?? line
    }

    private func cell(_ text: String, _ width: Int) -> String {
        TerminalText.padded(TerminalText.truncated(text, toWidth: width, at: .middle), toWidth: width)
    }

    // MARK: The columns

    /// A narrow terminal has little room for names. In a text file, nothing is cut off.
    private var widths: Widths {
        Widths(
            id: max(4, "\(all.map(\.id).max() ?? 0)".utf8.count),
            name: widest(name, atMost: width.map { min(max($0 / 3, 12), 40) }),
            members: widest(members, atMost: width.map { max($0 / 4, 10) }))
    }

    private func widest(_ text: (QueueReport.Download) -> String, atMost limit: Int?) -> Int {
        let widest = all.reduce(0) { max($0, TerminalText.width(of: text($1))) }
        return min(widest, limit ?? .max)
    }

    private func name(of download: QueueReport.Download) -> String {
        TerminalText.sanitized(String(download.file.split(separator: "/").last ?? ""))
    }

    /// The users, each with its batch: "ann (top 500), bob".
    private func members(of download: QueueReport.Download) -> String {
        let texts = download.members.map { member in
            let pause = member.isPaused && download.state != "paused" ? "paused" : nil
            return [member.user, member.batch.map { "(\($0))" }, pause].compactMap { $0 }.joined(separator: " ")
        }
        return TerminalText.sanitized(texts.filter { !$0.isEmpty }.joined(separator: ", "))
    }

    private func note(about download: QueueReport.Download) -> String {
        var parts: [String] = []
        switch download.state {
        case "running":
            if let received = download.receivedBytes, received > 0 {
                if let total = download.totalBytes, total > 0 {
                    let percent = Int(min(1, Double(received) / Double(total)) * 100)
                    parts.append(TerminalText.padded("\(percent) %", toWidth: 5, alignment: .trailing))
                }
                parts.append(TerminalText.padded(Format.bytes(received), toWidth: 8, alignment: .trailing))
            }
        case "done": parts.append("done  \(download.fileSize.map { Format.bytes($0) } ?? "")")
        case "cancelled": parts.append("cancelled")
        default: break
        }
        if download.priority != 0 { parts.append("priority \(download.priority)") }
        if let time = download.notBefore, time > now {
            parts.append("again in \(Format.clock(seconds: time.timeIntervalSince(now).rounded(.up)))")
        }
        if download.state != "done", let error = download.error { parts.append(TerminalText.sanitized(error.text)) }
        return parts.joined(separator: "  ")
    }
}
