import HTTPTypes
import SluiceDownloads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - The page with the list

extension QueuePage {
    func listPage(_ request: PageRequest) async throws -> Response {
        try request.checkNames(["after"])
        let (filter, position) = (try request.filter(isForm: true), try request.position())
        let data = try await answers.value(for: "page \(String(describing: position)) \(filter)") {
            let (queue, outlook) = try await inspection()
            let page = try await page(filter, after: position, atMost: Self.pageSize, outlook)
            var view = PageHTML.ListView(queue: queue, filter: filter, downloads: page, isFirst: position == nil)
            if filter == DownloadFilter(), position == nil {
                let running = DownloadFilter(state: .running)
                view.running = try await self.page(running, after: nil, atMost: Self.runningRows, outlook).downloads
            }
            return Data(PageHTML.list(self, view).utf8)
        }
        return Response(.file(data, type: "text/html; charset=utf-8"))
    }
}

extension PageHTML {
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
                \(mayChange ? toolbar : "")
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
                + " data-state=\"\(state?.rawValue ?? "all")\">\(name) <b>\(Format.grouped(count))</b></a>"
        }
        let counts = view.queue.counts
        return tab(nil, "All", counts.values.reduce(0, +))
            + stateNames.map { tab($0.0, $0.1, counts[$0.0.rawValue] ?? 0) }.joined()
    }

    /// - Parameter base: The base path; `nil` for a relative link in the list itself.
    static func link(_ filter: DownloadFilter, _ base: String? = nil, after: String? = nil) -> String {
        let values = [
            ("state", filter.state?.rawValue), ("user", filter.user), ("batch", filter.batch), ("host", filter.host),
            ("name", filter.name), ("after", after),
        ]
        let query = values.compactMap { name, value in
            value.map { "\(name)=\(DownloadRequest.percentEncoded($0, keepingDots: true))" }
        }
        let list = base.map { $0 + "/" } ?? (query.isEmpty ? "." : "")
        return list + (query.isEmpty ? "" : "?" + query.joined(separator: "&amp;"))
    }

    /// What an operator must know first.
    private static func alerts(_ queue: PageValues.Queue) -> String {
        var alerts: [String] = []
        let waiting = queue.counts["waiting"] ?? 0
        let alive = queue.workers.filter(\.isResponding)
        if alive.isEmpty, waiting > 0 {
            alerts.append(
                "No worker is running, and \(Format.grouped(waiting)) \(waiting == 1 ? "download waits" : "downloads wait"). Start one with "
                    + "<code>sluice queue work</code>.")
        }
        for worker in queue.workers where !worker.isResponding {
            if let failure = worker.failure {
                alerts.append(
                    "The worker on \(escaped(worker.machine)) (process \(worker.process)) stopped at \(time(worker.seen)): "
                        + escaped(failure))
                continue
            }
            let jobs = worker.runningCount == 1 ? "1 download" : "\(worker.runningCount) downloads"
            let effect =
                worker.runningCount == 0
                ? ""
                : " It holds \(jobs), which other workers take over when \(worker.runningCount == 1 ? "its lease ends" : "their leases end")."
            alerts.append(
                "The worker on \(escaped(worker.machine)) (process \(worker.process)) hasn't reported since \(time(worker.seen)).\(effect)"
                    + " Check that machine and its network.")
        }
        for host in queue.hosts {
            let name = escaped(host.name)
            alerts.append(
                host.isUnreachable
                    ? "Connections to <b>\(name)</b> fail. The next attempt is at \(time(host.notBefore)). Check that server."
                    : "<b>\(name)</b> asked for a delay until \(time(host.notBefore)), because it gets too many requests."
            )
        }
        return "<section id=\"alerts\" aria-label=\"Problems\">"
            + alerts.map { "<p class=\"alert\">\($0)</p>" }.joined() + "</section>"
    }

    /// A plot of the last hour: a bar for each minute.
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
            bars +=
                "<rect class=\"failed\" x=\"\(place * 5)\" y=\"\(40 - done - failed)\" width=\"4\" height=\"\(failed)\"/>"
        }
        let done = queue.minutes.reduce(0) { $0 + $1.doneCount }
        let failed = queue.minutes.reduce(0) { $0 + $1.failedCount }
        let size = queue.minutes.reduce(Int64(0)) { $0 + $1.doneBytes }
        let text =
            "In the last hour: \(Format.grouped(done)) done, \(Format.bytes(size)); \(Format.grouped(failed)) failed."
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

    private static var toolbar: String {
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
                ? "No download matches."
                : "The queue is empty. Add downloads below, or with <code>sluice queue add</code>."
            return "<div id=\"rows\"><p class=\"empty\">\(text)</p></div>"
        }
        let box = mayChange ? "<th scope=\"col\"><span class=\"hidden\">Select</span></th>" : ""
        var told: Set<String> = []
        let rows = view.downloads.downloads.map { row($0, mayChange: mayChange, &told) }
        return """
            <div id="rows"><table>
            <thead><tr>\(box)<th scope="col">No.</th><th scope="col">File</th><th scope="col">For</th><th scope="col">State</th></tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody>
            </table></div>
            """
    }

    private static func running(_ view: ListView, _ base: String) -> String {
        if view.running.isEmpty { return "<section id=\"running\"></section>" }
        var told: Set<String> = []
        let rows = view.running.map { download in
            """
            <tr><td>\(download.id)<td class=f><a href=downloads/\(download.id)>\(escaped(download.name))</a> \
            <small>\(escaped(download.host))</small><td class=s>\(state(download, &told))
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

    /// There are a hundred of them, so tags that HTML doesn't need are left out, links are relative, and the script labels the check boxes.
    private static func row(_ download: PageValues.Download, mayChange: Bool, _ told: inout Set<String>) -> String {
        let kind = ["failed", "cancelled"].contains(download.state) ? " class=\(download.state)" : ""
        return """
            <tr id=d\(download.id)\(kind)>\(mayChange ? "<td><input type=checkbox>" : "")<td>\(download.id)<td class=f>\
            <a href=downloads/\(download.id)>\(escaped(download.name))</a> <small>\(escaped(download.host))</small>\
            <td>\(members(download.members))<td class=s>\(state(download, &told))
            """
    }

    private static func members(_ members: [QueuedDownload.Member]) -> String {
        let shown = members.prefix(5).compactMap { member -> String? in
            var parts: [String] = []
            if let user = member.user {
                parts.append("<a href=\"\(link(DownloadFilter(user: user)))\">\(escaped(user))</a>")
            }
            if let batch = member.batch {
                parts.append("<a href=\"\(link(DownloadFilter(batch: batch)))\">(\(escaped(batch)))</a>")
            }
            if member.isPaused { parts.append("paused") }
            return parts.isEmpty ? nil : parts.joined(separator: " ")
        }
        let rest = members.count > 5 ? " and \(members.count - 5) more" : ""
        return shown.joined(separator: ", ") + rest
    }

    // MARK: The rest of the page

    private static func pager(_ view: ListView, _ base: String) -> String {
        let first = view.isFirst ? "" : "<a href=\"\(link(view.filter, base))\">First page</a>"
        let next = view.downloads.next.map {
            "<a rel=\"next\" href=\"\(link(view.filter, base, after: $0))\">Next page</a>"
        }
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
        if queue.workers.isEmpty {
            return "<section id=\"workers\"><h2>Workers</h2><p>No worker is running.</p></section>"
        }
        let rows = queue.workers.map { worker in
            let limits = [
                "\(worker.total) in total", worker.perHost.map { "\($0) per host" },
                worker.perUser.map { "\($0) per user" }, worker.resolves ? "resolves identifiers" : nil,
            ].compactMap(\.self).joined(separator: ", ")
            let problem =
                worker.isResponding
                ? "" : worker.failure == nil ? ", <b>doesn't respond</b>" : ", <b>stopped</b>"
            return
                "<tr\(problem.isEmpty ? "" : " class=\"failed\"")><td>\(escaped(worker.machine))</td><td class=n>\(worker.process)</td>"
                + "<td class=n>\(worker.runningCount)</td><td>\(limits)</td><td>\(time(worker.seen))\(problem)</td>"
                + "<td>\(worker.leaseEnd.map { time($0) } ?? "")</td></tr>"
        }
        return """
            <section id="workers"><h2>Workers</h2><table>
            <thead><tr><th scope="col">Machine</th><th scope="col">Process</th><th scope="col">Running</th><th scope="col">Limits</th>\
            <th scope="col">Reported</th><th scope="col">Lease until</th></tr></thead>
            <tbody>\(rows.joined())</tbody></table></section>
            """
    }
}
