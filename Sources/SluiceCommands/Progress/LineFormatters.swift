import NativeMark
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Errors only.
struct ErrorLines: LineFormatter {
    var stream: Console.Stream { .error }

    func lines(for event: DownloadEvent, of index: Int) -> String? {
        guard case .finished(_, .failed(let error)) = event else { return nil }
        return Console.line("\(error)")
    }

    func lines(for summary: DownloadSummary, after duration: Duration) -> String? { nil }

    func line(for message: String) -> String? { Console.line(message) }

    /// Each line is a result, and no result is dropped.
    func line(forDropped count: Int) -> String? { nil }
}

/// One line for each finished file, and a summary.
struct PlainLines: LineFormatter {
    let names: [String]
    var stream: Console.Stream { .error }

    func lines(for event: DownloadEvent, of index: Int) -> String? {
        switch event {
        case .finished(_, .done(let bytes)): "\(name(index))  \(Format.bytes(bytes))\n"
        case .finished(_, .skipped): "\(name(index))  exists, skipped\n"
        case .finished(_, .cancelled): "\(name(index))  cancelled\n"
        case .finished(_, .failed): ErrorLines().lines(for: event, of: index)
        case .retrying(_, let error, let delay):
            Console.line("\(error); trying again in \(Format.elapsed(delay))")
        case .started, .responded, .received, .released: nil
        }
    }

    func lines(for summary: DownloadSummary, after duration: Duration) -> String? {
        Self.summary(summary, after: duration) + "\n"
    }

    func line(for message: String) -> String? { Console.line(message) }

    func line(forDropped count: Int) -> String? {
        Console.line("\(Format.count(count, "line")) about repeated attempts left out, since the reader was too slow")
    }

    private func name(_ index: Int) -> String { TerminalText.sanitized(names[index]) }

    /// "Downloaded 12 files, 3.4 MB in 1.2 s (2.8 MB/s), 1 skipped, 2 failed, 3 retries."
    static func summary(_ summary: DownloadSummary, after duration: Duration) -> String {
        let seconds = max(duration / .seconds(1), 0.001)
        var text = "Downloaded \(Format.count(summary.doneCount, "file")), \(Format.bytes(summary.bytes))"
        text += " in \(Format.elapsed(duration)) (\(Format.rate(Double(summary.bytes) / seconds)))"
        if summary.skippedCount > 0 { text += ", \(summary.skippedCount) skipped" }
        if !summary.failures.isEmpty { text += ", \(summary.failures.count) failed" }
        if summary.unfinishedCount > 0 { text += ", \(summary.unfinishedCount) not finished" }
        if summary.retryCount > 0 { text += summary.retryCount == 1 ? ", 1 retry" : ", \(summary.retryCount) retries" }
        return text + "."
    }
}

/// One JSON object a line (jsonlines.org) on standard output, for programs.
///
/// | event | fields beside `event`, `index` and `file` |
/// |---|---|
/// | `started` | `attempt` |
/// | `responded` | `total`, in bytes, where the server says it; `resumed`, if so many were there before |
/// | `retrying` | `error`, `delay` in seconds |
/// | `done` | `bytes` |
/// | `skipped` | |
/// | `cancelled` | |
/// | `released`, stopped and to be gone on with later | |
/// | `failed` | `error` |
/// | `message` | only `message` |
/// | `dropped` | only `lines`: so many of `started`, `responded` and `retrying` were left out, since the reader was too slow |
/// | `summary`, last | `done`, `skipped`, `failed`, `unfinished`, `retries`, `bytes`, `seconds` |
struct JSONLines: LineFormatter {
    let names: [String]
    var stream: Console.Stream { .output }

    private struct Line: Encodable {
        var event: String
        var index: Int?
        var file: String?
        var attempt: Int?
        var total: Int64?
        var resumed: Int64?
        var bytes: Int64?
        var error: String?
        var delay: Double?
        var message: String?
        var done: Int?
        var skipped: Int?
        var failed: Int?
        var unfinished: Int?
        var retries: Int?
        var seconds: Double?
        var lines: Int?
    }

    func lines(for event: DownloadEvent, of index: Int) -> String? {
        switch event {
        case .started(_, let attempt): line("started", index) { $0.attempt = attempt }
        case .responded(_, let announced, let resumed):
            line("responded", index) {
                $0.total = announced
                $0.resumed = resumed > 0 ? resumed : nil
            }
        case .retrying(_, let error, let delay):
            line("retrying", index) {
                $0.error = "\(error)"
                $0.delay = delay / .seconds(1)
            }
        case .finished(_, .done(let bytes)): line("done", index) { $0.bytes = bytes }
        case .finished(_, .skipped): line("skipped", index) { _ in }
        case .finished(_, .cancelled): line("cancelled", index) { _ in }
        case .released: line("released", index) { _ in }
        case .finished(_, .failed(let error)): line("failed", index) { $0.error = "\(error)" }
        case .received: nil
        }
    }

    func lines(for summary: DownloadSummary, after duration: Duration) -> String? {
        encoded(
            Line(
                event: "summary", bytes: summary.bytes, done: summary.doneCount, skipped: summary.skippedCount,
                failed: summary.failures.count, unfinished: summary.unfinishedCount, retries: summary.retryCount,
                seconds: duration / .seconds(1)))
    }

    func line(for message: String) -> String? {
        encoded(Line(event: "message", message: message))
    }

    func line(forDropped count: Int) -> String? {
        encoded(Line(event: "dropped", lines: count))
    }

    private func line(_ event: String, _ index: Int, _ fill: (inout Line) -> Void) -> String? {
        var line = Line(event: event, index: index, file: names[index])
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
