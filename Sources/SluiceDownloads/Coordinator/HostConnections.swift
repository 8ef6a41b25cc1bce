import SluiceConcurrency

/// Counts the connections of downloads that are divided into segments, so that ``DownloadCoordinator/Limits/perHost`` limits connections.
///
/// A download has one connection. The other segments of its file borrow those that are free, and lose them when another download of the
/// host begins.
///
/// ```text
/// perHost = 4      download 1 █ ▒ ▒ ▒           three connections are borrowed
///                  download 1 █ ▒ ▒ │ 2 █       the second download takes one of them back
/// ```
final class HostConnections: Sendable {
    private struct Host: Sendable {
        var downloads = 0
        /// The loans, in the order in which they were made.
        var loans: [Int] = []

        var isUnused: Bool { downloads == 0 && loans.isEmpty }
        var connections: Int { downloads + loans.count }

        /// Whether a loan must end, because there are too many connections. The latest ones end first.
        func isRecalled(_ loan: Int, _ limit: Int) -> Bool {
            loans.suffix(max(0, connections - limit)).contains(loan)
        }
    }

    private struct State: Sendable {
        var hosts: [String: Host] = [:]
        var lastLoan = 0

        mutating func change(_ name: String, _ body: (inout Host) -> Void) {
            var host = hosts[name] ?? Host()
            body(&host)
            hosts[name] = host.isUnused ? nil : host
        }
    }

    static let unlimited = HostConnections(limit: nil)

    /// The most connections to a host; `nil` for no limit.
    private let limit: Int?
    private let state = Monitor(State())

    init(limit: Int?) { self.limit = limit }

    /// Runs a download, once enough of the borrowed connections have been returned.
    ///
    /// - Throws: `CancellationError`, or the error of `body`.
    func withDownload<Result>(from host: String, _ body: () async throws -> Result) async throws -> Result {
        guard let limit else { return try await body() }
        state.withState { $0.change(host) { $0.downloads += 1 } }
        defer { state.withState { $0.change(host) { $0.downloads -= 1 } } }
        try await state.waitUnlessCancelled { state in
            // With aliases of a host, there can be more downloads than the limit says.
            state.hosts[host].map { $0.loans.isEmpty || $0.connections <= limit } ?? true
        }
        return try await body()
    }

    /// Waits for a free connection, and runs `body` with it. If a download needs the connection, cancels `body` and returns `nil`.
    ///
    /// - Throws: `CancellationError`.
    func borrow<Result: Sendable>(
        from host: String, for body: @escaping @Sendable () async -> Result
    ) async throws -> Result? {
        guard let limit else { return await body() }
        let loan = try await state.waitUnlessCancelled { state -> Int? in
            guard state.hosts[host]?.connections ?? 0 < limit else { return nil }
            state.lastLoan += 1
            let loan = state.lastLoan
            state.change(host) { $0.loans.append(loan) }
            return loan
        }
        defer { state.withState { $0.change(host) { $0.loans.removeAll { $0 == loan } } } }
        return await withTaskGroup(of: Result?.self) { group in
            group.addTask { await body() }
            group.addTask { [state] in
                try? await state.waitUnlessCancelled { $0.hosts[host]?.isRecalled(loan, limit) ?? true }
                return nil
            }
            let first = await group.next() ?? nil
            // The connection is free once the body has ended.
            group.cancelAll()
            await group.waitForAll()
            return first
        }
    }
}
