#if PostgreSQL
package import SluiceDownloads

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
        let parameters = [.integer(Int64(priority))] + selection.parameters(Self.unfinished)
        let rows = try await write([call("prioritize", parameters)])[0]
        return try decoding { try rows.scalar() ?? 0 }
    }

    package func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        let parameters = selection.parameters(QueuedDownload.State.allCases.filter(\.isFinal))
        let rows = try await write([call("remove", parameters)])[0]
        return try decoding { try rows.scalar() ?? 0 }
    }

    package func pruneSome(olderThan age: Duration, keeping count: Int) async throws -> Bool {
        // More events than are promised, because a list of many requests has many events.
        let operation = call(
            "prune",
            [
                .integer(age.milliseconds), .integer(Int64(count)), .integer(10 * Int64(keptEvents)),
                .integer(HostHealth.memory), .integer(Int64(prunedAtOnce)),
            ])
        // A later step removes again what a crash of the server has brought back.
        let rows = try await write([operation], waitsForDisk: false)[0]
        return try decoding { try rows.scalar() ?? false }
    }

    private static let unfinished: [QueuedDownload.State] = [.waiting, .running, .paused]

    private func change(_ function: String, _ selection: QueuedDownload.Selection) async throws -> JobChange {
        let rows = try await write([call("change", [.text(function)] + selection.parameters(Self.unfinished))])[0]
        return try decoding {
            var change = JobChange()
            for row in rows {
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
    }

    private func jobs(
        changedBy function: String, _ selection: QueuedDownload.Selection, _ states: [QueuedDownload.State]
    ) async throws -> [JobID] {
        let rows = try await write([call(function, selection.parameters(states))])[0]
        return try decoding { try rows.map { JobID(rawValue: try $0.value(at: 0)) } }
    }
}

extension QueuedDownload.Selection {
    /// The parameters of the function `selected`: the numbers of the states, the kind, the name and the numbers of jobs.
    fileprivate func parameters(_ states: [QueuedDownload.State]) -> [PostgresValue] {
        var states = states
        if case .state(let state) = self { states = states.filter { $0 == state } }
        let columns = PostgresValue.integers(states.flatMap(\.numbers))
        return switch self {
        // The server has no such names.
        case .user(let name) where name.utf8.contains(0), .batch(let name) where name.utf8.contains(0),
            .host(let name) where name.utf8.contains(0):
            [columns, "ids", "", .integers([])]
        case .all, .state: [columns, "all", "", .integers([])]
        case .user(let user): [columns, "user", .text(user), .integers([])]
        case .batch(let batch): [columns, "batch", .text(batch), .integers([])]
        case .host(let host): [columns, "host", .text(host.storedHost), .integers([])]
        case .ids(let ids): [columns, "ids", "", .integers(ids.map(\.rawValue))]
        }
    }
}
#endif
