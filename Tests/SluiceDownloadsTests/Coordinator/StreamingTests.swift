import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Streaming a file` {
    private static let content = bytes(3_000_000)

    /// Streams `/a` with retries that wait for nothing.
    private static func stream(
        _ downloader: ListDownloader, _ origin: LoopbackOrigin, checksum: Checksum? = nil,
        to receive: @escaping @Sendable (Data) async throws -> Void
    ) async throws -> Int64 {
        let time = VirtualTime()
        return try await downloader.coordinator(time: time).stream(
            URL(fetchable: origin.url("/a")), checksum: checksum,
            onEvent: { event in
                guard case .retrying(_, _, let delay) = event else { return }
                // The call sleeps after it has reported this.
                Task {
                    try await time.sleeper(until: delay)
                    time.advance(by: delay)
                }
            }, to: receive)
    }

    @Test(arguments: [0, 1, 1000, 3_000_000], [true, false])
    func `the bytes arrive in order, whether their number is announced or not`(size: Int, isAnnounced: Bool)
        async throws
    {
        let content = Array(Self.content.prefix(size))
        try await downloading { _ in
            OriginResponse(announcedLength: isAnnounced ? size : nil, steps: [.send(content)])
        } during: { downloader, origin, directory in
            let received = Recorder<Data>()
            let count = try await Self.stream(downloader, origin) {
                #expect(!$0.isEmpty)
                received.note($0)
            }
            #expect(count == size && received.values.reduce(Data(), +) == Data(content))
            #expect(try names(in: directory).isEmpty)
        }
    }

    @Test func `each attempt has the configuration's header fields and cookies`() async throws {
        let url = try #require(URL(string: "https://a.example/file"))
        let transport = ScriptedTransport([url: [.response(status: .serviceUnavailable), .response(body: [Data([1])])]])
        let jar = CookieJar()
        var configuration = DownloadCoordinator.Configuration(retries: RetryPolicy(maximumRetries: 1))
        configuration.headerFields = { [.authorization: $0.url.host() ?? ""] }
        configuration.cookies = { _ in jar }
        let time = VirtualTime()
        let downloads = ListDownloader(transport: transport, configuration: configuration).coordinator(time: time)
        let stream = Task { try await downloads.stream(url) { _ in } }
        try await time.sleeper(until: .seconds(3600))
        time.advance(by: .seconds(3600))
        #expect(try await stream.value == 1)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["a.example", "a.example"])
        #expect(transport.requests.allSatisfy { $0.cookies === jar })
    }

    @Test func `a failure is retried until the first bytes have been passed on`() async throws {
        for (failures, isBegun) in [(1, false), (1, true)] {
            try await downloading { request in
                guard request.attempt <= failures else { return OriginResponse(body: Self.content) }
                return isBegun
                    ? OriginResponse(
                        announcedLength: 3_000_000, steps: [.send(Array(Self.content.prefix(100_000))), .hangUp])
                    : OriginResponse(status: 503)
            } during: { downloader, origin, _ in
                let received = Recorder<Int>()
                guard isBegun else {
                    let count = try await Self.stream(downloader, origin) { received.note($0.count) }
                    #expect(count == 3_000_000 && received.values.reduce(0, +) == 3_000_000)
                    #expect(origin.metrics.requests == 2)
                    return
                }
                let error = await #expect(throws: TransferError.self) {
                    try await Self.stream(downloader, origin) { received.note($0.count) }
                }
                #expect(error?.isTransient == true && received.values.reduce(0, +) == 100_000)
                #expect(origin.metrics.requests == 1)
            }
        }
    }

    @Test func `a wrong checksum, length or size fails`() async throws {
        let wrong = Checksum("sha256:" + SHA256Digest.of([1]).hexadecimal)
        try await downloading { _ in
            OriginResponse(body: Self.content)
        } during: { downloader, origin, _ in
            var error = await #expect(throws: TransferError.self) {
                try await Self.stream(downloader, origin, checksum: wrong) { _ in }
            }
            #expect(error?.code == .digestMismatch)
            let right = Checksum("sha256:" + SHA256Digest.of(Self.content).hexadecimal)
            let count = try await Self.stream(downloader, origin, checksum: right) { _ in }
            #expect(count == 3_000_000)
            var downloader = downloader
            downloader.configuration.maximumSize = 1000
            error = await #expect(throws: TransferError.self) { try await Self.stream(downloader, origin) { _ in } }
            #expect(error?.code == .tooLarge)
        }
        try await downloading { _ in
            OriginResponse(status: 404)
        } during: { downloader, origin, _ in
            let error = await #expect(throws: TransferError.self) { try await Self.stream(downloader, origin) { _ in } }
            #expect(error?.status == .notFound && origin.metrics.requests == 1)
        }
    }

    @Test func `a receiver that waits stops the server, and one that throws ends the download`() async throws {
        struct Enough: Error {}
        let sent = Recorder<Int>()
        let chunk = [UInt8](repeating: 7, count: 1 << 20)
        try await downloading { _ in
            // 200 MB, of which most stay on the server.
            OriginResponse(
                announcedLength: 200 << 20,
                steps: (0..<200).flatMap { index in
                    [OriginResponse.Step.send(chunk), .perform { sent.note(index) }]
                })
        } during: { downloader, origin, _ in
            let held = Gate()
            let streaming = Task {
                try await Self.stream(downloader, origin) { _ in
                    await held.pass()
                    throw Enough()
                }
            }
            await held.arrivals(1)
            #expect(sent.values.count < 100)
            await held.open()
            await #expect(throws: Enough.self) { try await streaming.value }
        }
    }

    @Test func `a cancelled task streams no further`() async throws {
        try await downloading { _ in
            OriginResponse(announcedLength: 1000, steps: [.send([1, 2, 3]), .stall])
        } during: { downloader, origin, _ in
            let began = Gate()
            let streaming = Task { try await Self.stream(downloader, origin) { _ in await began.pass() } }
            await began.arrivals(1)
            streaming.cancel()
            await began.open()
            await #expect(throws: CancellationError.self) { try await streaming.value }
        }
    }
}
