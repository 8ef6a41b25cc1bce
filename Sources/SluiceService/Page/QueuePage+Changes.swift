import HTTPTypes
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: - Changing

extension QueuePage {
    private func checkChanges() throws(PageProblem) {
        guard !configuration.isReadOnly else {
            throw PageProblem(.forbidden, "This page only shows the queue. Use another one, or 'sluice queue'.")
        }
    }

    func add(_ request: PageRequest) async throws -> Response {
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
        answers.forget()
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
                "The directory must be a relative path with plain names, such as music/2026. It is below the worker's directory."
            )
        }
        if let text = one.checksum, !text.isEmpty {
            guard let checksum = Checksum(text) else {
                throw PageProblem(.badRequest, "The checksum must look like sha256:9f86…, with all its digits.")
            }
            request.checksum = checksum
        }
        return request
    }

    func change(_ request: PageRequest) async throws -> Response {
        try checkChanges()
        let change = try request.value(PageValues.Change.self)
        guard change.ids != nil || change.filter != nil else {
            throw PageProblem(
                .badRequest, "Name the downloads in 'ids', or give a 'filter'. An empty filter means all.")
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
        answers.forget()
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
            count += try await downloads.store.count(filter)
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
