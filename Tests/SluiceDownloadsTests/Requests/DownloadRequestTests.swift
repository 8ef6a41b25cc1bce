import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite struct `A download request as text` {
    @Test func `contains no secrets`() {
        let request = DownloadRequest(
            URL(string: "https://ann:pass-Secret@a.example/b.mp3?sig=query-Secret#frag-Secret")!,
            to: URL(filePath: "/music", directoryHint: .isDirectory),
            headerFields: [.authorization: "Bearer bear-Secret", .accept: "audio/*"], user: "ann 7")
        #expect("\(request)" == "https://a.example/b.mp3?… to /music/b.mp3")
        var dumped = ""
        dump([request], to: &dumped)
        for text in [dumped, "\([request])", String(reflecting: request)] {
            #expect(!text.contains("Secret"), "\(text)")
        }
        #expect(dumped.contains("audio/*") && dumped.contains("ann 7"))
    }
}

@Suite struct `The file of a request` {
    private static let directory = URL(filePath: "/music", directoryHint: .isDirectory)

    @Test func `can be named as a whole`() {
        let file = URL(filePath: "/music/Song 1.mp3")
        let request = DownloadRequest(URL(string: "https://a.example/download?id=7")!, as: file)
        #expect(request.target == file && request.name == "Song 1.mp3" && request.directory == Self.directory)
    }

    @Test(arguments: [
        ("song 7", "song%207"), ("a/b", "a%2Fb"), (".hidden", "%2Ehidden"), ("..", "%2E."), ("", "%"), ("%", "%25"),
    ])
    func `is named after an identifier, percent-encoded`(id: String, name: String) {
        let request = DownloadRequest(resolving: id, to: Self.directory)
        #expect(request.name == name && request.unresolvedID == id)
    }

    @Test func `has a name that a file system can store, however long the identifier is`() {
        let ids = (0..<3).map { String(repeating: "\u{E9}", count: 300) + "\($0)" }
        let names = ids.map { DownloadRequest(resolving: $0, to: Self.directory).name }
        #expect(names.allSatisfy { $0.utf8.count == 255 && $0.hasPrefix("%C3%A9%C3%A9") })
        #expect(Set(names).count == 3)
        #expect(ids.map { DownloadRequest(resolving: $0, to: Self.directory).name } == names)
    }
}

@Suite struct `A relative target` {
    private static let url = URL(string: "http://a.example/x")!

    @Test(arguments: [
        ("", "song", "song", "./"), ("playlists", "song", "playlists/song", "playlists/"),
        ("a b/7%", "100% of it?", "a b/7%/100% of it?", "a%20b/7%25/"),
        ("a:b", "c:d", "a:b/c:d", "a%3Ab/"), ("", "c:d", "c:d", "./"), ("v1.0", "x", "v1.0/x", "v1.0/"),
        ("caf\u{E9}", "e\u{301}", "caf\u{E9}/e\u{301}", "caf%C3%A9/"),
    ])
    func `is a relative reference whose path identifies the job`(
        path: String, name: String, target: String, directory: String
    ) throws {
        let request = try DownloadRequest(Self.url, below: path, name: name)
        #expect(request.isRelative && !request.directory.isFileURL)
        #expect(request.directory.absoluteString == directory)
        #expect(request.target.path(percentEncoded: false).utf8.elementsEqual(target.utf8))
        #expect(request.targetPath.bytes == Array(target.utf8))
        let stored = DownloadRequest(
            storedURL: "http://a.example/x", directory: request.directory.absoluteString, name: name, user: "",
            priority: 0)
        #expect(stored == request)
        // When the worker's directory is known
        let base = URL(filePath: "/srv/my music", directoryHint: .notDirectory)
        let resolved = request.resolved(in: base)
        #expect(!resolved.isRelative && resolved.target.isFileURL)
        #expect(resolved.targetPath.bytes == Array("/srv/my music/\(target)".utf8))
        #expect(resolved.resolved(in: URL(filePath: "/other")) == resolved)
        #expect(request.resolved(in: URL(filePath: "/b")).targetPath.bytes == Array("/b/\(target)".utf8))
    }

    @Test(arguments: [
        "..", "a/../b", ".", "./a", "/a", "a/", "a//b", "a/.b", "a\\b", "a\nb", "a/ b",
        String(repeating: "x", count: 256),
    ])
    func `that leaves the directory or has an unsafe path is rejected`(path: String) {
        #expect(!DownloadRequest.isSafePath(path))
        let error = #expect(throws: FileError.self) { try DownloadRequest(Self.url, below: path) }
        #expect(error?.code == .invalidPath && error?.subject == path && error?.remedy != nil)
    }

    @Test(arguments: [
        "..", "../", "a/../b/", "%2E%2E/", "a/%2e%2e/", "%2Fa/", "a%2F..%2Fb/", "//host/a/", "http://a.example/",
        "a/?q",
        "a/#f", "a/.hidden/", "%FF/", "a%00/", "/a/",
    ])
    func `is rejected if another program stored an unsafe path`(directory: String) {
        let stored = DownloadRequest(
            storedURL: "http://a.example/x", directory: directory, name: "song", user: "", priority: 0)
        #expect(stored == nil, "\(directory)")
    }

