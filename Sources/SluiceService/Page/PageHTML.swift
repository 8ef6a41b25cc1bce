import HTTPTypes
import SluiceDownloads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The pages as HTML. All text from the queue is escaped, and scripts in it wouldn't run anyway (`HTTPFields.protect`).
///
/// The server renders every state of a page. The script only fetches the page again after a change, and replaces the parts that differ.
enum PageHTML {
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            // Characters that change the direction of the following text would change how the page reads.
            case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\0"..."\u{8}", "\u{B}"..."\u{1F}", "\u{7F}":
                result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    // MARK: Frames

    private static func document(_ title: String, base: String, script: Bool, body: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(escaped(title))</title>
        <link rel="stylesheet" href="\(base)/page.css">
        <link rel="icon" href="\(base)/icon.svg">
        \(script ? "<script src=\"\(base)/page.js\" defer></script>" : "")
        </head>
        <body data-base="\(base)">
        \(body)
        </body>
        </html>

        """
    }

    static func login(_ page: QueuePage, isWrong: Bool) -> String {
        let base = escaped(page.configuration.basePath)
        let problem = isWrong ? "<p class=\"alert\" role=\"alert\">That isn't the token.</p>" : ""
        return document(
            "\(page.configuration.title): log in", base: base, script: false,
            body: """
                <main class="login">
                <h1>\(escaped(page.configuration.title))</h1>
                \(problem)
                <form method="post" action="\(base)/login">
                <label>Token <input type="password" name="token" autocomplete="current-password" required autofocus></label>
                <button>Log in</button>
                </form>
                </main>
                """)
    }

    static func problem(_ status: HTTPResponse.Status, _ message: String) -> String {
        document(
            "\(status.code) \(status.reasonPhrase)", base: "", script: false,
            body: """
                <main class="login"><h1>\(status.code) \(escaped(status.reasonPhrase))</h1><p>\(escaped(message))</p></main>
                """)
    }

    private static func header(_ page: QueuePage) -> String {
        let base = escaped(page.configuration.basePath)
        let logout =
            page.configuration.token == nil
            ? "" : "<form method=\"post\" action=\"\(base)/logout\"><button>Log out</button></form>"
        return """
            <header>
            <h1><a href="\(base)/">\(escaped(page.configuration.title))</a></h1>
            <p id="live" role="status">\(page.configuration.isReadOnly ? "Read-only" : "")</p>
            \(logout)
            </header>
            """
    }

    // MARK: The list

    static func list(_ page: QueuePage, _ view: ListView) -> String {
        let base = escaped(page.configuration.basePath)
        let mayChange = !page.configuration.isReadOnly
        return document(
            page.configuration.title, base: base, script: true,
            body: """
                \(header(page))
                <nav id="states" aria-label="States">\(tabs(view, base))</nav>
                <main>
                \(alerts(view.queue))
                \(activity(view.queue))
                \(running(view, base))
                \(filterForm(view, base))
                <section id="list" aria-label="Downloads">
                \(mayChange ? toolbar(view) : "")
                \(table(view, base, mayChange: mayChange))
                \(pager(view, base))
                </section>
                \(mayChange ? addForm : "")
                \(hosts(view.queue, base))
                \(workers(view.queue))
                </main>
                \(mayChange ? dialog : "")
                """)
    }

    /// What the page with the list shows.
    struct ListView: Sendable {
        var queue: PageValues.Queue
        var filter: DownloadFilter
        var downloads: PageValues.Page
        var isFirst: Bool
        /// The first running downloads, if the list has all states. They are shown above it.
        var running: [PageValues.Download] = []
    }

    private static let stateNames: [(QueuedDownload.State, String)] = [
        (.running, "Running"), (.waiting, "Waiting"), (.paused, "Paused"), (.failed, "Failed"), (.done, "Done"),
        (.cancelled, "Cancelled"),
    ]

    private static func tabs(_ view: ListView, _ base: String) -> String {
        func tab(_ state: QueuedDownload.State?, _ name: String, _ count: Int) -> String {
            var filter = view.filter
            filter.state = state
            let isCurrent = view.filter.state == state
            return "<a href=\"\(link(filter, base))\"\(isCurrent ? " aria-current=\"page\"" : "")"
                + " data-state=\"\(state?.rawValue ?? "all")\">\(name) <b>\(grouped(count))</b></a>"
        }
        let counts = view.queue.counts
        return tab(nil, "All", counts.values.reduce(0, +))
            + stateNames.map { tab($0.0, $0.1, counts[$0.0.rawValue] ?? 0) }.joined()
    }

    static func link(_ filter: DownloadFilter, _ base: String, after: String? = nil) -> String {
        let values = [
            ("state", filter.state?.rawValue), ("user", filter.user), ("batch", filter.batch), ("host", filter.host),
            ("name", filter.name), ("after", after),
        ]
        let query = values.compactMap { name, value in value.map { "\(name)=\(percentEncoded($0))" } }
        return base + "/" + (query.isEmpty ? "" : "?" + query.joined(separator: "&amp;"))
    }

    private static func percentEncoded(_ text: String) -> String {
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        return text.utf8.map { byte in
            if plain.contains(byte) { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.utf8.count == 1 ? "0" : "") + digits
        }.joined()
    }

    /// What an operator must know first.
    private static func alerts(_ queue: PageValues.Queue) -> String {
        var alerts: [String] = []
        let waiting = queue.counts["waiting"] ?? 0
        let alive = queue.workers.filter(\.isResponding)
        if alive.isEmpty, waiting > 0 {
            alerts.append(
                "No worker is running, and \(grouped(waiting)) \(waiting == 1 ? "download waits" : "downloads wait"). Start one with "
                    + "<code>sluice queue work</code>.")
        }
        for worker in queue.workers where !worker.isResponding {
            let jobs = worker.runningCount == 1 ? "1 download" : "\(worker.runningCount) downloads"
            let effect =
                worker.runningCount == 0
                ? "" : " It holds \(jobs), which other workers take over when \(worker.runningCount == 1 ? "its lease ends" : "their leases end")."
            alerts.append(
                "The worker on \(escaped(worker.machine)) (process \(worker.process)) hasn't reported since \(time(worker.seen)).\(effect)"
                    + " Check that machine and its network.")
        }
        for host in queue.hosts {
            let name = escaped(host.name)
            alerts.append(
                host.isUnreachable
                    ? "Connections to <b>\(name)</b> fail. The next attempt is at \(time(host.notBefore)). Check that server."
                    : "<b>\(name)</b> asked for a delay until \(time(host.notBefore)), because it gets too many requests.")
        }
        return "<section id=\"alerts\" aria-label=\"Problems\">"
            + alerts.map { "<p class=\"alert\">\($0)</p>" }.joined() + "</section>"
    }

    /// A plot of the last hour: a bar for each minute, without a style sheet's help.
    private static func activity(_ queue: PageValues.Queue) -> String {
        let now = queue.time.timeIntervalSince1970 / 60
        let most = max(1, queue.minutes.map { $0.doneCount + $0.failedCount }.max() ?? 1)
        var bars = ""
        for minute in queue.minutes {
            let place = 59 - Int(now - minute.time.timeIntervalSince1970 / 60)
            guard (0..<60).contains(place) else { continue }
            let done = 40 * minute.doneCount / most
            let failed = minute.failedCount == 0 ? 0 : max(1, 40 * minute.failedCount / most)
            bars += "<rect class=\"done\" x=\"\(place * 5)\" y=\"\(40 - done)\" width=\"4\" height=\"\(done)\"/>"
            bars += "<rect class=\"failed\" x=\"\(place * 5)\" y=\"\(40 - done - failed)\" width=\"4\" height=\"\(failed)\"/>"
        }
        let done = queue.minutes.reduce(0) { $0 + $1.doneCount }
        let failed = queue.minutes.reduce(0) { $0 + $1.failedCount }
        let size = queue.minutes.reduce(Int64(0)) { $0 + $1.doneBytes }
        let text = "In the last hour: \(grouped(done)) done, \(bytes(size)); \(grouped(failed)) failed."
        return """
            <section id="activity" aria-label="Activity">
            <svg viewBox="0 0 300 40" role="img" aria-label="\(text)" preserveAspectRatio="none">\(bars)</svg>
            <p>\(text)</p>
            </section>
            """
    }

    private static func filterForm(_ view: ListView, _ base: String) -> String {
        func field(_ name: String, _ label: String, _ value: String?) -> String {
            "<label>\(label) <input name=\"\(name)\" value=\"\(escaped(value ?? ""))\"></label>"
        }
        let filter = view.filter
        let state = filter.state.map { "<input type=\"hidden\" name=\"state\" value=\"\($0.rawValue)\">" } ?? ""
        let cleared = DownloadFilter(state: filter.state)
        let clear = cleared == filter ? "" : "<a href=\"\(link(cleared, base))\">Clear</a>"
        return """
            <form id="filter" role="search" method="get" action="\(base)/">
            \(state)
            <label>Name <input type="search" name="name" value="\(escaped(filter.name ?? ""))" accesskey="s"></label>
            \(field("user", "User", filter.user))
            \(field("batch", "Batch", filter.batch))
            \(field("host", "Host", filter.host))
            <button>Filter</button> \(clear)
            </form>
            """
    }

    private static func toolbar(_ view: ListView) -> String {
        let actions = [
            ("pause", "Pause"), ("resume", "Resume"), ("cancel", "Cancel"), ("retry", "Retry"), ("remove", "Remove"),
            ("prioritize", "Priority…"),
        ]
        return """
            <div id="toolbar" role="toolbar" aria-label="Actions" hidden>
            <label><input type="checkbox" id="all"> All that match</label>
            <span id="selected" role="status">Nothing is selected.</span>
            \(actions.map { "<button type=\"button\" data-action=\"\($0.0)\" disabled>\($0.1)</button>" }.joined())
            </div>
            """
    }

    private static func table(_ view: ListView, _ base: String, mayChange: Bool) -> String {
        if view.downloads.downloads.isEmpty {
            let isFiltered = view.filter != DownloadFilter()
            let text =
                isFiltered
                ? "No download matches." : "The queue is empty. Add downloads below, or with <code>sluice queue add</code>."
            return "<div id=\"rows\"><p class=\"empty\">\(text)</p></div>"
        }
        let box = mayChange ? "<th scope=\"col\"><span class=\"hidden\">Select</span></th>" : ""
        return """
            <div id="rows"><table>
            <thead><tr>\(box)<th scope="col">No.</th><th scope="col">File</th><th scope="col">For</th><th scope="col">State</th></tr></thead>
            <tbody>
            \(view.downloads.downloads.map { row($0, base, mayChange: mayChange) }.joined(separator: "\n"))
            </tbody>
            </table></div>
            """
    }

    private static func running(_ view: ListView, _ base: String) -> String {
        if view.running.isEmpty { return "<section id=\"running\"></section>" }
        let rows = view.running.map { download in
            """
            <tr><td class="number">\(download.id)</td><td class="file"><a href="\(base)/downloads/\(download.id)">\(escaped(download.name))</a> \
            <small>\(escaped(download.host))</small></td><td class="state">\(state(download))</td></tr>
            """
        }
        let count = view.queue.counts["running"] ?? 0
        let title = count > view.running.count ? "Running, the first \(view.running.count)" : "Running"
        return """
            <section id="running"><h2>\(title)</h2><table>
            <thead><tr><th scope="col">No.</th><th scope="col">File</th><th scope="col">State</th></tr></thead>
            <tbody>\(rows.joined())</tbody></table></section>
            """
    }

    private static func row(_ download: PageValues.Download, _ base: String, mayChange: Bool) -> String {
        let name = escaped(download.name)
        let box =
            mayChange
            ? "<td class=\"box\"><input type=\"checkbox\" value=\"\(download.id)\" aria-label=\"Select \(name)\"></td>" : ""
        return """
            <tr id="d\(download.id)" class="\(download.state)">\(box)<td class="number">\(download.id)</td>\
            <td class="file"><a href="\(base)/downloads/\(download.id)">\(name)</a> <small>\(escaped(download.host))</small></td>\
            <td class="for">\(members(download.members, base))</td><td class="state">\(state(download))</td></tr>
            """
    }

    private static func members(_ members: [PageValues.Member], _ base: String) -> String {
        let shown = members.prefix(5).compactMap { member -> String? in
            var parts: [String] = []
            if let user = member.user {
                parts.append("<a href=\"\(link(DownloadFilter(user: user), base))\">\(escaped(user))</a>")
            }
            if let batch = member.batch {
                parts.append("<a href=\"\(link(DownloadFilter(batch: batch), base))\">(\(escaped(batch)))</a>")
            }
            if member.isPaused { parts.append("paused") }
            return parts.isEmpty ? nil : parts.joined(separator: " ")
        }
        let rest = members.count > 5 ? " and \(members.count - 5) more" : ""
        return shown.joined(separator: ", ") + rest
    }

    // MARK: One download

    private static func state(_ download: PageValues.Download) -> String {
        var parts: [String] = []
        switch download.state {
        case "running":
            parts.append(progress(download))
            if download.isStopping { parts.append("stopping") }
            if let end = download.leaseEnd, end < Date() {
                parts.append("its worker doesn't respond; another one takes over")
            }
        case "done": parts.append("Done" + (download.fileSize.map { ", \(bytes($0))" } ?? ""))
        case "failed": parts.append("<b>Failed</b>")
        case "cancelled": parts.append("Cancelled")
        case "paused": parts.append("Paused")
        default: parts.append("Waiting")
        }
        if let ended = download.ended { parts.append(time(ended)) }
        if download.priority != 0 { parts.append("priority \(download.priority)") }
        var text = "<span>\(parts.joined(separator: ", "))</span>"
        if let reason = download.waitReason, download.state == "waiting" {
            let until = reason.until.map { " Until \(time($0))." } ?? ""
            text += "<span class=\"why\">\(escaped(reason.message))\(until) \(escaped(reason.remedy ?? ""))</span>"
        } else if let error = download.error, download.state == "failed" {
            text += "<span class=\"why\">\(escaped(error.message)) \(escaped(error.remedy ?? ""))</span>"
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
                    + " \(percent) % of \(bytes(total))")
        } else {
            parts.append("Running, \(bytes(received))")
        }
        if let rate = download.bytesPerSecond { parts.append("\(bytes(rate))/s") }
        if let left = download.secondsLeft { parts.append("\(duration(left)) left") }
        return parts.joined(separator: ", ")
    }

    static func download(_ page: QueuePage, _ shown: PageValues.DownloadPage, _ queue: PageValues.Queue) -> String {
        let base = escaped(page.configuration.basePath)
        let download = shown.download
        let worker = queue.workers.first { $0.name == download.worker }
        var facts: [(String, String)] = [
            ("State", state(download)), ("URL", "<code>\(escaped(download.url))</code>"),
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
            facts.append(("Last error", "\(escaped(error.subject)): \(escaped(error.message)) \(escaped(error.remedy ?? ""))"))
        }
        let members = download.members.map { member in
            "<tr><td>\(escaped(member.user ?? ""))</td><td>\(escaped(member.batch ?? ""))</td><td>\(member.priority)</td>"
                + "<td>\(member.isPaused ? "paused" : "")</td></tr>"
        }
        let events = shown.events.map { event in
            let who = [event.user, event.batch.map { "(\($0))" }].compactMap(\.self).joined(separator: " ")
            let size = event.fileSize.map { bytes($0) } ?? ""
            return "<tr><td>\(time(event.time))</td><td>\(escaped(event.kind))</td><td>\(escaped(who))</td>"
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
                <thead><tr><th scope="col">User</th><th scope="col">Batch</th><th scope="col">Priority</th><th scope="col"></th></tr></thead>
                <tbody>\(members.joined())</tbody></table></section>
                <section id="events"><h3>Events</h3><table>
                <thead><tr><th scope="col">Time</th><th scope="col">Event</th><th scope="col">For</th><th scope="col">Details</th></tr></thead>
                <tbody>\(events.joined())</tbody></table></section>
                </main>
                \(page.configuration.isReadOnly ? "" : dialog)
                """)
    }

    // MARK: The rest of the page

    private static func pager(_ view: ListView, _ base: String) -> String {
        let first = view.isFirst ? "" : "<a href=\"\(link(view.filter, base))\">First page</a>"
        let next = view.downloads.next.map { "<a rel=\"next\" href=\"\(link(view.filter, base, after: $0))\">Next page</a>" }
        return "<nav id=\"pages\" aria-label=\"Pages\">\(first) \(next ?? "")</nav>"
    }

    private static let addForm = """
        <details id="add"><summary>Add downloads</summary>
        <form>
        <label>URLs, one in each line <textarea name="urls" rows="4" required></textarea></label>
        <label>User <input name="user"></label>
        <label>Batch <input name="batch"></label>
        <label>Directory, below the worker's <input name="directory"></label>
        <label>Priority <input name="priority" type="number" value="0"></label>
        <button>Add</button> <span role="status"></span>
        </form>
        </details>
        """

    private static let dialog = """
        <dialog id="confirm" aria-labelledby="question"><form method="dialog">
        <p id="question"></p>
        <label id="priority" hidden>Priority <input name="priority" type="number" value="0"></label>
        <button value="yes">Yes</button> <button value="no" autofocus>No</button>
        </form></dialog>
        """

    private static func hosts(_ queue: PageValues.Queue, _ base: String) -> String {
        if queue.hosts.isEmpty { return "<section id=\"hosts\"></section>" }
        let rows = queue.hosts.map { host in
            "<tr><td><a href=\"\(link(DownloadFilter(host: host.name), base))\">\(escaped(host.name))</a></td>"
                + "<td>\(host.isUnreachable ? "connections fail" : "asked for a delay")</td><td>\(time(host.notBefore))</td></tr>"
        }
        return """
            <section id="hosts"><h2>Hosts in backoff</h2><table>
            <thead><tr><th scope="col">Host</th><th scope="col">Reason</th><th scope="col">Until</th></tr></thead>
            <tbody>\(rows.joined())</tbody></table></section>
            """
    }

    private static func workers(_ queue: PageValues.Queue) -> String {
        if queue.workers.isEmpty { return "<section id=\"workers\"><h2>Workers</h2><p>No worker is running.</p></section>" }
        let rows = queue.workers.map { worker in
            let limits = [
                "\(worker.total) in total", worker.perHost.map { "\($0) per host" },
                worker.perUser.map { "\($0) per user" }, worker.resolves ? "resolves identifiers" : nil,
            ].compactMap(\.self).joined(separator: ", ")
            return "<tr\(worker.isResponding ? "" : " class=\"failed\"")><td>\(escaped(worker.machine))</td><td class=\"number\">\(worker.process)</td>"
                + "<td class=\"number\">\(worker.runningCount)</td><td>\(limits)</td><td>\(time(worker.seen))</td>"
                + "<td>\(worker.leaseEnd.map { time($0) } ?? "")</td></tr>"
        }
        return """
            <section id="workers"><h2>Workers</h2><table>
            <thead><tr><th scope="col">Machine</th><th scope="col">Process</th><th scope="col">Running</th><th scope="col">Limits</th>\
            <th scope="col">Reported</th><th scope="col">Lease until</th></tr></thead>
            <tbody>\(rows.joined())</tbody></table></section>
            """
    }

    // MARK: Values

    /// "1,234,567".
    static func grouped(_ number: Int) -> String {
        let digits = Array(String(abs(number)))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// "1.2 MB".
    static func bytes(_ count: Int64) -> String {
        guard count >= 1000 else { return "\(count) B" }
        var value = Double(count)
        var unit = -1
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
        // A value that would round to 1000 uses the next unit.
        while value >= 999.95, unit < units.count - 1 { (value, unit) = (value / 1000, unit + 1) }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// "0:07", "12:34", "1:02:03", ">99 h".
    static func duration(_ seconds: Int64) -> String {
        guard seconds < 99 * 3600 else { return ">99 h" }
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
    }

    /// A time in UTC, which the script shows in the reader's time zone.
    static func time(_ date: Date) -> String {
        let text = date.formatted(.iso8601)
        let short = text.replacing("T", with: " ").replacing("Z", with: " UTC")
        return "<time datetime=\"\(text)\">\(short)</time>"
    }
}

extension QueuePage {
    func listPage(_ request: PageRequest) async throws -> Response {
        try request.checkNames(["after"])
        let (filter, position) = (try request.filter(), try request.position())
        let data = try await recent.data(for: "page \(String(describing: position)) \(filter)") {
            let (queue, outlook) = try await inspection()
            let page = try await page(filter, after: position, atMost: Self.pageSize, outlook)
            var view = PageHTML.ListView(queue: queue, filter: filter, downloads: page, isFirst: position == nil)
            if filter == DownloadFilter(), position == nil {
                let running = DownloadFilter(state: .running)
                view.running = try await self.page(running, after: nil, atMost: Self.runningCount, outlook).downloads
            }
            return Data(PageHTML.list(self, view).utf8)
        }
        return Response(.file(data, type: "text/html; charset=utf-8"))
    }

    func downloadPage(_ id: QueuedDownload.ID, _ request: PageRequest) async throws -> Response {
        let (shown, queue) = (try await download(id), try await inspection().queue)
        return Response(.html(PageHTML.download(self, shown, queue)))
    }
}
