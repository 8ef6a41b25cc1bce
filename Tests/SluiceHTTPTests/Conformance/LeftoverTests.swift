import Foundation
import LoopbackOrigin
import Testing

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(30))) struct `What requests leave behind` {
    /// The number of requests. `Scripts/checks/sanitizers.sh address SluiceHTTP` sends 10,000, with no other test in the process.
    private static let wanted = ProcessInfo.processInfo.environment["SLUICE_REQUESTS"].flatMap(Int.init)

    /// The targets of the process's open descriptors.
    private static func openDescriptors() throws -> [String] {
        let files = FileManager.default
        return try files.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }.sorted()
    }

    /// One in eight is cancelled, one in eight dropped unread, one in eight cut off by the server, and one in eight redirected.
    @Test(arguments: TestedTransport.having(.exactErrors))
    func `is no connection and no file descriptor, however they end`(tested: TestedTransport) async throws {
        let body = [UInt8](repeating: 7, count: 10_000)
        try await LoopbackOrigin.serve { request in
            switch request.target {
            case "/cut": OriginResponse(announcedLength: 20_000, steps: [.send(body), .hangUp])
            case "/elsewhere": .redirect(to: "/whole")
            default: OriginResponse(body: body)
            }
        } during: { origin in
            try await Self.exchange(16, tested, origin)
            // By now, the process has opened the descriptors that it keeps, such as the one that a thread uses to wait for sockets.
            let before = try Self.openDescriptors()
            try await Self.exchange(Self.wanted ?? 400, tested, origin)
            guard Self.wanted != nil else { return }
            let after = try Self.openDescriptors()
            #expect(after == before)
        }
    }

    /// Sends `count` requests over a new transport, and returns when the origin has no more open connections.
    private static func exchange(_ count: Int, _ tested: TestedTransport, _ origin: LoopbackOrigin) async throws {
        let configuration = HTTPTransport.Configuration(
            connectTimeout: .seconds(600), stallTimeout: .seconds(600), proxy: .none)
        try await tested.withTransport(configuration) { transport in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    if number >= 16 { try await group.next() }
                    group.addTask { try await request(number % 8, transport, origin) }
                }
                try await group.waitForAll()
            }
        }
        _ = try await origin.metrics { $0.openConnections == 0 && $0.running == 0 }
    }

    private static func request(_ kind: Int, _ transport: HTTPTransport, _ origin: LoopbackOrigin) async throws {
        let target = kind == 0 ? "/cut" : kind == 1 ? "/elsewhere" : "/whole"
        let url = try URL(fetchable: origin.url(target))
        let exchange = Task {
            let response = try await transport.open(.init(url))
            return kind == 2 ? nil : try await response.body.collect(upTo: 20_000)
        }
        if kind == 3 { exchange.cancel() }
        do {
            #expect(try await exchange.value?.count ?? 10_000 == 10_000)
        } catch is CancellationError where kind == 3 {
        } catch let error as TransferError where kind == 0 && error.code == .connectionClosed {
        }
    }
}
