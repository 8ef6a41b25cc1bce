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
    private static let largestPage: Int64 = 1000

    /// The number of running downloads above a list of all.
    static let runningCount = 20
    /// A worker that doesn't respond and runs nothing is forgotten after a while.
    private static let memory: TimeInterval = 600

    func inspection() async throws -> (queue: PageValues.Queue, outlook: QueueOutlook) {
        let inspection = try await downloads.inspect()
        let now = inspection.outlook.now
        let minutes = try await downloads.minutes(since: now.addingTimeInterval(-3600))
        var queue = PageValues.Queue(inspection, minutes, configuration) { downloads.responds($0, now: now) }
        queue.workers.removeAll {
            !$0.isResponding && $0.runningCount == 0 && now.timeIntervalSince($0.seen) > Self.memory
        }
        return (queue, inspection.outlook)
    }

    private func queue(_ request: PageRequest) async throws -> Response {
        let data = try await recent.data(for: "queue") {
            guard case .data(let data) = Response(.json(try await inspection().queue)).body else { return Data() }
            return data
        }
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
        let count = Int(try request.number("limit", in: 1...Self.largestPage, default: Int64(Self.pageSize)))
        let data = try await recent.data(for: "list \(count) \(String(describing: position)) \(filter)") {
            let outlook = try await downloads.inspect().outlook
            let page = try await page(filter, after: position, atMost: count, outlook)
            guard case .data(let data) = Response(.json(page)).body else { return Data() }
            return data
        }
        return Response(.file(data, type: "application/json"))
    }

    func download(_ id: QueuedDownload.ID) async throws -> PageValues.DownloadPage {
        guard let listed = try await downloads.listed(id) else {
            throw PageProblem(
                .notFound, "There is no download \(id) in this queue. It may have been removed.")
        }
        let outlook = try await downloads.inspect().outlook
        let events = try await downloads.events(of: id, atMost: 100)
        return PageValues.DownloadPage(
            download: PageValues.Download(listed, outlook: outlook, rate: feed.rates(of: [listed])[id]),
            events: events.map { PageValues.Event($0) })
    }

    private func events(_ request: PageRequest) async throws -> Response {
        let after = try request.number("after", in: 0...Int64.max, default: 0)
        let count = Int(try request.number("limit", in: 1...Self.largestPage, default: Int64(Self.pageSize)))
        do {
            let events = try await downloads.events(after: after, atMost: count)
            return Response(
                .json(
                    PageValues.Events(
                        events: events.map { PageValues.Event($0) }, next: events.last?.id.rawValue ?? after)))
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

// MARK: - Changing

extension QueuePage {
    private func checkChanges() throws(PageProblem) {
        guard !configuration.isReadOnly else {
            throw PageProblem(.forbidden, "This page only shows the queue. Use another one, or 'sluice queue'.")
        }
    }

    private func add(_ request: PageRequest) async throws -> Response {
        try checkChanges()
        let addition = try request.value(PageValues.Addition.self)
        guard (1...10_000).contains(addition.downloads.count) else {
            throw PageProblem(.badRequest, "'downloads' must have 1 to 10000 elements.")
        }
        let requests = try addition.downloads.enumerated().map { index, one in
            do {
                return try Self.request(one)
            } catch let problem as PageProblem {
                throw PageProblem(problem.status, "downloads[\(index)]: \(problem.message)")
            }
        }
        let batch = addition.batch.flatMap { $0.isEmpty ? nil : $0 }
        let handles: [DownloadHandle]
        do {
            handles = try await downloads.enqueue(requests, batch: batch)
        } catch let error as QueueStoreError where error.code == .unusable || error.code == .other {
            throw PageProblem(.badRequest, Redaction().redacted("\(error)"))
        }
        recent.forget()
        return Response(
            .json(
                PageValues.Added(
                    downloads: handles.map { handle in
                        let admission =
                            switch handle.admission {
                            case .added: "added"
                            case .joined: "joined"
                            case .kept: "kept"
                            case .conflict: "conflict"
                            }
                        return PageValues.Added.Download(id: handle.id.rawValue, admission: admission)
                    })), status: .created)
    }

    private static func request(_ one: PageValues.Addition.Request) throws -> DownloadRequest {
        let url: URL
        do {
            url = try URL(fetchable: one.url)
        } catch {
            throw PageProblem(.badRequest, Redaction().redacted("\(error)"))
        }
        let user = one.user.flatMap { $0.isEmpty ? nil : $0 }
        let name = one.name.flatMap { $0.isEmpty ? nil : $0 }
        var request: DownloadRequest
        do {
            request = try DownloadRequest(
                url, below: one.directory ?? "", name: name, user: user, priority: one.priority ?? 0)
        } catch {
            throw PageProblem(
                .badRequest,
                "The directory must be a relative path with plain names, such as music/2026. It is below the worker's directory.")
        }
        if let text = one.checksum, !text.isEmpty {
            guard let checksum = Checksum(text) else {
                throw PageProblem(.badRequest, "The checksum must look like sha256:9f86…, with all its digits.")
            }
            request.checksum = checksum
        }
        return request
    }

    private func change(_ request: PageRequest) async throws -> Response {
        try checkChanges()
        let change = try request.value(PageValues.Change.self)
        guard change.ids != nil || change.filter != nil else {
            throw PageProblem(.badRequest, "Name the downloads in 'ids', or give a 'filter'. An empty filter means all.")
        }
        guard change.ids == nil || change.filter == nil else {
            throw PageProblem(.badRequest, "Give either 'ids' or 'filter'.")
        }
        guard change.ids?.count ?? 0 <= 10_000 else {
            throw PageProblem(.badRequest, "'ids' may have at most 10000 elements. Use a filter for more.")
        }
        guard (change.action == .prioritize) == (change.priority != nil) else {
            throw PageProblem(.badRequest, "The action 'prioritize' needs a 'priority', and the others have none.")
        }
        let changes = QueueChanges(downloads: downloads, action: change.action, priority: change.priority ?? 0)
        let isPreview = change.isPreview ?? false
        let ids = change.ids.map { Set($0).sorted().map { QueuedDownload.ID(rawValue: $0) } }
        var result = PageValues.Changed(changedCount: 0, stoppingCount: 0, isPreview: isPreview)
        switch (isPreview, ids, change.filter) {
        case (true, let ids?, _): result.changedCount = try await changes.count(ids)
        case (true, nil, let filter?): result.changedCount = try await changes.count(filter)
        case (false, let ids?, _): try await changes.make(to: .ids(ids), adding: &result)
        case (false, nil, let filter?): try await changes.make(to: filter, adding: &result)
        case (_, nil, nil): break
        }
        recent.forget()
        return Response(.json(result))
    }
}

/// One kind of change to some downloads.
private struct QueueChanges: Sendable {
    let downloads: DownloadCoordinator
    let action: PageValues.Change.Action
    let priority: Int

    /// The states of the downloads that the action changes.
    private var states: [QueuedDownload.State] {
        switch action {
        case .pause, .prioritize: [.waiting, .running] + (action == .prioritize ? [.paused] : [])
        case .cancel: [.waiting, .running, .paused]
        case .resume: [.paused]
        case .retry: [.failed, .cancelled]
        case .remove: [.done, .failed, .cancelled]
        }
    }

    // MARK: Counting

    func count(_ ids: [QueuedDownload.ID]) async throws -> Int {
        try await downloads.downloads(.ids(ids), maximumCount: ids.count).count { states.contains($0.state) }
    }

    func count(_ filter: DownloadFilter) async throws -> Int {
        var count = 0
        for state in states where filter.state == nil || filter.state == state {
            var filter = filter
            filter.state = state
            count += try await downloads.count(filter)
        }
        return count
    }

    // MARK: Changing

    /// A filter with one condition is a selection of the queue, and means the same: for a user or a batch, other members stay.
    func make(to filter: DownloadFilter, adding result: inout PageValues.Changed) async throws {
        if let selection = filter.selection { return try await make(to: selection, adding: &result) }
        for state in states where filter.state == nil || filter.state == state {
            var filter = filter
            filter.state = state
            var ids: [QueuedDownload.ID] = []
            var last: ListPosition?
            // All of them are found before the first is changed, because a changed one leaves the list.
            repeat {
                let found = try await downloads.list(filter, after: last, atMost: 1000)
                ids += found.map(\.download.id)
                last = found.count == 1000 ? found.last?.position : nil
            } while last != nil
            for start in stride(from: 0, to: ids.count, by: 1000) {
                let some = Array(ids[start..<min(start + 1000, ids.count)])
                try await make(to: filter.user.map { .user($0, ids: some) } ?? .ids(some), adding: &result)
            }
        }
    }

    func make(to selection: QueuedDownload.Selection, adding result: inout PageValues.Changed) async throws {
        let report =
            switch action {
            case .pause: try await downloads.pause(selection, waits: false)
            case .resume: try await downloads.resume(selection)
            case .cancel: try await downloads.cancel(selection, waits: false)
            case .retry: try await downloads.retry(selection)
            case .remove: try await downloads.remove(selection)
            case .prioritize: try await downloads.prioritize(selection, priority: priority)
            }
        result.changedCount += report.changedCount
        result.stoppingCount += report.stopping.count
    }
}

extension DownloadFilter {
    /// The selection that means the same, if the filter has at most one condition that a selection can have.
    fileprivate var selection: QueuedDownload.Selection? {
        switch (state, user, batch, host, name) {
        case (nil, nil, nil, nil, nil): .all
        case (let state?, nil, nil, nil, nil): .state(state)
        case (nil, let user?, nil, nil, nil): .user(user)
        case (nil, nil, let batch?, nil, nil): .batch(batch)
        case (nil, nil, nil, let host?, nil): .host(host)
        default: nil
        }
    }
}
