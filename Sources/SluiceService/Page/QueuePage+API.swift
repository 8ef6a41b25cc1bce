import HTTPTypes
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - Routes

extension QueuePage {
    func route(_ request: PageRequest) async throws -> Response {
        try admit(request)
        let method = request.head.method == .head ? .get : request.head.method
        switch (method, request.path) {
        // What the login form needs.
        case (.get, ["page.css"]): return PageFiles.style.response(to: request)
        case (.get, ["icon.svg"]): return PageFiles.icon.response(to: request)
        case (.post, ["login"]): return try await login(request)
        case (.post, ["logout"]): return logout(request)
        default: break
        }
        guard isAuthorized(request) else {
            if method == .get, request.path.first != "api" {
                return Response(.html(PageHTML.login(self, isWrong: false)), status: .unauthorized)
            }
            throw PageProblem(
                .unauthorized, "This needs the token. Send it as 'Authorization: Bearer TOKEN'.",
                headerFields: [.wwwAuthenticate: "Bearer"])
        }
        switch (method, request.path) {
        case (.get, []):
            return request.lacksSlash ? .redirect(to: configuration.basePath + "/") : try await listPage(request)
        case (.get, ["page.js"]): return PageFiles.script.response(to: request)
        case (.get, ["login"]): return .redirect(to: configuration.basePath + "/")
        case (.get, let path) where path.count == 2 && path[0] == "downloads":
            return try await downloadPage(Self.id(path[1]), request)
        case (.get, ["api", "v1", "openapi.json"]): return PageFiles.description.response(to: request)
        case (.get, ["api", "v1", "queue"]): return try await queue(request)
        case (.get, ["api", "v1", "downloads"]): return try await list(request)
        case (.get, let path) where path.count == 4 && path.starts(with: ["api", "v1", "downloads"]):
            return Response(.json(try await download(Self.id(path[3]))))
        case (.get, ["api", "v1", "events"]): return try await events(request)
        case (.get, ["api", "v1", "stream"]): return try stream(request)
        case (.post, ["api", "v1", "downloads"]): return try await add(request)
        case (.post, ["api", "v1", "changes"]): return try await change(request)
        default: throw Self.problem(method, request.path)
        }
    }

    private static func id(_ text: String) throws(PageProblem) -> QueuedDownload.ID {
        guard let number = Int64(text), "\(number)" == text else { throw PageProblem.notFound }
        return QueuedDownload.ID(rawValue: number)
    }

    /// A path that exists for another method gets 405.
    private static func problem(_ method: HTTPRequest.Method, _ path: [String]) -> PageProblem {
        let allowed: String
        switch path {
        case [], ["page.js"], ["page.css"], ["icon.svg"], ["api", "v1", "queue"], ["api", "v1", "events"],
            ["api", "v1", "stream"], ["api", "v1", "openapi.json"]:
            allowed = "GET, HEAD"
        case ["login"], ["api", "v1", "downloads"]: allowed = "GET, HEAD, POST"
        case ["logout"], ["api", "v1", "changes"]: allowed = "POST"
        case _ where path.count == 2 && path[0] == "downloads",
            _ where path.count == 4 && path.starts(with: ["api", "v1", "downloads"]):
            allowed = "GET, HEAD"
        default: return .notFound
        }
        return PageProblem(
            .methodNotAllowed, "This path doesn't have the method \(method.rawValue). It has \(allowed).",
            headerFields: [.allow: allowed])
    }
}

// MARK: - Reading

extension QueuePage {
    /// The number of downloads on a page of the list, and the most that a client of the API can ask for.
    static let pageSize = 100
    private static let maximumPageSize: Int64 = 1000

    /// The number of running downloads above a list of all.
    static let runningRows = 20
    /// A worker that doesn't respond and runs nothing is forgotten after a while, unless it has said why it ended.
    private static let memory: TimeInterval = 600