    @Test func `differs from an absolute target and from one in another directory`() throws {
        let requests = [
            try DownloadRequest(Self.url, below: "a"), try DownloadRequest(Self.url, below: "b"),
            DownloadRequest(Self.url, to: URL(filePath: "/a")), try DownloadRequest(Self.url, below: "a"),
        ]
        #expect(DownloadRequest.conflicts(in: requests) == [3: 0])
    }

    @Test(arguments: [
        ("/srv/music/a b/7/", "a b/7"), ("/srv/music", ""), ("/srv/musical", nil), ("/srv", nil),
        ("/srv/music/.x/", nil),
        ("/srv/music/caf\u{E9}", "caf\u{E9}"),
    ])
    func `can be made from an absolute target`(directory: String, path: String?) throws {
        let request = DownloadRequest(Self.url, to: URL(filePath: directory), name: "x")
        for base in ["/srv/music", "/srv/music/", "/srv/./other/../music"] {
            let relative = request.relative(to: URL(filePath: base))
            #expect(try relative == path.map { try DownloadRequest(Self.url, below: $0, name: "x") })
            #expect(relative?.relative(to: URL(filePath: base)) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `is downloaded into the directory of the worker that claims it`(_ kind: StoreKind) async throws {
        try await downloading(from: { OriginResponse(body: Array($0.target.utf8)) }) { list, origin, directory in
            try await StoreFixture.with(kind) { fixture in
                // Given two coordinators with different directories, as on two machines
                let directories = ["one", "two"].map { directory.appending(path: $0) }
                let coordinators = directories.map { directory in
                    var list = list
                    list.configuration.directory = directory
                    return list.coordinator(store: fixture.store, time: fixture.time)
                }
                for (index, coordinator) in coordinators.enumerated() {
                    let request = try DownloadRequest(
                        URL(fetchable: origin.url("/\(index)")), below: "playlists/7", name: "\(index)")
                    let handle = try await coordinators[1 - index].enqueue([request])[0]
                    // When the other one runs
                    try await coordinator.run(until: .whenEmpty)
                    // Then
                    let ended = try await handle.result
                    #expect(ended.state == .done && ended.request.target.absoluteString == "playlists/7/\(index)")
                    let ownFile = directories[1 - index].appending(path: "playlists/7/\(index)")
                    #expect(try await handle.file == ownFile)
                }
                for (index, directory) in directories.enumerated() {
                    #expect(try names(in: directory.appending(path: "playlists/7")) == ["\(index)"])
                }
            }
        }
    }

    @Test func `is resumed, and its checkpoint is removed`() async throws {
        let content = bytes(900_000)
        let stalls = Guarded(true)
        let arrived = Gate()
        let ranges = Recorder<Bool>()
        try await downloading(
            from: { request in
                ranges.note(request.headerFields[.range] != nil)
                let first = stalls.withLock { $0 }
                return .file(content, etag: "\"v1\"", request: request, sending: first ? 600_000 : nil)
            }
        ) { list, origin, directory in
            var list = list
            list.configuration.directory = directory
            let downloads = list.coordinator()
            let request = try DownloadRequest(URL(fetchable: origin.url("/song")), below: "music")
            try await downloads.enqueue([request])
            let run = Task {
                try await downloads.run(until: .whenEmpty) { event in
                    if case .received(_, let count) = event, count >= 300_000 { Task { await arrived.pass() } }
                }
            }
            await arrived.arrivals(1)
            run.cancel()
            try await run.value
            await arrived.open()
            let music = directory.appending(path: "music")
            #expect(try names(in: music) == ["song.sluice.json", "song.sluice.part"])
            stalls.withLock { $0 = false }
            try await downloads.run(until: .whenEmpty)
            #expect(try names(in: music) == ["song"])
            #expect(try Data(contentsOf: music.appending(path: "song")).elementsEqual(content))
            #expect(ranges.values == [false, true])
        }
    }

    @Test func `leaves no partial file when it is cancelled`() async throws {
        try await downloading(from: { _ in OriginResponse() }) { list, origin, directory in
            var list = list
            list.configuration.directory = directory
            let downloads = list.coordinator()
            let request = try DownloadRequest(URL(fetchable: origin.url("/song")), below: "music")
            let music = directory.appending(path: "music", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: music, withIntermediateDirectories: true)
            for companion in [request.partialName, request.checkpointName] {
                try Data(#"{"version":1,"synced":0}"#.utf8).write(to: music.appending(path: companion))
            }
            try await downloads.enqueue([request])
            try await downloads.cancel(.all)
            #expect(try names(in: music) == [])
        }
    }

    @Test(arguments: [ExistingFile.skip, .fail])
    func `is checked in the coordinator's directory, even for a list`(existing: ExistingFile) async throws {
        try await downloading(from: { _ in OriginResponse(body: [1]) }, existing: existing) { list, origin, directory in
            var list = list
            list.configuration.directory = directory
            try FileManager.default.createDirectory(
                at: directory.appending(path: "music"), withIntermediateDirectories: true)
            try Data().write(to: directory.appending(path: "music/a"))
            let urls = try ["/a", "/b"].map { try URL(fetchable: origin.url($0)) }
            // The third request would write the second one's file.
            let requests =
                try urls.map { try DownloadRequest($0, below: "music") }
                + [DownloadRequest(urls[0], to: directory.appending(path: "music"), name: "b")]
            let downloads = list.coordinator()
            try await downloads.prepareDirectories(of: requests)
            let first = try await downloads.download(requests)
            #expect(first.doneCount == 1 && first.failures[2]?.code == .targetTaken)
            #expect(existing == .skip ? first.skippedCount == 1 : first.failures[0]?.code == .fileExists)
            // A finished download isn't repeated unless its file is gone.
            try FileManager.default.removeItem(at: directory.appending(path: "music/b"))
            let second = try await downloads.download(requests)
            #expect(second.doneCount == 1)
            #expect(try names(in: directory.appending(path: "music")) == ["a", "b"])
        }
    }

    @Test func `has a machine only if workers run on several machines`() async throws {
        for spansMachines in [false, true] {
            let claims = Recorder<String?>()
            let store = InterceptedStore(spansMachines: spansMachines) { store, settlements, claim in
                if let claim, claim.count > 0 { claims.note(claim.machine) }
                return try await store.takeTurn(settlements, claiming: claim)
            }
            try await downloading(from: { _ in OriginResponse(body: [1]) }) { list, origin, directory in
                let downloads = list.coordinator(store: store)
                let url = try URL(fetchable: origin.url("/a"))
                try await downloads.enqueue([DownloadRequest(url, to: directory)])
                _ = try await downloads.download([DownloadRequest(url, to: directory)])
            }
            let machine = spansMachines ? MachineName.current : nil
            #expect(Set(store.enqueued.values.map(\.machine)) == [machine] && Set(claims.values) == [machine])
        }
        #expect(!MachineName.current.isEmpty && MachineName.current.utf8.count <= 256)
    }
}

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
    func `are claimed only by workers that resolve them, and others skip them`(_ kind: StoreKind) async throws {
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
            let claimed = try await fixture.store.takeTurn([], claiming: claim).claimed
            #expect(claimed.map(\.request.unresolvedID) == ["0", "1"])
            #expect(claimed.map(\.host) == ["h0.example", "h1.example"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `wait for the limit of the host they resolve to`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.add("running", host: "other.example")
            #expect(try await fixture.claimNames() == ["running"])
            let id = try await fixture.enqueue(
                DownloadRequest(resolving: "1", host: "first.example", to: Self.directory, name: "a")
            ).id
            let claim = JobClaim(
                worker: fixture.worker, count: 2, limits: .init(total: 9, perHost: 1), lease: .seconds(60),
                resolves: true)
            let claimed = try await fixture.store.takeTurn([], claiming: claim).claimed
            #expect(claimed.map(\.host) == ["first.example"])
            try await fixture.settle(claimed[0], .moved(host: "other.example"))
            #expect(try await fixture.state(id) == .waiting)
            #expect(try await fixture.store.takeTurn([], claiming: claim).claimed == [])
            #expect(try await fixture.store.cancel(.host("other.example")).stopped.map(\.id) == [id])
        }
    }

