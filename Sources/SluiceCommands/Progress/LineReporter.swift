import NativeMark
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

protocol LineFormatter: Sendable {
    /// Returns the lines for an event; `nil` if there are none.
    func lines(for event: DownloadEvent, of index: Int) -> String?
    func lines(for summary: ProgressSummary, after duration: Duration) -> String?
    func line(for message: String) -> String?
    /// Returns the line that says that `count` lines were dropped because the reader was too slow; `nil` for no line.
    func line(forDropped count: Int) -> String?
    var stream: Console.Stream { get }
}

/// Writes progress as lines, for logs, pipes and programs.
///
/// A slow or stopped reader doesn't slow the downloads. The number of lines that wait for it is bounded: see ``LineBacklog``.
final class LineReporter<Formatter: LineFormatter>: ProgressReporter {
    private let console: Console
    private let formatter: Formatter
    private let writer = LineWriter()
    private let start = ContinuousClock.now

    init(console: Console, formatter: Formatter) {
        self.console = console
        self.formatter = formatter
    }

    func report(_ index: Int, _ event: DownloadEvent) {
        guard let lines = formatter.lines(for: event, of: index) else { return }
        writer.add(lines, event.isResult ? .result : .news)
    }

    func announce(_ message: String) {
        if let line = formatter.line(for: message) { writer.add(line, .result) }
    }

    func run() async {
        await writer.run(dropped: formatter.line(forDropped:)) { await console.write($0, to: formatter.stream) }
    }

    func finish(with summary: ProgressSummary?) {
        if let summary, let lines = formatter.lines(for: summary, after: .now - start) { writer.add(lines, .result) }
        writer.finish()
    }
}

extension DownloadEvent {
    fileprivate var isResult: Bool {
        switch self {
        case .finished, .paused, .released: true
        case .started, .responded, .received, .retrying, .failedOver, .mirrorRejected, .named: false
        }
    }
}

extension ContinuousClock.Instant {
    static func - (now: Self, start: Self) -> Duration { start.duration(to: now) }
}

// MARK: - The lines

/// The lines of `--progress none`: errors only.
struct ErrorLines: LineFormatter {
    var stream: Console.Stream { .error }

    func lines(for event: DownloadEvent, of index: Int) -> String? {
        guard case .finished(_, .failed(let error)) = event else { return nil }
        return Console.line("\(error)")
    }

    func lines(for summary: ProgressSummary, after duration: Duration) -> String? { nil }

    func line(for message: String) -> String? { Console.line(message) }

    /// `nil`: each line is a result, and results aren't dropped.
    func line(forDropped count: Int) -> String? { nil }
}

/// The lines of `--progress lines`: one for each finished file and each retry, and a summary.
struct PlainLines: LineFormatter {
    let names: ProgressNames
    var stream: Console.Stream { .error }

    func lines(for event: DownloadEvent, of index: Int) -> String? {
        switch event {
        case .finished(_, .done(let bytes)): "\(name(index))  \(Format.bytes(bytes))\n"
        case .finished(_, .skipped): "\(name(index))  exists, skipped\n"
        case .finished(_, .cancelled): "\(name(index))  cancelled\n"
        case .finished(_, .failed): ErrorLines().lines(for: event, of: index)
        case .retrying(_, let error, let delay):
            Console.line("\(error) Retrying in \(Format.elapsed(delay)).")
        case .failedOver(_, let error, let mirror):
            Console.line("\(error) Trying \(mirror.redactedForDisplay) instead.")
        case .mirrorRejected(_, let error): Console.line("\(error)")
        case .started, .responded, .received, .paused, .released, .named: nil
        }
    }

    func lines(for summary: ProgressSummary, after duration: Duration) -> String? {
        Self.summary(summary, after: duration) + "\n"
    }

    func line(for message: String) -> String? { Console.line(message) }

    func line(forDropped count: Int) -> String? {
        Console.line("Left out \(Format.count(count, "line")) about retries because the reader is too slow.")
    }

    private func name(_ index: Int) -> String { TerminalText.sanitized(names[index]) }

    /// Returns text such as "Downloaded 12 files, 3.4 MB in 1.2 s (2.8 MB/s), 1 skipped, 2 failed, 3 retries."
    static func summary(_ summary: ProgressSummary, after duration: Duration) -> String {
        let seconds = max(duration / .seconds(1), 0.001)
        var text = "Downloaded \(Format.count(summary.done, "file")), \(Format.bytes(summary.bytes))"
        text += " in \(Format.elapsed(duration)) (\(Format.rate(Double(summary.bytes) / seconds)))"
        if let cached = summary.cached { text += ", \(cached) from the cache" }
        if summary.skipped > 0 { text += ", \(summary.skipped) skipped" }
        if summary.failed > 0 { text += ", \(summary.failed) failed" }
        if summary.unfinished > 0 { text += ", \(summary.unfinished) not finished" }
        if summary.retries > 0 { text += summary.retries == 1 ? ", 1 retry" : ", \(summary.retries) retries" }
        return text + "."
    }
}

