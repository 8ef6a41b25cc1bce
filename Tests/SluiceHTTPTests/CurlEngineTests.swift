import Foundation
import LoopbackOrigin
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct `The threads of libcurl's engine` {
    private static let configuration = HTTPTransport.Configuration(
        connectTimeout: .seconds(600), stallTimeout: .seconds(600), proxy: .none)

    private static func withEngine(
        _ handler: @escaping LoopbackOrigin.Handler,
        during test: @Sendable (CurlEngine, HTTPTransport, LoopbackOrigin) async throws -> Void
    ) async throws {
        try await LoopbackOrigin.serve(handler) { origin in
            let engine = CurlEngine(configuration, loopCount: 2)
            try await HTTPTransport(configuration: configuration, engine: engine).whileOpen { transport in
                try await test(engine, transport, origin)
            }
        }
    }

    @Test func `run sequential requests on the first thread and concurrent ones on both`() async throws {
        let held = Gate()
        try await Self.withEngine { request in
            guard request.target == "/held" else { return OriginResponse(body: [1]) }
            return OriginResponse(announcedLength: 1, steps: [.perform { await held.pass() }, .send([1])])
        } during: { engine, transport, origin in
            let first = engine.carrier
            for _ in 0..<3 {
                let response = try await transport.open(.init(URL(fetchable: origin.url("/"))))
                #expect(try await response.body.collect(upTo: 1) == Data([1]))
                #expect(engine.carrier === first)
            }
            #expect(origin.metrics.connections == 1)

            let request = try TransportRequest(URL(fetchable: origin.url("/held")))
            async let one = transport.open(request).body.collect(upTo: 1)
            await held.arrivals(1)
            #expect(engine.carrier !== first)
            async let other = transport.open(request).body.collect(upTo: 1)
            await held.arrivals(2)
            #expect(engine.carrier === first)
            await held.open()
            #expect(try await [one, other] == [Data([1]), Data([1])])
            #expect(origin.metrics.connections == 2)
        }
    }

    @Test func `release exchanges that fail, are cancelled or never begin`() async throws {
        let held = Gate()
        try await Self.withEngine { _ in
            OriginResponse(announcedLength: 1, steps: [.perform { await held.pass() }, .hangUp])
        } during: { engine, transport, origin in
            let first = engine.carrier
            let request = try TransportRequest(URL(fetchable: origin.url("/")))
            let cancelled = Task { try await transport.open(request).body.collect(upTo: 1) }
            await held.arrivals(1)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            let early = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await transport.open(request)
            }
            await #expect(throws: CancellationError.self) { try await early.value }
            // Each thread runs one of these requests, and handles earlier work first.
            let one = Task { try await transport.open(request).body.collect(upTo: 1) }
            await held.arrivals(2)
            let other = Task { try await transport.open(request).body.collect(upTo: 1) }
            await held.arrivals(3)
            await held.open()
            await #expect(throws: TransferError.self) { try await one.value }
            await #expect(throws: TransferError.self) { try await other.value }
            #expect(engine.carrier === first)
        }
    }

    @Test func `end atomically, and later commands start another thread`() throws {
        let loop = CurlLoop(Self.configuration)
        let url = try URL(fetchable: "http://127.0.0.1/")
        let exchange = Exchange(TransportRequest(url), address: url.absoluteString, on: loop, bufferSize: 1)
        var state = CurlLoop.State(commands: [.stop(exchange), .start(exchange, proxy: "")], hasThread: true)
        let remains = state.threadEnds()
        #expect(remains.commands.count == 2 && state.commands.isEmpty && !state.hasThread)
        state.commands = [.start(exchange, proxy: "")]
        #expect(remains.commands.count == 2 && state.commands.count == 1)
    }

    @Test func `deliver chunks that stay unchanged, whatever their reader keeps or changes`() async throws {
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) }
        let whole = Data(body)
        try await Self.withEngine { request in
            request.target == "/whole"
                ? OriginResponse(body: body)
                : OriginResponse(
                    announcedLength: body.count,
                    steps: stride(from: 0, to: body.count, by: 7_000).map {
                        .send(Array(body[$0..<min($0 + 7_000, body.count)]))
                    })
        } during: { _, transport, origin in
            for target in ["/whole", "/pieces"] {
                var kept: [Data] = []
                for round in 0..<3 {
                    let response = try await transport.open(.init(URL(fetchable: origin.url(target))))
                    var offset = 0
                    for try await var chunk in response.body {
                        #expect(chunk == whole[offset..<offset + chunk.count])
                        offset += chunk.count
                        if round == 0 { kept.append(chunk) }
                        // The reader owns a chunk, so it may change it and append to it.
                        chunk[0] ^= 255
                        chunk.append(contentsOf: [UInt8](repeating: 9, count: 100_000))
                    }
                    #expect(offset == body.count)
                }
                #expect(kept.reduce(into: Data()) { $0.append($1) } == whole)
            }
        }
    }

    @Test func `reuse a block only after its last copy is released`() {
        let blocks = ReceiveBlocks()
        let start = blocks.take()
        start.initializeMemory(as: UInt8.self, repeating: 5, count: ReceiveBlocks.size)
        var data: Data? = blocks.data(start, count: ReceiveBlocks.size)
        let other = blocks.take()
        #expect(other != start)
        let copy = data
        data = nil
        #expect(copy?.allSatisfy { $0 == 5 } == true)
        let third = blocks.take()
        #expect(third != start)
        withExtendedLifetime(copy) {}
        _ = blocks.data(third, count: 1)
        _ = blocks.data(other, count: 1)
        let fourth = blocks.take()
        #expect(fourth == other)
        // Returns the block to the pool, which frees it.
        _ = blocks.data(fourth, count: 1)
    }
}
