import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

/// Bytes that depend on their position.
func bytes(_ count: Int, seed: Int = 0) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        for index in 0..<count {
            buffer[index] = UInt8(truncatingIfNeeded: (index &* 31 &+ index >> 8) ^ seed)
        }
        initialized = count
    }
}

/// Downloads lists, each with a separate queue in memory; a delay before a retry passes immediately.
struct ListDownloader: Sendable {
    let transport: any Transport
    var limits = DownloadCoordinator.Limits(total: 4, perHost: nil)
    var configuration = DownloadCoordinator.Configuration(circuitBreaker: nil, durability: .none)
    var files = FileIO.shared
    var resolve: DownloadCoordinator.Resolver?

    func coordinator(store: (any QueueStore)? = nil, time: VirtualTime = VirtualTime()) -> DownloadCoordinator {
        DownloadCoordinator(
            store: store ?? MemoryQueueStore(time: time.queueTime), transport: transport, limits: limits,
            configuration: configuration, resolve: resolve, files: files, timing: time.timing)
    }

    func run(
        _ requests: [DownloadRequest], onEvent: @escaping @Sendable (Int, DownloadEvent) -> Void = { _, _ in }
    ) async throws -> DownloadSummary {
        let time = VirtualTime()
        return try await coordinator(time: time).download(requests) { index, event in
            onEvent(index, event)
            if case .retrying(_, _, let delay) = event { time.advance(by: delay) }
        }
    }
}

/// Calls `body` with a transport with long timeouts, because server and test share their threads with all other tests.
func withPatientTransport<Result>(_ body: (HTTPTransport) async throws -> Result) async throws -> Result {
    let patience = HTTPTransport.Configuration(connectTimeout: .seconds(3600), stallTimeout: .seconds(3600))
    return try await HTTPTransport.withTransport(configuration: patience, body)
}

/// Waits until the gate holds as many of the origin's responses as a limit allows, expects no further request, and opens the gate.
func expect(_ limit: Int, heldAt gate: Gate, by origin: LoopbackOrigin) async throws {
    await gate.arrivals(limit)
    // A request above the limit would have been sent before these.
    try await LoopbackOrigin.serve { _ in
        OriginResponse()
    } during: { other in
        try await withPatientTransport { transport in
            for _ in 0..<3 { _ = try await transport.open(TransportRequest(URL(fetchable: other.url("/")))) }
        }
    }
    #expect(origin.metrics.requests == limit)
    await gate.open()
}

/// A downloader, an origin that answers with a closure, and an empty directory.
func downloading(
    from handler: @escaping LoopbackOrigin.Handler, existing: ExistingFile = .fail, retries: Int = 3,
    concurrency: Int = 4, files: FileIO = .shared,
    during test: @escaping @Sendable (ListDownloader, LoopbackOrigin, URL) async throws -> Void
) async throws {
    try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
        try await LoopbackOrigin.serve(handler) { origin in
            try await withPatientTransport { transport in
                let downloader = ListDownloader(
                    transport: transport, limits: DownloadCoordinator.Limits(total: concurrency, perHost: nil),
                    configuration: .init(
                        retries: RetryPolicy(maximumRetries: retries), existing: existing, durability: .none),
                    files: files)
                try await test(downloader, origin, directory)
            }
        }
    }
}

/// The names in a directory, sorted.
func names(in directory: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
}

/// Answers requests with a closure that gets the request and its number, starting at 1.
struct AnsweringTransport: Transport {
    typealias Answer = (status: HTTPResponse.Status, fields: HTTPFields)

    let count = Guarded(0)
    let answer: @Sendable (_ request: TransportRequest, _ number: Int) async throws -> Answer

    init(_ answer: @escaping @Sendable (_ request: TransportRequest, _ number: Int) async throws -> Answer) {
        self.answer = answer
    }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let (status, fields) = try await answer(request, number)
        return try await ScriptedTransport([
            request.url: [.response(status: status, headerFields: fields, body: [Data("song".utf8)])]
        ]).open(request)
    }
}
