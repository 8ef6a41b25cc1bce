#if PostgreSQL
import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(10))) struct `A run whose server fails` {
    @Test func `goes on when the server is back, and fails no job`()
        async throws
    {
        try await Servers.withMortal { url in
            try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
                let gate = Gate()
                let answer: LoopbackOrigin.Handler = { _ in
                    await gate.pass()
                    return OriginResponse(body: Array(repeating: 7, count: 1000))
                }
                try await LoopbackOrigin.serve(answer) { origin in
                    try await Self.run(url, origin, gate, directory)
                }
            }
        }
    }

    private static func run(_ url: String, _ origin: LoopbackOrigin, _ gate: Gate, _ directory: URL) async throws {
        let downloads = DownloadCoordinator(
            store: .postgres(url, queue: "run \(UInt64.random(in: 0 ... .max))", namespace: "run_tests"),
            limits: .init(total: 4, perHost: nil), configuration: .init(durability: .none, lease: .seconds(3600)))
        let requests = try (0..<12).map {
            DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory, name: "\($0)")
        }
        let handles = try await downloads.enqueue(requests)
        let warnings = Monitor<[QueueStoreError.Code]>([])
        async let run: Void = downloads.run(until: .whenEmpty) { _ in
        } onWarning: { error in
            warnings.withState { $0.append(error.code) }
        }
        await gate.arrivals(4)
        try await Servers.control("kill")
        // Four transfers end now, and their outcomes can't be recorded.
        await gate.open()
        try await warnings.waitUnlessCancelled(where: { $0.contains(.unavailable) })
        try await Servers.control("start")
        try await run
        #expect(warnings.state.filter { $0 == .unavailable }.count == 1)
        // A crash may undo the claims, and then the jobs are claimed again and their files compared.
        #expect((12...16).contains(origin.metrics.requests))
        for handle in handles { #expect(try await handle.result.bytes == 1000) }
        var done: [QueuedDownload.ID] = []
        for try await event in downloads.events() {
            if event.kind == .done { done.append(event.job) }
            #expect(event.kind == .added || event.kind == .started || event.kind == .done)
            if done.count == 12 { break }
        }
        #expect(done.sorted() == handles.map(\.id).sorted())
        try await downloads.close()
    }
}
#endif
