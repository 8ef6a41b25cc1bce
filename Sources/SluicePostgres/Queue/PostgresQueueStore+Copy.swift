#if PostgreSQL
package import SluiceDownloads

extension PostgresQueueStore: CopyableQueue {
    package func unfinished(after id: JobID, atMost count: Int) async throws -> [QueuedDownload] {
        let rows = try await read([Self.unfinishedQuery(after: id, atMost: count)])[0]
        return try decoding { try rows.map(QueuedDownload.init) }
    }

    static func unfinishedQuery(after id: JobID, atMost count: Int) -> Operation {
        Operation(
            sql: """
                SELECT * FROM download
                WHERE queue = $1 AND id > $2 AND state IN (0, 1, 5, 6) AND NOT is_cancelled ORDER BY id LIMIT $3
                """, parameters: [.integer(id.rawValue), .integer(Int64(count))])
    }

    package func add(_ downloads: [QueuedDownload], place: String?) async throws -> [EnqueuedJob] {
        let requests = downloads.map(\.request)
        try QueueStoreError.refuseSecrets(in: requests)
        let members = downloads.flatMap(\.members)
        try QueueStoreError.refuseNames(of: requests, members.map { ($0.user, $0.batch) })
        let operation = call(
            "copy",
            requests.columns(place: place) + [
                .integers(downloads.map { Int64($0.failureCount) }),
                .integers(downloads.map { Int64($0.members.count) }),
                .texts(members.map { $0.user ?? "" }), .texts(members.map { $0.batch ?? "" }),
                .integers(members.map { Int64($0.priority) }), .bools(members.map(\.isPaused)),
            ])
        let rows = try await write([operation])[0]
        return try decoding { try zip(requests, rows).map { try EnqueuedJob($1, for: $0) } }
    }
}
#endif
