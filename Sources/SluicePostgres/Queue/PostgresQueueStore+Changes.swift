#if PostgreSQL
package import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

// MARK: - New jobs

extension PostgresQueueStore {
    package func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        try QueueStoreError.refuseSecrets(in: requests)
        try QueueStoreError.refuseNames(of: requests, requests.map { ($0.user, options.batch) })
        let operation = call(
            "enqueue",
            [.text(options.batch ?? ""), .bool(options.keepsFinished)] + requests.columns(machine: options.machine) + [
                .texts(requests.map { $0.user ?? "" }), .integers(requests.map { Int64($0.priority) }),
            ])
        let rows = try await write([operation] + settingDetails(of: requests, machine: options.machine))[0]
        return try decoding { try zip(requests, rows).map { try EnqueuedJob($1, for: $0) } }
    }

    /// Sets checksums and mirrors in the transaction that adds the jobs. Most lists have none.
    private func settingDetails(of requests: [DownloadRequest], machine: String?) -> [Operation] {
        let detailed = requests.filter { $0.checksum != nil || !$0.mirrors.isEmpty }
        if detailed.isEmpty { return [] }
        return [
            call(
                "set_details",
                [
                    .texts(detailed.map(\.url.absoluteString)), .byteArrays(detailed.map(\.targetPath.bytes)),
                    .texts(detailed.map { $0.machine(machine) }),
                    .texts(detailed.map { $0.checksum?.description ?? "" }),
                    .texts(detailed.map { $0.storedMirrors ?? "" }),
                ])
        ]
    }
}

extension [DownloadRequest] {
    /// The parameters that identify jobs. `machine` is the machine that absolute targets belong to.
    func columns(machine: String?) -> [PostgresValue] {
        [
            .texts(map(\.url.absoluteString)), .texts(map(\.directory.absoluteString)), .texts(map(\.name)),
            .byteArrays(map(\.targetPath.bytes)), .texts(map { $0.host.storedHost }),
            .texts(map { $0.machine(machine) }),
            .bools(map(\.isUnresolved)),
        ]
    }
}

extension String {
    /// The host as stored in the tables. Hosts with the same long prefix, longer than any real name, count as one.
    var storedHost: String {
        utf8.count > QueueStoreError.longestName
            ? String(decoding: utf8.prefix(QueueStoreError.longestName), as: UTF8.self) : self
    }
}

extension DownloadRequest {
    /// The machine of the request's job. It is empty if workers on any machine may claim it, because its target is relative.
    func machine(_ machine: String?) -> String { isRelative ? "" : machine ?? "" }
}

extension EnqueuedJob {
    init(_ row: PostgresRow, for request: DownloadRequest) throws {
        let admission: DownloadHandle.Admission =
            switch try row.value("outcome", as: Int.self) {
            case 0: .added
            case 1: .joined
            case 2: .kept
            default: .conflict(with: URL(string: try row.value("other")) ?? request.url)
            }
        self.init(id: JobID(rawValue: try row.value("id")), admission: admission)
    }
}

// MARK: - Jobs of another queue

extension PostgresQueueStore: CopyableQueue {
    package func unfinished(after id: JobID, atMost count: Int) async throws -> [QueuedDownload] {
        let rows = try await read([Self.unfinishedQuery(after: id, atMost: count)])[0]
        return try decoding { try rows.map(QueuedDownload.init) }
    }

    static func unfinishedQuery(after id: JobID, atMost count: Int) -> Operation {
        Operation(
            sql: """
                SELECT * FROM download
                WHERE queue = $1 AND id > $2 AND state IN (\(JobState.unfinished)) AND NOT is_cancelled ORDER BY id LIMIT $3
                """, parameters: [.integer(id.rawValue), .integer(Int64(count))])
    }

    package func add(_ downloads: [QueuedDownload], machine: String?) async throws -> [EnqueuedJob] {
        let requests = downloads.map(\.request)
        try QueueStoreError.refuseSecrets(in: requests)
        let members = downloads.flatMap(\.members)
        try QueueStoreError.refuseNames(of: requests, members.map { ($0.user, $0.batch) })
        let operation = call(
            "copy",
            requests.columns(machine: machine) + [
                .integers(downloads.map { Int64($0.failureCount) }),
                .integers(downloads.map { Int64($0.members.count) }),
                .texts(members.map { $0.user ?? "" }), .texts(members.map { $0.batch ?? "" }),
                .integers(members.map { Int64($0.priority) }), .bools(members.map(\.isPaused)),
            ])
        let rows = try await write([operation] + settingDetails(of: requests, machine: machine))[0]
        return try decoding { try zip(requests, rows).map { try EnqueuedJob($1, for: $0) } }
    }
}

// MARK: - Changes of jobs

extension PostgresQueueStore {
    package func cancel(_ selection: QueuedDownload.Selection) async throws -> JobChange {
        try await change("cancel", selection)
    }

    package func pause(_ selection: QueuedDownload.Selection) async throws -> JobChange {
        try await change("pause", selection)
    }

    package func resume(_ selection: QueuedDownload.Selection) async throws -> [JobID] {
        try await jobs(changedBy: "resume", selection, Self.unfinished)
    }

    package func retry(_ selection: QueuedDownload.Selection) async throws -> [JobID] {
        try await jobs(changedBy: "retry", selection, [.failed, .cancelled])
    }

