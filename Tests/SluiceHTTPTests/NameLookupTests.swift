#if os(Linux)
import CTestSupport
import Foundation
import LoopbackOrigin
import TestSupport
import Testing

@testable import SluiceHTTP

/// Lookups of names below `held.invalid`, which block until the test releases them.
private final class HeldLookups: Sendable {
    static let shared = HeldLookups()

    private let begun = Guarded<[String: Gate]>([:])
    private let answered = Guarded<[String: DispatchSemaphore]>([:])

    private init() {
        ctest_set_lookup { HeldLookups.shared.hold(String(cString: $0)) }
    }

    private func hold(_ name: String) {
        let semaphore = answered.withLock { $0[name] }
        guard let semaphore else { return }
        let gate = begun.withLock { $0[name]! }
        Task { await gate.pass() }
        semaphore.wait()
    }

    /// Calls `body` with a URL and a gate. The lookup of the URL's host arrives at the gate, and blocks until `body` returns.
    func hold(_ label: String, during body: (URL, Gate) async throws -> Void) async throws {
        let name = "\(label).held.invalid"
        let (gate, semaphore) = (Gate(), DispatchSemaphore(value: 0))
        begun.withLock { $0[name] = gate }
        answered.withLock { $0[name] = semaphore }
        defer { for _ in 0..<10 { semaphore.signal() } }
        try await body(URL(fetchable: "http://\(name)/"), gate)
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A name server that doesn't respond` {
    @Test func `delays neither cancellation nor other transfers`() async throws {
        try await LoopbackOrigin.serve { _ in
            OriginResponse(body: [1, 2, 3])
        } during: { origin in
            let configuration = HTTPTransport.Configuration(connectTimeout: .seconds(600), proxy: .none)
            // Use one thread, which the lookup could block.
            let engine = CurlEngine(configuration, loopCount: 1)
            try await HTTPTransport(configuration: configuration, engine: engine).whileOpen { transport in
                try await HeldLookups.shared.hold("cancelled") { url, lookup in
                    let request = Task { try await transport.open(.init(url)) }
                    await lookup.arrivals(1)
                    let before = try await transport.open(.init(URL(fetchable: origin.url("/"))))
                    #expect(try await before.body.collect(upTo: 10) == Data([1, 2, 3]))
                    request.cancel()
                    await #expect(throws: CancellationError.self) { try await request.value }
                    // When the loop handles this request, it has already removed the cancelled transfer.
                    let after = try await transport.open(.init(URL(fetchable: origin.url("/"))))
                    #expect(try await after.body.collect(upTo: 10) == Data([1, 2, 3]))
                }
            }
        }
    }

    @Test func `doesn't delay shutdown, and causes an error after the connect timeout`() async throws {
        try await HeldLookups.shared.hold("late") { url, _ in
            try await HTTPTransport.withTransport(
                configuration: .init(connectTimeout: .milliseconds(100), proxy: .none)
            ) { transport in
                let error = await #expect(throws: TransferError.self) { try await transport.open(.init(url)) }
                #expect(error?.code == .connectTimedOut)
            }
        }
        try await HeldLookups.shared.hold("ended") { url, lookup in
            let transport = HTTPTransport(configuration: .init(connectTimeout: .seconds(600), proxy: .none))
            let request = Task { try await transport.open(.init(url)) }
            await lookup.arrivals(1)
            await transport.shutdown()
            let error = await #expect(throws: TransferError.self) { try await request.value }
            #expect(error?.code == .shutDown)
        }
    }
}
#endif
