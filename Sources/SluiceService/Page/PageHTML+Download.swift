import HTTPTypes
import SluiceDownloads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - The page of one download

extension QueuePage {
    func downloadPage(_ id: QueuedDownload.ID, _ request: PageRequest) async throws -> Response {
        let (shown, queue) = (try await download(id), try await inspection().queue)
        return Response(.html(PageHTML.download(self, shown, queue)))
    }
}

extension PageHTML {
    static func download(_ page: QueuePage, _ shown: PageValues.DownloadPage, _ queue: PageValues.Queue) -> String {
        let base = escaped(page.configuration.basePath)
        let download = shown.download
        let worker = queue.workers.first { $0.name == download.worker }
        var told: Set<String> = []
        var facts: [(String, String)] = [
            ("State", state(download, &told)), ("URL", "<code>\(escaped(download.url))</code>"),
            ("File", "<code>\(escaped(download.file))</code>"),
            ("Host", "<a href=\"\(link(DownloadFilter(host: download.host), base))\">\(escaped(download.host))</a>"),
            ("Priority", "\(download.priority)"), ("Failed attempts", "\(download.failureCount)"),
        ]
        if let worker {
            let lease = download.leaseEnd.map { ", lease until \(time($0))" } ?? ""
            facts.append(("Worker", "\(escaped(worker.machine)), process \(worker.process)\(lease)"))
        }
        if let machine = download.machine { facts.append(("Machine", escaped(machine))) }
        if let error = download.error {
            facts.append(
                ("Last error", "\(escaped(error.subject)): \(escaped(error.message)) \(escaped(error.remedy ?? ""))"))
        }
        let members = download.members.map { member in
            "<tr><td>\(escaped(member.user ?? ""))</td><td>\(escaped(member.batch ?? ""))</td><td>\(member.priority)</td>"
                + "<td>\(member.isPaused ? "paused" : "active")</td></tr>"
        }
        let events = shown.events.map { event in
            let who = [event.user, event.batch.map { "(\($0))" }].compactMap(\.self).joined(separator: " ")
            let size = event.fileSize.map { Format.bytes($0) } ?? ""
            return "<tr><td>\(time(event.time))</td><td>\(escaped(event.kind.rawValue))</td><td>\(escaped(who))</td>"
                + "<td>\(escaped(event.message ?? size))</td></tr>"
        }
        let actions: [(String, String)] =
            switch download.state {
            case "waiting", "running": [("pause", "Pause"), ("cancel", "Cancel"), ("prioritize", "Priority…")]
            case "paused": [("resume", "Resume"), ("cancel", "Cancel"), ("prioritize", "Priority…")]
            case "failed", "cancelled": [("retry", "Retry"), ("remove", "Remove")]
            default: [("remove", "Remove")]
            }
        let buttons = actions.map { "<button type=\"button\" data-action=\"\($0.0)\">\($0.1)</button>" }.joined()
        return document(
            "\(download.name): \(page.configuration.title)", base: base, script: true,
            body: """
                \(header(page))
                <main data-download="\(download.id)">
                <h2>\(escaped(download.name)) <small>No. \(download.id)</small></h2>
                \(page.configuration.isReadOnly ? "" : "<div id=\"toolbar\" role=\"toolbar\" aria-label=\"Actions\" hidden>\(buttons)</div>")
                <section id="facts" aria-label="Facts"><dl>\(facts.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" }.joined())</dl></section>
                <section id="members"><h3>Requested by</h3><table>
                <thead><tr><th scope="col">User</th><th scope="col">Batch</th><th scope="col">Priority</th><th scope="col">State</th></tr></thead>
                <tbody>\(members.joined())</tbody></table></section>
                <section id="events"><h3>Events</h3><table>
                <thead><tr><th scope="col">Time</th><th scope="col">Event</th><th scope="col">For</th><th scope="col">Details</th></tr></thead>
                <tbody>\(events.joined())</tbody></table></section>
                </main>
                \(page.configuration.isReadOnly ? "" : dialog)
                """)
    }

    // MARK: Its state, which a row of a list shows, too

    /// - Parameter told: The remedies that the page has already. Each is told once.
    static func state(_ download: PageValues.Download, _ told: inout Set<String>) -> String {
        func once(_ remedy: String?) -> String {
            remedy.flatMap { told.insert($0).inserted ? " " + escaped($0) : nil } ?? ""
        }
        var parts: [String] = []
        switch download.state {
        case "running":
            parts.append(progress(download))
            if download.isStopping { parts.append("stopping") }
            if let end = download.leaseEnd, end < Date() {
                parts.append("its worker doesn't respond; another one takes over")
            }
        case "done": parts.append("Done" + (download.fileSize.map { ", \(Format.bytes($0))" } ?? ""))
        case "failed": parts.append("<b>Failed</b>")
        case "cancelled": parts.append("Cancelled")
        case "paused": parts.append("Paused")
        default: parts.append("Waiting")
        }
        if let ended = download.ended { parts.append(time(ended)) }
        if download.priority != 0 { parts.append("priority \(download.priority)") }
        var text = parts.joined(separator: ", ")
        if let reason = download.waitReason, download.state == "waiting" {
            let until = reason.until.map { " Until \(time($0))." } ?? ""
            text += "<span class=why>\(escaped(reason.message))\(until)\(once(reason.remedy))</span>"
        } else if let error = download.error, download.state == "failed" {
            text += "<span class=why>\(escaped(error.message))\(once(error.remedy))</span>"
        }
        return text
    }

    private static func progress(_ download: PageValues.Download) -> String {
        let received = download.receivedBytes ?? 0
        var parts: [String] = []
        if let total = download.totalBytes, total > 0 {
            let percent = Int(min(100, Double(received) / Double(total) * 100))
            parts.append(
                "<progress max=\"100\" value=\"\(percent)\" aria-label=\"Progress of \(escaped(download.name))\">\(percent) %</progress>"
                    + " \(percent) % of \(Format.bytes(total))")
        } else {
            parts.append("Running, \(Format.bytes(received))")
        }
        if let rate = download.bytesPerSecond { parts.append("\(Format.bytes(rate))/s") }
        if let left = download.secondsLeft { parts.append("\(Format.clock(seconds: Double(left))) left") }
        return parts.joined(separator: ", ")
    }
}