    package func prioritize(_ selection: QueuedDownload.Selection, priority: Int) async throws -> Int {
        try await count(changedBy: "prioritize", with: [.integer(Int64(priority))], selection, Self.unfinished)
    }

    package func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        try await count(changedBy: "remove", selection, QueuedDownload.State.allCases.filter(\.isFinal))
    }

    package func jobs(
        in selection: QueuedDownload.Selection, after id: JobID?, atMost count: Int
    ) async throws -> [QueuedDownload] {
        let find = Operation(
            // One by one, because the server may read the whole queue for a condition on the numbers.
            sql: """
                SELECT download.* FROM (
                    SELECT id FROM unnest(selected($1, $2, $3, $4, $5)) AS selected (id)
                    WHERE id > $6 ORDER BY id LIMIT $7) AS listed
                CROSS JOIN LATERAL (
                    SELECT * FROM download WHERE queue = $1 AND download.id = listed.id OFFSET 0) AS download
                ORDER BY listed.id
                """,
            parameters: selection.parameters(QueuedDownload.State.allCases) + [
                .integer(id?.rawValue ?? .min), .integer(Int64(max(0, count))),
            ])
        let rows = try await read([find])[0]
        return try decoding { try rows.map(QueuedDownload.init) }
    }

    package func pruneSome(olderThan age: Duration, keeping count: Int) async throws -> Bool {
        // Keeps more events than promised, because a list of many requests has many events.
        let operation = call(
            "prune",
            [
                .integer(age.milliseconds), .integer(Int64(count)), .integer(10 * Int64(keptEvents)),
                .integer(HostHealth.memory), .integer(Int64(prunedAtOnce)),
            ])
        // If a server crash brings something back, a later step removes it again.
        let rows = try await write([operation], waitsForDisk: false)[0]
        return try decoding { try rows.scalar() ?? false }
    }

    private static let unfinished: [QueuedDownload.State] = [.waiting, .running, .paused]

    /// Calls a function for the selected jobs, at most ``changedAtOnce`` per transaction, so that others get the queue's lock in between.
    /// `add` gets each row of the results.
    private func inSteps(
        _ function: String, with parameters: [PostgresValue] = [], _ selection: QueuedDownload.Selection,
        _ states: [QueuedDownload.State], _ add: (PostgresRow) throws -> Void
    ) async throws {
        let selected = selection.parameters(states)
        let ids: [Int64]
        if let named = selection.ids {
            ids = Set(named.map(\.rawValue)).sorted()
        } else {
            let find = Operation(sql: "SELECT unnest(selected($1, $2, $3, $4, $5))", parameters: selected)
            let rows = try await read([find])[0]
            ids = try decoding { try rows.map { try $0.value(at: 0) } }
        }
        for start in stride(from: 0, to: ids.count, by: changedAtOnce) {
            let some = PostgresValue.integers(Array(ids[start..<min(start + changedAtOnce, ids.count)]))
            let rows = try await write([call(function, parameters + selected.dropLast() + [some])])[0]
            try decoding { for row in rows { try add(row) } }
        }
    }

    private func change(_ function: String, _ selection: QueuedDownload.Selection) async throws -> JobChange {
        var change = JobChange()
        try await inSteps("change", with: [.text(function)], selection, Self.unfinished) { row in
            let id = JobID(rawValue: try row.value("job"))
            switch try row.value("effect", as: Int.self) {
            case 0: change.stopped.append(try QueuedDownload(row))
            case 1: change.cancelling.append(id)
            case 2: change.pausing.append(id)
            default: change.continuing.append(id)
            }
        }
        return change
    }

    private func jobs(
        changedBy function: String, _ selection: QueuedDownload.Selection, _ states: [QueuedDownload.State]
    ) async throws -> [JobID] {
        var jobs: [JobID] = []
        try await inSteps(function, selection, states) { jobs.append(JobID(rawValue: try $0.value(at: 0))) }
        return jobs
    }

    private func count(
        changedBy function: String, with parameters: [PostgresValue] = [], _ selection: QueuedDownload.Selection,
        _ states: [QueuedDownload.State]
    ) async throws -> Int {
        var count = 0
        try await inSteps(function, with: parameters, selection, states) {
            count = try count.addingClamped($0.value(at: 0))
        }
        return count
    }
}

extension QueuedDownload.Selection {
    /// The parameters of the function `selected`: the state numbers, the kind, the name and the job numbers.
    fileprivate func parameters(_ states: [QueuedDownload.State]) -> [PostgresValue] {
        var states = states
        if case .state(let state) = self { states = states.filter { $0 == state } }
        let columns = PostgresValue.integers(states.flatMap(\.stored).map { Int64($0.rawValue) })
        return switch self {
        // The server can't store such names.
        case .user(let name, ids: _) where name.utf8.contains(0), .batch(let name) where name.utf8.contains(0),
            .host(let name) where name.utf8.contains(0):
            [columns, "ids", "", .integers([])]
        // The function treats an empty list of IDs as no list, so it would select all of the user's jobs.
        case .user(_, ids: []): [columns, "ids", "", .integers([])]
        case .all, .state: [columns, "all", "", .integers([])]
        case .user(let user, let ids): [columns, "user", .text(user), .integers(ids?.map(\.rawValue) ?? [])]
        case .batch(let batch): [columns, "batch", .text(batch), .integers([])]
        case .host(let host): [columns, "host", .text(host.storedHost), .integers([])]
        case .ids(let ids): [columns, "ids", "", .integers(ids.map(\.rawValue))]
        }
    }
}
#endif
