import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Requests with an identifier` {
    private struct Refusal: Error {}

    private static let directory = URL(string: "file:///music/")!

    @Test(arguments: ["7", "song 7", "a/b?c#d", "..", ".", "%2F", "\u{1F3B5} caf\u{e9}", "x'; --"])
    func `have a URL that contains their identifier and host`(_ id: String) throws {
        let request = DownloadRequest(resolving: id, host: "CDN.example:8443", to: Self.directory, name: "a")
        #expect(request.unresolvedID == id)
        #expect(request.host == "cdn.example:8443")
        #expect(request.url.scheme == "sluice-id")
        #expect(URL(string: request.url.absoluteString) == request.url)
        #expect(DownloadRequest(URL(string: "https://a.example/sluice-id")!, to: Self.directory).unresolvedID == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `are claimed by workers that resolve them only, and others past them`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for index in 0..<100 {
                try await fixture.enqueue(
                    DownloadRequest(
                        resolving: "\(index)", host: "h\(index % 90).example", to: Self.directory, name: "id \(index)",
                        priority: 1))
            }
            try await fixture.add("plain", host: "h1.example")
            #expect(try await fixture.claimNames(9) == ["plain"])
            let claim = JobClaim(
                worker: fixture.worker, count: 2, limits: .none, lease: .seconds(60), resolves: true)
            let claimed = try await fixture.store.exchange([], claiming: claim).claimed
            #expect(claimed.map(\.request.unresolvedID) == ["0", "1"])
            #expect(claimed.map(\.host) == ["h0.example", "h1.example"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `wait for the limit of the host that their resolution names`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("running", host: "other.example")
            #expect(try await fixture.claimNames() == ["running"])
            let id = try await fixture.enqueue(
                DownloadRequest(resolving: "1", host: "first.example", to: Self.directory, name: "a")
            ).id
            let claim = JobClaim(
                worker: fixture.worker, count: 2, limits: .init(total: 9, perHost: 1), lease: .seconds(60),
                resolves: true)
            let claimed = try await fixture.store.exchange([], claiming: claim).claimed
            #expect(claimed.map(\.host) == ["first.example"])
            try await fixture.settle(claimed[0], .moved(host: "other.example"))
            #expect(try await fixture.state(id) == .waiting)
            #expect(try await fixture.store.exchange([], claiming: claim).claimed == [])
            #expect(try await fixture.store.cancel(.host("other.example")).stopped.map(\.id) == [id])
        }
    }

    @Test func `are resolved before each attempt, for the user that they are charged to`() async throws {
        let content = bytes(500_000)
        try await downloading { request in
            guard request.headerFields[.authorization] == "token" else { return OriginResponse(status: 403) }
            return .file(
                content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 200_000 : nil, then: .hangUp)
        } _: { list, origin, directory in
            let asked = Recorder<String>()
            var list = list
            list.configuration.resolve = { request in
                asked.note("\(request.unresolvedID ?? "") \(request.user ?? "")")
                // The query of a signed URL changes with each resolution.
                return DownloadResolution(
                    url: try URL(fetchable: origin.url("/song?signature=\(asked.values.count)")),
                    headerFields: [.authorization: "token"])
            }
            list.configuration.retries = RetryPolicy(baseDelay: .zero)
            let downloads = list.coordinator()
            try await downloads.enqueue([
                DownloadRequest(resolving: "song 7", host: "cdn.example", to: directory, name: "song", user: "ann")
            ])
            try await downloads.run(until: .whenEmpty)
            #expect(try await downloads.snapshot().counts == [.done: 1])
            #expect(try Data(contentsOf: directory.appending(path: "song")) == Data(content))
            // Once for the host that the queue assumed, then for each attempt.
            #expect(Set(asked.values) == ["song 7 ann"] && asked.values.count >= 2)
            let waiting = try await downloads.snapshot().ended
            #expect(waiting.first?.request.url.query() == nil)
        }
    }

    @Test func `fail if they can't be resolved, and the message has no secret`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            var list = ListDownloader(transport: ScriptedTransport([:]))
            list.configuration.resolve = { _ in throw Refusal() }
            let downloads = list.coordinator()
            let handle = try await downloads.enqueue([
                DownloadRequest(resolving: "7", host: "cdn.example", to: directory, name: "song")
            ])[0]
            try await downloads.run(until: .whenEmpty)
            let result = try await handle.result
            #expect(result.state == .failed)
            #expect(result.message?.contains("sluice-id://cdn.example/7") == true)
            #expect(result.message?.contains("could not be obtained") == true)
        }
    }

    @Test func `that resolve to another host each time are asked for with pauses`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let asked = Guarded(0)
            var list = ListDownloader(transport: AnsweringTransport { _, _ in (.ok, [:]) })
            list.configuration.resolve = { _ in
                let number = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                // Stays with a host after a while.
                let host = number < 50 && number.isMultiple(of: 2) ? "one" : "other"
                return DownloadResolution(url: URL(string: "https://\(host).example/song")!)
            }
            let downloads = list.coordinator(time: time)
            try await downloads.enqueue([
                DownloadRequest(resolving: "7", host: "one.example", to: directory, name: "song")
            ])
            let start = time.milliseconds
            try await withRunningClock(time, step: .seconds(30)) { try await downloads.run(until: .whenEmpty) }
            #expect(try await downloads.snapshot().counts == [.done: 1])
            #expect(try await downloads.snapshot().ended[0].failureCount == 0)
            #expect(asked.withLock { $0 } <= 52)
            #expect(time.milliseconds - start >= 600_000)
        }
    }
}