    @Test func `are resolved before each attempt, for the user that they are charged to`() async throws {
        let content = bytes(500_000)
        try await downloading { request in
            guard request.headerFields[.authorization] == "token" else { return OriginResponse(status: 403) }
            return .file(
                content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 200_000 : nil, then: .hangUp)
        } during: { list, origin, directory in
            let asked = Recorder<String>()
            var list = list
            list.resolve = { id, user in
                asked.note("\(id) \(user ?? "")")
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

    @Test func `fail without secrets in the message if they can't be resolved`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            var list = ListDownloader(transport: ScriptedTransport([:]))
            list.resolve = { _, _ in throw Refusal() }
            let downloads = list.coordinator()
            let handle = try await downloads.enqueue([
                DownloadRequest(resolving: "7", host: "cdn.example", to: directory, name: "song")
            ])[0]
            try await downloads.run(until: .whenEmpty)
            let error = await #expect(throws: TransferError.self) { try await handle.result }
            #expect(error?.code == .resolutionFailed && error?.cause is Refusal)
            #expect(error.map { "\($0)" }?.contains("sluice-id://cdn.example/7") == true)
            #expect(error?.message.contains("Couldn't get the URL") == true)
        }
    }

    @Test func `that resolve to another host each time are retried with pauses`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let asked = Guarded(0)
            var list = ListDownloader(transport: AnsweringTransport { _, _ in (.ok, [:]) })
            list.resolve = { _, _ in
                let number = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                // After a while, it always returns the same host.
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
