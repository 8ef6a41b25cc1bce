#if PostgreSQL
package import SluiceDownloads

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension PostgresQueueStore {
    package func enqueue(_ requests: [DownloadRequest], options: EnqueueOptions) async throws -> [EnqueuedJob] {
        try QueueStoreError.refuseSecrets(in: requests)
        try QueueStoreError.refuseNames(of: requests, requests.map { ($0.user, options.batch) })
        let operation = call(
            "enqueue",
            [.text(options.batch ?? ""), .bool(options.keepsFinished)] + requests.columns(place: options.place) + [
                .texts(requests.map { $0.user ?? "" }), .integers(requests.map { Int64($0.priority) }),
            ])
        let rows = try await write([operation])[0]
        return try decoding { try zip(requests, rows).map { try EnqueuedJob($1, for: $0) } }
    }
}

extension [DownloadRequest] {
    /// The parameters that identify jobs. `place` is the machine to which absolute targets belong.
    func columns(place: String?) -> [PostgresValue] {
        [
            .texts(map(\.url.absoluteString)), .texts(map(\.directory.absoluteString)), .texts(map(\.name)),
            .byteArrays(map(\.targetPath.bytes)), .texts(map { $0.host.storedHost }), .texts(map { $0.place(place) }),
            .bools(map(\.isUnresolved)),
        ]
    }
}

extension String {
    /// The host as the tables have it. Hosts with the same long beginning, which no name service has, count as one.
    var storedHost: String {
        utf8.count > QueueStoreError.longestName
            ? String(decoding: utf8.prefix(QueueStoreError.longestName), as: UTF8.self) : self
    }
}

extension DownloadRequest {
    /// The place of the request's job: empty if workers on every machine may claim it, because its target is relative.
    func place(_ machine: String?) -> String { isRelative ? "" : machine ?? "" }
}

extension EnqueuedJob {
    init(_ row: PostgresRow, for request: DownloadRequest) throws {
        let outcome: DownloadHandle.Outcome =
            switch try row.value("outcome", as: Int.self) {
            case 0: .added
            case 1: .joined
            case 2: .kept
            default: .conflict(with: URL(string: try row.value("other")) ?? request.url)
            }
        self.init(id: JobID(rawValue: try row.value("id")), outcome: outcome)
    }
}
#endif