    func inspection() async throws -> (queue: PageValues.Queue, outlook: QueueOutlook) {
        let inspection = try await downloads.inspect()
        let now = inspection.outlook.now
        let minutes = try await plots.value(for: "") {
            try await downloads.store.minutes(since: now.addingTimeInterval(-3600))
        }
        var queue = PageValues.Queue(inspection, minutes, configuration) { downloads.responds($0, now: now) }
        queue.workers.removeAll {
            !$0.isResponding && $0.failure == nil && $0.runningCount == 0
                && now.timeIntervalSince($0.seen) > Self.memory
        }
        return (queue, inspection.outlook)
    }

    private func queue(_ request: PageRequest) async throws -> Response {
        let data = try await answers.value(for: "queue") { PageValues.json(try await inspection().queue) }
        return Response(.file(data, type: "application/json"))
    }

    func page(
        _ filter: DownloadFilter, after position: ListPosition?, atMost count: Int, _ outlook: QueueOutlook
    ) async throws -> PageValues.Page {
        // One more tells whether there is another page.
        let found = try await downloads.list(filter, after: position, atMost: count + 1)
        let shown = found.prefix(count)
        let rates = feed.rates(of: Array(shown))
        return PageValues.Page(
            downloads: shown.map { listed in
                PageValues.Download(listed, outlook: outlook, rate: rates[listed.download.id])
            },
            next: found.count > count ? shown.last.map { "\($0.position.key).\($0.position.id)" } : nil)
    }

    private func list(_ request: PageRequest) async throws -> Response {
        try request.checkNames(["after", "limit"])
        let (filter, position) = (try request.filter(), try request.position())
        let count = Int(try request.number("limit", in: 1...Self.maximumPageSize, default: Int64(Self.pageSize)))
        let data = try await answers.value(for: "list \(count) \(String(describing: position)) \(filter)") {
            let outlook = try await downloads.inspect().outlook
            return PageValues.json(try await page(filter, after: position, atMost: count, outlook))
        }
        return Response(.file(data, type: "application/json"))
    }

    func download(_ id: QueuedDownload.ID) async throws -> PageValues.DownloadPage {
        guard let listed = try await downloads.listed(id) else {
            throw PageProblem(
                .notFound, "There is no download \(id) in this queue. It may have been removed.")
        }
        let outlook = try await downloads.inspect().outlook
        let events = try await downloads.store.events(of: id, atMost: 100)
        return PageValues.DownloadPage(
            download: PageValues.Download(listed, outlook: outlook, rate: feed.rates(of: [listed])[id]),
            events: events.map(\.redacted))
    }

    private func events(_ request: PageRequest) async throws -> Response {
        let after = try request.number("after", in: 0...Int64.max, default: 0)
        let count = Int(try request.number("limit", in: 1...Self.maximumPageSize, default: Int64(Self.pageSize)))
        do {
            let events = try await downloads.store.events(after: after, atMost: count)
            let next = events.last?.id.rawValue ?? after
            return Response(.json(PageValues.Events(events: events.map(\.redacted), next: next)))
        } catch let error as QueueStoreError where error.code == .eventsRemoved {
            throw PageProblem(
                .gone, "Events after \(after) have been removed. Read the queue, and continue after its cursor.")
        }
    }

    private func stream(_ request: PageRequest) throws -> Response {
        let text = request.head.headerFields[HTTPField.Name("Last-Event-ID")!] ?? request.query["after"]
        let cursor = text.flatMap { Int64($0) }.map { QueueEvent.Cursor(rawValue: $0) }
        guard request.head.method == .get else {
            return Response(.file(Data(), type: "text/event-stream"))
        }
        guard let stream = feed.stream(after: cursor) else {
            throw PageProblem(
                .serviceUnavailable, "Too many pages follow this queue. Ask for its state every few seconds instead.",
                headerFields: [.retryAfter: "30"])
        }
        var response = Response(.file(Data(), type: "text/event-stream"))
        // nginx would hold the events back.
        response.head.headerFields[HTTPField.Name("X-Accel-Buffering")!] = "no"
        response.body = .stream(stream)
        return response
    }
}
