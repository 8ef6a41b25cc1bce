import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite struct `The turns of mirrors` {
    @Test func `go through the URLs, then again through those that may still work`() {
        var turn = MirrorTurn(count: 3)
        #expect(turn.fail(isPermanent: false) == .next && turn.current == 1)
        #expect(turn.fail(isPermanent: true) == .next && turn.current == 2)
        #expect(turn.fail(isPermanent: false) == .again && turn.current == 0)
        #expect(turn.fail(isPermanent: true) == .next && turn.current == 2)
        #expect(turn.fail(isPermanent: false) == .again && turn.current == 2)
        #expect(turn.fail(isPermanent: true) == .allFailed)
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A download with mirrors` {
    private static let first = url("https://first.example/file")
    private static let second = url("https://second.example/pub/file")
    private static let third = url("https://third.example/file")

    private static func url(_ text: String) -> URL { URL(string: text)! }

    private static let content = Data(bytes(1000))

    private static func response(
        _ body: Data = content, _ fields: HTTPFields = [:], failure: TransferError? = nil
    ) -> ScriptedTransport.Answer {
        var fields = fields
        (fields[.contentLength], fields[.eTag]) = ("1000", "\"1\"")
        return .response(headerFields: fields, body: [body], failure: failure)
    }

    private static func status(_ status: HTTPResponse.Status) -> ScriptedTransport.Answer { .response(status: status) }

    private static func checksum(_ data: Data) -> Checksum {
        let running = RunningChecksum(.sha256)
        running.update(data)
        return running.finish()
    }

    private struct Outcome {
        var result: DownloadSummary.Result
        /// The hosts of the requests.
        var hosts: [String?]
        /// The hosts of the failed attempts, and whether a mirror followed at once.
        var failures: [(host: String?, code: TransferError.Code, isFailover: Bool)]
        var retryCount: Int
        var content: Data?
    }

    /// Downloads a file from these servers, with at most `retries` retries.
    private static func download(
        _ answers: [URL: [ScriptedTransport.Answer]], retries: Int = 3,
        configuration: DownloadCoordinator.Configuration? = nil,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> Outcome {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let transport = ScriptedTransport(answers)
            var request = DownloadRequest(first, to: directory)
            request.mirrors = [second, third]
            change(&request)
            var settings = configuration ?? .init(circuitBreaker: nil, durability: .none)
            settings.retries = RetryPolicy(maximumRetries: retries)
            let failures = Recorder<(host: String?, code: TransferError.Code, isFailover: Bool)>()
            let summary = try await ListDownloader(transport: transport, configuration: settings).run([request]) {
                switch $1 {
                case .retrying(_, let error, _): failures.note((error.url.host(), error.code, false))
                case .failedOver(_, let error, _): failures.note((error.url.host(), error.code, true))
                default: break
                }
            }
            return Outcome(
                result: summary.results[0], hosts: transport.requests.map { $0.url.host() },
                failures: failures.values, retryCount: summary.retryCount,
                content: try? Data(contentsOf: request.target))
        }
    }

    private static let failures: [ScriptedTransport.Answer] = [
        status(.notFound), status(.forbidden), status(.serviceUnavailable),
        .failure(TransferError(.connectionRefused, url: first)), .failure(TransferError(.hostNotFound, url: first)),
        .failure(TransferError(.tlsFailed, url: first)), response(content.prefix(999)),
    ]

    @Test(arguments: failures.indices) func `goes on with the next URL at once, whatever the server does`(
        index: Int
    ) async throws {
        let outcome = try await Self.download(
            [Self.first: [Self.failures[index]], Self.second: [Self.response()]], retries: 0)
        #expect(outcome.content == Self.content)
        #expect(outcome.hosts == ["first.example", "second.example"])
        #expect(outcome.failures.map(\.host) == ["first.example"] && outcome.failures.map(\.isFailover) == [true])
        #expect(outcome.retryCount == 0)
    }

    @Test func `names the server that sent wrong bytes, and none of them get a name`() async throws {
        let wrong = Data(bytes(1000, seed: 1))
        for fields in [[:], [.reprDigest: "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"]] as [HTTPFields] {
            let outcome = try await Self.download([
                Self.first: [Self.response(wrong)], Self.second: [Self.response(Self.content, fields)],
                Self.third: [Self.response()],
            ]) { $0.checksum = Self.checksum(Self.content) }
            #expect(outcome.content == Self.content)
            let liars = fields.isEmpty ? ["first.example"] : ["first.example", "second.example"]
            #expect(outcome.failures.map(\.host) == liars)
            #expect(outcome.failures.allSatisfy { $0.code == .digestMismatch })
        }
    }

    @Test func `fails once all have failed for good, with the last error and the URL that it belongs to`() async throws
    {
        let outcome = try await Self.download([:]) { $0.mirrors = [Self.second] }
        guard case .failed(let error) = outcome.result else {
            Issue.record("\(outcome.result)")
            return
        }
        #expect(
            error.status == .notFound && error.url == Self.second && error.subject == "https://second.example/pub/file")
        #expect(outcome.hosts == ["first.example", "second.example"])
    }

    @Test func `retries only those that may still work, as often as any download`() async throws {
        let outcome = try await Self.download([Self.second: [Self.status(.serviceUnavailable)]], retries: 2)
        #expect(outcome.hosts.map { $0?.prefix(1) } == ["f", "s", "t", "s", "s"])
        #expect(outcome.failures.map(\.isFailover) == [true, true, false, false] && outcome.retryCount == 2)
        guard case .failed(let error) = outcome.result else {
            Issue.record("\(outcome.result)")
            return
        }
        #expect(error.status == .serviceUnavailable && error.url == Self.second && error.attempts == 3)
    }

    @Test(arguments: [true, false]) func `continues what has arrived if the next server has the same version`(
        isSame: Bool
    ) async throws {
        let size = 600_000
        let (content, other) = (Data(bytes(size)), Data(bytes(size, seed: 1)))
        let fields: HTTPFields = [.contentLength: "\(size)", .eTag: "\"1\""]
        let present = 300_000
        let rest: HTTPFields = [
            .contentRange: "bytes \(present)-\(size - 1)/\(size)", .eTag: "\"1\"", .contentLength: "\(size - present)",
        ]
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let transport = ScriptedTransport([
                Self.first: [
                    .response(
                        headerFields: fields, body: [content.prefix(present)],
                        failure: TransferError(.connectionClosed, url: Self.first))
                ],
                Self.second: [
                    isSame
                        ? .response(
                            status: .partialContent, headerFields: rest, body: [content.dropFirst(present)])
                        : .response(headerFields: [.contentLength: "\(size)", .eTag: "\"2\""], body: [other])
                ],
            ])
            var request = DownloadRequest(Self.first, to: directory)
            request.mirrors = [Self.second]
            let summary = try await ListDownloader(transport: transport).run([request])
            #expect(summary.doneCount == 1)
            #expect(try Data(contentsOf: request.target) == (isSame ? content : other))
            #expect(transport.requests.count == 2)
            #expect(transport.requests.last?.headerFields[.range] == "bytes=\(present)-")
            #expect(try names(in: directory) == ["file"])
        }
    }

    @Test func `sends each server only its own header fields`() async throws {
        let asked = Recorder<String>()
        var configuration = DownloadCoordinator.Configuration(circuitBreaker: nil, durability: .none)
        configuration.headerFields = { request in
            asked.note(request.url.absoluteString)
            return [.authorization: "for \(request.url.host() ?? "")"]
        }
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { [configuration] directory in
            let other = Self.url("https://first.example/other")
            let transport = ScriptedTransport([Self.second: [Self.response()]])
            var request = DownloadRequest(Self.first, to: directory, headerFields: [.cookie: "secret"])
            request.mirrors = [other, Self.second]
            let summary = try await ListDownloader(transport: transport, configuration: configuration).run([request])
            #expect(summary.doneCount == 1)
            #expect(asked.values == [Self.first, other, Self.second].map(\.absoluteString))
            #expect(transport.requests.map { $0.headerFields[.cookie] } == ["secret", "secret", nil])
            #expect(
                transport.requests.map { $0.headerFields[.authorization] } == [
                    "for first.example", "for first.example", "for second.example",
                ])
        }
    }

    @Test func `counts toward the limit of the server that it uses`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let gate = Gate()
            let transport = AnsweringTransport { request, _ in
                guard request.url.host() == "second.example" else { return (.notFound, [:]) }
                await gate.pass()
                return (.ok, [:])
            }
            let downloads = ListDownloader(transport: transport, limits: .init(total: 8, perHost: 2))
                .coordinator(time: time)
            let requests = (0..<6).map { number in
                var request = DownloadRequest(Self.url("https://first.example/\(number)"), to: directory)
                request.mirrors = [Self.url("https://second.example/\(number)")]
                return request
            }
            try await downloads.enqueue(requests)
            let run = Task { try await downloads.run(until: .whenEmpty) }
            await gate.arrivals(2)
            // All six have failed at the first server before the third one may begin at the second.
            for try await snapshot in downloads.snapshots() where snapshot.counts == [.running: 2, .waiting: 4] {
                break
            }
            #expect(transport.count.withLock { $0 } <= 8)
            await gate.open()
            try await run.value
            #expect(transport.count.withLock { $0 } == 12)
            #expect(try await downloads.snapshot().counts == [.done: 6])
        }
    }
}