/// The lines of `--progress json`: one JSON object per line (jsonlines.org) on standard output.
///
/// Lines about a queue have `id`, the number of the download, instead of `index`.
///
/// | event | fields in addition to `event`, `index` and `file` |
/// |---|---|
/// | `started` | `attempt` |
/// | `responded` | `total`, the size in bytes, if the server sends it; `resumed`, the bytes of earlier attempts, if there are any |
/// | `named`: the server named the file; `file` is that name from now on | |
/// | `retrying` | `error`, `delay` in seconds |
/// | `failedOver`: a server failed, and a mirror is tried at once | `error`, `mirror` |
/// | `mirrorRejected`: a mirror sent wrong bytes, which were replaced | `error` |
/// | `done` | `bytes` |
/// | `skipped` | |
/// | `cancelled` | |
/// | `released`: stopped, and continued by a later run | |
/// | `paused`: stopped, because the download was paused in its queue | |
/// | `failed` | `error` |
/// | `message` | only `message` |
/// | `dropped` | only `lines`, the number of `started`, `responded` and `retrying` events dropped because the reader was too slow |
/// | `summary`, last | `done`, `skipped`, `failed`, `unfinished`, `retries`, `bytes`, `seconds`, with a cache `cached` (files from it) |
struct JSONLines: LineFormatter {
    let names: ProgressNames
    var stream: Console.Stream { .output }

    private struct Line: Encodable {
        var event: String
        var index: Int?
        var id: Int?
        var file: String?
        var attempt: Int?
        var totalBytes: Int64?
        var resumedBytes: Int64?
        var fileSize: Int64?
        var totalFileSize: Int64?
        var error: String?
        var delay: Double?
        var mirror: String?
        var message: String?
        var done: Int?
        var skipped: Int?
        var failed: Int?
        var unfinished: Int?
        var retries: Int?
        var seconds: Double?
        var lines: Int?
        var cached: Int?
    }

    func lines(for event: DownloadEvent, of index: Int) -> String? {
        switch event {
        case .started(_, let attempt): line("started", index) { $0.attempt = attempt }
        case .responded(_, let announced, let resumed):
            line("responded", index) {
                $0.totalBytes = announced
                $0.resumedBytes = resumed > 0 ? resumed : nil
            }
        case .retrying(_, let error, let delay):
            line("retrying", index) {
                $0.error = "\(error)"
                $0.delay = delay / .seconds(1)
            }
        case .failedOver(_, let error, let mirror):
            line("failedOver", index) {
                $0.error = "\(error)"
                $0.mirror = mirror.redactedForDisplay
            }
        case .mirrorRejected(_, let error): line("mirrorRejected", index) { $0.error = "\(error)" }
        case .finished(_, .done(let bytes)): line("done", index) { $0.fileSize = bytes }
        case .finished(_, .skipped): line("skipped", index) { _ in }
        case .finished(_, .cancelled): line("cancelled", index) { _ in }
        case .released: line("released", index) { _ in }
        case .paused: line("paused", index) { _ in }
        case .finished(_, .failed(let error)): line("failed", index) { $0.error = "\(error)" }
        case .named: line("named", index) { _ in }
        case .received: nil
        }
    }

    func lines(for summary: ProgressSummary, after duration: Duration) -> String? {
        encoded(
            Line(
                event: "summary", totalFileSize: summary.bytes, done: summary.done, skipped: summary.skipped,
                failed: summary.failed, unfinished: summary.unfinished, retries: summary.retries,
                seconds: duration / .seconds(1), cached: summary.cached))
    }

    func line(for message: String) -> String? {
        encoded(Line(event: "message", message: Redaction().redacted(message)))
    }

    func line(forDropped count: Int) -> String? {
        encoded(Line(event: "dropped", lines: count))
    }

    private func line(_ event: String, _ index: Int, _ fill: (inout Line) -> Void) -> String? {
        var line = Line(event: event, file: names[index])
        if names.areOfQueue { line.id = index } else { line.index = index }
        fill(&line)
        return encoded(line)
    }

    private func encoded(_ line: Line) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(line) else { return nil }
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
