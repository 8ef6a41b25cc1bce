import NativeMark
import SluiceDownloads
import SluiceService

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
