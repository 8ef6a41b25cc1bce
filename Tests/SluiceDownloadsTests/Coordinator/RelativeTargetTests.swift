import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite struct `A relative target` {
    private static let url = URL(string: "http://a.example/x")!

    @Test(arguments: [
        ("", "song", "song", "./"), ("playlists", "song", "playlists/song", "playlists/"),
        ("a b/7%", "100% of it?", "a b/7%/100% of it?", "a%20b/7%25/"),
        ("a:b", "c:d", "a:b/c:d", "a%3Ab/"), ("", "c:d", "c:d", "./"), ("v1.0", "x", "v1.0/x", "v1.0/"),
        ("caf\u{E9}", "e\u{301}", "caf\u{E9}/e\u{301}", "caf%C3%A9/"),
    ])
    func `is a relative reference, whose path is the key of the job`(
        path: String, name: String, target: String, directory: String
    ) throws {
        let request = DownloadRequest(Self.url, below: path, name: name)
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
    func `can't leave the directory, or have a path that isn't safe`(path: String) {
        #expect(!DownloadRequest.isSafePath(path))
    }

    @Test(arguments: [
        "..", "../", "a/../b/", "%2E%2E/", "a/%2e%2e/", "%2Fa/", "a%2F..%2Fb/", "//host/a/", "http://a.example/",
        "a/?q",
        "a/#f", "a/.hidden/", "%FF/", "a%00/", "/a/",
    ])
    func `is refused if another program has stored such a path`(directory: String) {
        let stored = DownloadRequest(
            storedURL: "http://a.example/x", directory: directory, name: "song", user: "", priority: 0)
        #expect(stored == nil, "\(directory)")
    }

    @Test func `traps if its path isn't safe`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = DownloadRequest(URL(string: "http://a.example/x")!, below: "../x")
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("must consist of safe file names; it is '../x'"))
    }

    @Test func `is another file than an absolute one, and in another directory each time`() {
        let requests = [
            DownloadRequest(Self.url, below: "a"), DownloadRequest(Self.url, below: "b"),
            DownloadRequest(Self.url, to: URL(filePath: "/a")), DownloadRequest(Self.url, below: "a"),
        ]
        #expect(DownloadRequest.conflicts(in: requests) == [3: 0])
    }

    @Test(arguments: [
        ("/srv/music/a b/7/", "a b/7"), ("/srv/music", ""), ("/srv/musical", nil), ("/srv", nil),
        ("/srv/music/.x/", nil),
        ("/srv/music/caf\u{E9}", "caf\u{E9}"),
    ])
    func `is made of an absolute one`(directory: String, path: String?) {
        let request = DownloadRequest(Self.url, to: URL(filePath: directory), name: "x")
        for base in ["/srv/music", "/srv/music/", "/srv/./other/../music"] {
            let relative = request.relative(to: URL(filePath: base))
            #expect(relative == path.map { DownloadRequest(Self.url, below: $0, name: "x") })
            #expect(relative?.relative(to: URL(filePath: base)) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `is downloaded into the directory of the worker that claims it`(_ kind: StoreKind) async throws {
        try await downloading(from: { OriginResponse(body: Array($0.target.utf8)) }) { list, origin, directory in
            try await StoreFixture.with(kind) { fixture in
                // Given two coordinators with directories of their own, as on two machines
                let directories = ["one", "two"].map { directory.appending(path: $0) }
                let coordinators = directories.map { directory in
                    var list = list
                    list.configuration.directory = directory
                    return list.coordinator(store: fixture.store, time: fixture.time)
                }
                for (index, coordinator) in coordinators.enumerated() {
                    let request = DownloadRequest(
                        try URL(fetchable: origin.url("/\(index)")), below: "playlists/7", name: "\(index)")
                    let handle = try await coordinators[1 - index].enqueue([request])[0]
                    // When the other one runs
                    try await coordinator.run(until: .whenEmpty)
                    // Then
                    let ended = try await handle.result
                    #expect(ended.state == .done && ended.request.target.absoluteString == "playlists/7/\(index)")
                }
                for (index, directory) in directories.enumerated() {
                    #expect(try names(in: directory.appending(path: "playlists/7")) == ["\(index)"])
                }
            }
        }
    }

    @Test func `is resumed, and forgets its checkpoint`() async throws {
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
            let request = DownloadRequest(try URL(fetchable: origin.url("/song")), below: "music")
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
            let request = DownloadRequest(try URL(fetchable: origin.url("/song")), below: "music")
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
    func `is looked for in the coordinator's directory, also by a list`(existing: ExistingFile) async throws {
        try await downloading(from: { _ in OriginResponse(body: [1]) }, existing: existing) { list, origin, directory in
            var list = list
            list.configuration.directory = directory
            try FileManager.default.createDirectory(
                at: directory.appending(path: "music"), withIntermediateDirectories: true)
            try Data().write(to: directory.appending(path: "music/a"))
            let urls = try ["/a", "/b"].map { try URL(fetchable: origin.url($0)) }
            // The third one would write the file of the second.
            let requests =
                urls.map { DownloadRequest($0, below: "music") }
                + [DownloadRequest(urls[0], to: directory.appending(path: "music"), name: "b")]
            let downloads = list.coordinator()
            try await downloads.prepareDirectories(of: requests)
            let first = try await downloads.download(requests)
            #expect(first.doneCount == 1 && first.failures[2]?.code == .targetTaken)
            #expect(existing == .skip ? first.skippedCount == 1 : first.failures[0]?.code == .fileExists)
            // What is done isn't repeated, unless its file is gone.
            try FileManager.default.removeItem(at: directory.appending(path: "music/b"))
            let second = try await downloads.download(requests)
            #expect(second.doneCount == 1)
            #expect(try names(in: directory.appending(path: "music")) == ["a", "b"])
        }
    }

    @Test func `has a place only where workers are on several machines`() async throws {
        for spansMachines in [false, true] {
            let claims = Recorder<String?>()
            let store = InterceptedStore(spansMachines: spansMachines) { store, settlements, claim in
                if let claim, claim.count > 0 { claims.note(claim.place) }
                return try await store.exchange(settlements, claiming: claim)
            }
            try await downloading(from: { _ in OriginResponse(body: [1]) }) { list, origin, directory in
                let downloads = list.coordinator(store: store)
                let url = try URL(fetchable: origin.url("/a"))
                try await downloads.enqueue([DownloadRequest(url, to: directory)])
                _ = try await downloads.download([DownloadRequest(url, to: directory)])
            }
            let place = spansMachines ? HostName.current : nil
            #expect(Set(store.enqueued.values.map(\.place)) == [place] && Set(claims.values) == [place])
        }
        #expect(!HostName.current.isEmpty && HostName.current.utf8.count <= 256)
    }
}
