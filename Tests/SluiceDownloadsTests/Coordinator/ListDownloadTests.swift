import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Downloading a list` {
    @Test(arguments: [0, 1, 1000, 262_144, 262_145, 3_000_000])
    func `a file of any size arrives complete and leaves no partial file`(size: Int) async throws {
        try await downloading { _ in
            OriginResponse(body: bytes(size))
        } during: { downloader, origin, directory in
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a.bin")), to: directory)
            ])
            #expect(summary.isComplete && summary.doneCount == 1 && summary.totalFileSize == Int64(size))
            #expect(try Data(contentsOf: directory.appending(path: "a.bin")) == Data(bytes(size)))
            #expect(try names(in: directory) == ["a.bin"])
        }
    }

    @Test(arguments: ["song.sluice.part", "song.sluice.json", "song.sluice.new", "Song.SLUICE.Part"])
    func `a name reserved for partial files fails, and other names work`(name: String) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let list = ListDownloader(transport: AnsweringTransport { _, _ in (.ok, [:]) })
            let url = URL(string: "https://a.example/song")!
            let first = try await list.run([DownloadRequest(url, to: directory, name: name)])
            #expect(first.doneCount == 0)
            #expect(first.failures[0].map { "\($0)" }?.contains("another name") == true)
            let second = try await list.run([DownloadRequest(url, to: directory, name: "song")])
            #expect(second.doneCount == 1)
            #expect(try names(in: directory) == ["song"])
        }
    }

    @Test func `a body without an announced length arrives whole`() async throws {
        try await downloading { _ in
            OriginResponse(announcedLength: nil, steps: [.send(bytes(1000)), .send(bytes(500))])
        } during: { downloader, origin, directory in
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            #expect(summary.totalFileSize == 1500)
            #expect(try names(in: directory) == ["a"])
        }
    }

    @Test func `the server never sees more concurrent transfers than the limit`() async throws {
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(100))
        } during: { downloader, origin, directory in
            let requests = try (0..<60).map {
                DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory, name: "\($0)")
            }
            async let held: Void = expect(4, heldAt: gate, by: origin)
            let summary = try await downloader.run(requests)
            try await held
            #expect(summary.doneCount == 60)
            #expect(origin.metrics.peak == 4)
            #expect(origin.metrics.requests == 60)
        }
    }

    @Test func `a transient failure is retried and then succeeds`() async throws {
        let delays = Recorder<Duration>()
        try await downloading(
            from: { request in
                switch request.attempt {
                case 1: OriginResponse(status: 503, headerFields: [.retryAfter: "7"])
                case 2: OriginResponse(announcedLength: 600_000, steps: [.send(bytes(300_000)), .hangUp])
                case 3: OriginResponse(announcedLength: 1000, steps: [.send(bytes(10)), .hangUp])
                default: OriginResponse(body: bytes(600_000))
                }
            }
        ) { downloader, origin, directory in
            let events = Recorder<String>()
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ]) {
                switch $1 {
                case .started(_, let attempt): events.note("started \(attempt)")
                case .retrying(_, _, let delay):
                    events.note("retrying")
                    delays.note(delay)
                case .finished: events.note("finished")
                case .responded, .received, .failedOver, .mirrorRejected, .paused, .released, .named: break
                }
            }
            #expect(summary.doneCount == 1 && summary.retryCount == 3)
            #expect(
                events.values == [
                    "started 1", "retrying", "started 2", "retrying", "started 3", "retrying", "started 4", "finished",
                ])
            #expect(try Data(contentsOf: directory.appending(path: "a")) == Data(bytes(600_000)))
            #expect(try names(in: directory) == ["a"])
        }
        #expect(delays.values.count == 3)
        #expect(delays.values.first ?? .zero >= .seconds(6.9))
    }

    @Test(arguments: [(1_500_000, 1, true), (1_500_000, 0, false), (500_000, 1, false)])
    func `an attempt that has made progress isn't counted as a retry`(
        each: Int, retries: Int, isDone: Bool
    ) async throws {
        let content = bytes(6_000_000)
        try await downloading(
            from: { .file(content, etag: "\"v1\"", request: $0, sending: each, then: .hangUp) }, retries: retries
        ) { downloader, origin, directory in
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            #expect(summary.doneCount == (isDone ? 1 : 0))
            // The connection may break before all bytes of an attempt have arrived.
            #expect(isDone ? origin.metrics.requests >= 4 : origin.metrics.requests == 1 + retries)
            if isDone { #expect(try Data(contentsOf: directory.appending(path: "a")) == Data(content)) }
        }
    }

    @Test func `an attempt whose file begins again has made no progress`() async throws {
        let content = bytes(6_000_000)
        try await downloading(
            from: { .file(content, etag: "\"v\($0.attempt)\"", request: $0, sending: 1_500_000, then: .hangUp) },
            retries: 2
        ) { downloader, origin, directory in
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            #expect(summary.failures.count == 1)
            // The first attempt has made progress, if its bytes arrived before the connection broke.
            #expect((3...4).contains(origin.metrics.requests))
        }
    }

    @Test(arguments: [
        (404, 1), (403, 1), (500, 3), (503, 3),
    ])
    func `a lasting failure is retried only if retrying can help, and leaves no file`(
        status: Int, attempts: Int
    ) async throws {
        try await downloading(from: { _ in OriginResponse(status: status, body: bytes(50)) }, retries: 2) {
            downloader, origin, directory in
            let url = try URL(fetchable: origin.url("/a"))
            let summary = try await downloader.run([DownloadRequest(url, to: directory)])
            let error = try #require(summary.failures[0])
            #expect(error.attempts == attempts)
            #expect(origin.metrics.requests == attempts)
            #expect("\(error)".contains(origin.url("/a")) && "\(error)".contains("\(status)"))
            #expect(try names(in: directory) == [])
        }
    }

    @Test func `a body that is short every time fails with both lengths and leaves no file`() async throws {
        try await downloading(
            from: { _ in OriginResponse(announcedLength: 900_000, steps: [.send(bytes(300_000)), .hangUp]) }, retries: 1
        ) { downloader, origin, directory in
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            #expect(summary.failures.count == 1 && summary.retryCount == 1)
            #expect(try names(in: directory) == [])
        }
    }

    @Test func `an existing file fails, is skipped or is replaced, as requested`() async throws {
        for existing in [ExistingFile.fail, .skip, .replace] {
            try await downloading(from: { _ in OriginResponse(body: bytes(10)) }, existing: existing) {
                downloader, origin, directory in
                let file = directory.appending(path: "a")
                try Data("old".utf8).write(to: file)
                let summary = try await downloader.run([
                    DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
                ])
                switch existing {
                case .fail:
                    guard summary.failures[0]?.code == .fileExists else { return #expect(Bool(false)) }
                case .skip: #expect(summary.skippedCount == 1 && summary.isComplete)
                case .replace: #expect(summary.doneCount == 1)
                }
                #expect(try Data(contentsOf: file) == (existing == .replace ? Data(bytes(10)) : Data("old".utf8)))
                #expect(origin.metrics.requests == (existing == .replace ? 1 : 0))
            }
        }
    }

    @Test func `existing files are skipped without a download, and their leftovers are removed`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(10)) }, existing: .skip) {
            downloader, origin, directory in
            let all = try ["a", "b", "c", "d"].map {
                DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory)
            }
            for request in all.prefix(3) { try Data("old".utf8).write(to: request.target) }
            // Given what an earlier attempt left beside one of them
            for url in [all[1].partialTarget, all[1].checkpointTarget] { try Data().write(to: url) }
            let store = MemoryQueueStore()
            let skipped = Recorder<Int64?>()
            let summary = try await downloader.coordinator(store: store).download(all) { index, event in
                if case .finished(let download, .skipped) = event { skipped.note(download?.rawValue) }
            }
            #expect(summary.skippedCount == 3 && summary.doneCount == 1 && summary.isComplete)
            // The file with leftovers becomes a download, which removes them.
            #expect(skipped.values.count == 3 && skipped.values.compactMap(\.self) == [1])
            #expect(try names(in: directory) == ["a", "b", "c", "d"])
            #expect(origin.metrics.requestsByTarget == ["/d": 1])
            // Downloading the same list again does nothing.
            let again = try await downloader.coordinator(store: store).download(all)
            #expect(again.skippedCount == 4 && again.isComplete && origin.metrics.requests == 1)
        }
    }

    @Test(arguments: [100, 600_000])
    func `a file that appears during its download is replaced only on request`(size: Int) async throws {
        let directoryBox = Guarded<URL?>(nil)
        try await downloading { _ in
            // Another process creates the file between the check and the end of the download.
            if let directory = directoryBox.withLock({ $0 }) {
                try? Data("other".utf8).write(to: directory.appending(path: "a"))
            }
            return OriginResponse(body: bytes(size))
        } during: { downloader, origin, directory in
            directoryBox.withLock { $0 = directory }
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            guard summary.failures[0]?.code == .fileExists else { return #expect(Bool(false)) }
            #expect(try Data(contentsOf: directory.appending(path: "a")) == Data("other".utf8))
            #expect(try names(in: directory) == ["a"])
        }
    }

    @Test func `a partial file of a killed process is written again from the start`() async throws {
        try await downloading { _ in
            OriginResponse(body: bytes(600_000))
        } during: { downloader, origin, directory in
            try Data(repeating: 9, count: 1_000_000).write(to: directory.appending(path: "a.sluice.part"))
            // A partial file has a checkpoint, in any version of its format; otherwise it would be a user's file.
            try Data(#"{"version":0,"synced":0}"#.utf8).write(to: directory.appending(path: "a.sluice.json"))
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            #expect(summary.doneCount == 1)
            #expect(try Data(contentsOf: directory.appending(path: "a")) == Data(bytes(600_000)))
            #expect(try names(in: directory) == ["a"])
        }
    }

    @Test(arguments: [100, 600_000])
    func `a partial file that another process is writing isn't touched`(size: Int) async throws {
        try await downloading { _ in
            OriginResponse(body: bytes(size))
        } during: { downloader, origin, directory in
            let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            let name = size == 100 ? request.temporaryName : request.partialName
            let other = try await directory.appending(path: name).openForWriting(existing: .replace, locked: true)
            try await other.write(Data("theirs".utf8))
            let summary = try await downloader.run([request])
            guard let error = summary.failures[0]?.fileError else { return #expect(Bool(false)) }
            #expect(error.code == .locked)
            try await other.close()
            #expect(try Data(contentsOf: directory.appending(path: name)) == Data("theirs".utf8))
            #expect(try names(in: directory) == [name])
        }
    }

    @Test func `cancelling stops immediately and leaves only complete files`() async throws {
        let stalled = Gate()
        try await downloading { request in
            guard request.target == "/whole" else {
                return OriginResponse(announcedLength: 900_000, steps: [.send(bytes(300_000)), .stall])
            }
            return OriginResponse(body: bytes(10))
        } during: { downloader, origin, directory in
            let requests = try (["whole"] + (0..<20).map { "stalls-\($0)" }).map {
                DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory)
            }
            let running = Task {
                try await downloader.run(requests) { _, event in
                    if case .received(_, let count) = event, count >= 300_000 { Task { await stalled.pass() } }
                }
            }
            await stalled.arrivals(4)
            running.cancel()
            let summary = try await running.value
            await stalled.open()
            #expect(summary.doneCount == 1 && summary.unfinishedCount == 20 && summary.failures.isEmpty)
            #expect(try names(in: directory) == ["whole"])
        }
    }

    @Test func `a symbolic link with the partial file's name isn't followed`() async throws {
        for size in [100, 400_000] {
            try await downloading { _ in
                OriginResponse(body: bytes(size))
            } during: { downloader, origin, directory in
                let victim = directory.appending(path: "victim")
                try Data("precious".utf8).write(to: victim)
                let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
                let name = size == 100 ? request.temporaryName : request.partialName
                try FileManager.default.createSymbolicLink(
                    at: directory.appending(path: name), withDestinationURL: victim)
                let summary = try await downloader.run([request])
                #expect(summary.failures.count == 1)
                #expect(try Data(contentsOf: victim) == Data("precious".utf8))
                #expect(try names(in: directory) == [name, "victim"])
            }
        }
    }

    @Test(arguments: [100, 400_000]) func `replacing a file keeps its mode`(size: Int) async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(size)) }, existing: .replace) {
            downloader, origin, directory in
            let file = directory.appending(path: "a")
            try Data("old".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            #expect(summary.doneCount == 1)
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
    }

    @Test func `cancelling at any moment leaves only complete files`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(300_000)) }, concurrency: 32) {
            downloader, origin, directory in
            for round in 0..<14 {
                let target = directory.appending(path: "\(round)", directoryHint: .isDirectory)
                let requests = try (0..<40).map {
                    DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: target, name: "\($0)")
                }
                // Cancelled at the n-th event: within requests, bodies, writes and renames.
                let left = Guarded(round * 8)
                let reached = Gate()
                let running = Task {
                    try await downloader.run(requests) { _, _ in
                        if left.withLock({
                            $0 -= 1; return $0 == 0
                        }) {
                            Task { await reached.pass() }
                        }
                    }
                }
                await reached.open()
                if round > 0 { await reached.arrivals(1) }
                running.cancel()
                let summary = try await running.value
                #expect(summary.failures.isEmpty)
                let found = (try? names(in: target)) ?? []
                #expect(found.count == summary.doneCount)
                #expect(found.allSatisfy { !$0.hasSuffix(".part") })
            }
        }
    }

    @Test func `a transport that throws its own errors fails only that request`() async throws {
        struct Odd: Error {}
        struct OddTransport: Transport {
            func open(_ request: TransportRequest) async throws -> TransportResponse { throw Odd() }
        }
        let downloader = ListDownloader(transport: OddTransport(), configuration: .init(retries: .never))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let summary = try await downloader.run([DownloadRequest(URL(string: "http://a.example/x")!, to: directory)])
            let error = try #require(summary.failures[0])
            #expect("\(error)".contains("Odd"))
        }
    }

    @Test func `a transport's own error is shown without the request's secrets`() async throws {
        struct Odd: Error, CustomStringConvertible { var description: String }
        struct EchoingTransport: Transport {
            func open(_ request: TransportRequest) async throws -> TransportResponse {
                let token = request.headerFields[.authorization] ?? ""
                throw Odd(description: "odd: \(request.url.absoluteString) sig-Secret \(token) token-Secret")
            }
        }
        let downloader = ListDownloader(transport: EchoingTransport(), configuration: .init(retries: .never))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let url = URL(string: "http://ann:word-Secret@a.example/x?sig=sig-Secret")!
            let request = DownloadRequest(url, to: directory, headerFields: [.authorization: "Bearer token-Secret"])
            let error = try #require(try await downloader.run([request]).failures[0])
            #expect("\(error)".contains("odd: http://a.example/x?… … … …"), "\(error)")
        }
    }

    @Test(arguments: [
        ("http://127.1:8000/x", "127.0.0.1:8000"), ("http://A.example.:80/x", "a.example"),
        ("https://[0:0::1]:8443/", "[::1]:8443"), ("https://b\u{FC}cher.example/", "xn--bcher-kva.example"),
    ])
    func `the host of a request has one spelling`(url: String, host: String) throws {
        let request = DownloadRequest(try URL(fetchable: url), to: URL(filePath: "/music/"))
        #expect(request.host == host)
    }

    @Test func `requests that would write the same file or each other's partial file throw`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(400_000)) }, concurrency: 1) {
            downloader, origin, directory in
            let names = ["song", "song", "song.sluice.part", "other"]
            let requests = try names.enumerated().map { index, name in
                DownloadRequest(try URL(fetchable: origin.url("/\(index)")), to: directory, name: name)
            }
            let summary = try await downloader.run(requests)
            #expect(summary.doneCount == 2)
            #expect(Set(summary.failures.keys) == [1, 2])
            #expect(summary.failures[1]?.code == .targetTaken && summary.failures[2]?.code == .targetTaken)
            #expect(try SluiceDownloadsTests.names(in: directory) == ["other", "song"])
        }
    }

    @Test(
        arguments: [
            "file:///tmp/x", "file:///tmp/x/", "file:///", "file:///tmp/a%20b/", "file:///tmp/%FF/", "file:///%25/é",
        ],
        ["song.mp3", "100% of it", "a%20b", "\u{E9}", "e\u{301}", "a?b#c", "日本語"])
    func `a target's path equals the path of its URL`(directory: String, name: String) throws {
        let directory = try #require(URL(string: directory))
        let request = DownloadRequest(URL(string: "http://a.example/x")!, to: directory, name: name)
        let path = request.target.path(percentEncoded: true)
        #expect(request.targetPath.bytes == path.percentDecodedBytes)
        #expect(request.directory == directory)
    }

    @Test func `the same name in other directories is another file`() {
        let url = URL(string: "http://a.example/x")!
        let directories = ["/tmp/a", "/tmp/b", "/tmp/a", "/tmp/b"].map {
            URL(filePath: $0, directoryHint: .isDirectory)
        }
        #expect(DownloadRequest.conflicts(in: directories.map { DownloadRequest(url, to: $0) }) == [2: 0, 3: 1])
    }

    @Test func `names that differ only in their bytes are different files`() {
        let directory = URL(filePath: "/tmp", directoryHint: .isDirectory)
        let url = URL(string: "http://a.example/x")!
        let requests = ["\u{E9}", "e\u{301}"].map { DownloadRequest(url, to: directory, name: $0) }
        #expect(DownloadRequest.conflicts(in: requests).isEmpty)
    }

    @Test(arguments: [ExistingFile.fail, .skip, .replace])
    func `a directory or FIFO with the file's name is an error`(existing: ExistingFile) async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(10)) }, existing: existing) {
            downloader, origin, directory in
            let requests = try ["a", "b"].map {
                DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory)
            }
            try FileManager.default.createDirectory(at: requests[0].target, withIntermediateDirectories: false)
            try #require(mkfifo(requests[1].target.path, 0o600) == 0)
            let summary = try await downloader.run(requests)
            #expect(summary.failures[0]?.fileError?.code == .isDirectory)
            #expect(summary.failures[1]?.fileError?.code == .notRegularFile)
            #expect(origin.metrics.requests == 0)
        }
    }

    @Test func `a finished download whose file became a directory is an error`() async throws {
        try await downloading { request in
            request.target == "/1" && request.attempt == 1
                ? OriginResponse(status: 404) : OriginResponse(body: bytes(10))
        } during: { downloader, origin, directory in
            let store = MemoryQueueStore()
            let all = try ["0", "1"].map { DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory) }
            let first = try await downloader.coordinator(store: store).download(all)
            #expect(first.doneCount == 1 && first.failures.count == 1)
            try FileManager.default.removeItem(at: all[0].target)
            try FileManager.default.createDirectory(at: all[0].target, withIntermediateDirectories: false)
            let second = try await downloader.coordinator(store: store).download(all)
            #expect(second.doneCount == 1 && second.failures[0]?.fileError?.code == .isDirectory)
        }
    }

    @Test(arguments: [100, 600_000])
    func `a file that appears during its download is skipped and reports its own size`(size: Int) async throws {
        let directoryBox = Guarded<URL?>(nil)
        try await downloading(
            from: { _ in
                if let directory = directoryBox.withLock({ $0 }) {
                    try? Data("other".utf8).write(to: directory.appending(path: "a"))
                }
                return OriginResponse(body: bytes(size))
            }, existing: .skip
        ) { downloader, origin, directory in
            directoryBox.withLock { $0 = directory }
            let downloads = downloader.coordinator()
            try await downloads.enqueue([DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)])
            let outcomes = Recorder<DownloadEvent>()
            try await downloads.run(until: .whenEmpty) { event in
                if event.isEnd { outcomes.note(event) }
            }
            guard case .finished(_, .skipped) = outcomes.values.first else { return #expect(Bool(false)) }
            #expect(try await downloads.snapshot().ended.first?.fileSize == 5)
            #expect(try names(in: directory) == ["a"])
        }
    }

    @Test func `another program's .part file isn't touched`() async throws {
        try await downloading { _ in
            OriginResponse(body: bytes(400_000))
        } during: { downloader, origin, directory in
            try Data("a browser's".utf8).write(to: directory.appending(path: "a.part"))
            let summary = try await downloader.run([
                DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            ])
            #expect(summary.doneCount == 1)
            #expect(try Data(contentsOf: directory.appending(path: "a.part")) == Data("a browser's".utf8))
        }
    }

    @Test func `missing directories are created`() async throws {
        try await downloading { _ in
            OriginResponse(body: bytes(10))
        } during: { downloader, origin, directory in
            let deep = directory.appending(path: "x/y", directoryHint: .isDirectory)
            let summary = try await downloader.run([DownloadRequest(try URL(fetchable: origin.url("/a")), to: deep)])
            #expect(summary.doneCount == 1)
            #expect(try names(in: deep) == ["a"])
        }
    }

    @Test func `an empty list is done immediately`() async throws {
        let summary = try await ListDownloader(transport: ScriptedTransport([:])).run([])
        #expect(summary.isComplete && summary.doneCount == 0)
    }

    @Test func `a long name gets a partial name that fits and is unique`() {
        let directory = URL(filePath: "/tmp", directoryHint: .isDirectory)
        let url = URL(string: "http://a.example/x")!
        let long = String(repeating: "ä", count: 126)
        let names = [long + "1", long + "2", "short.mp3"]
        let partials = names.map { DownloadRequest(url, to: directory, name: $0).partialName }
        #expect(Set(partials).count == 3)
        #expect(partials.allSatisfy { $0.utf8.count <= 255 && $0.hasSuffix(".sluice.part") })
        #expect(partials[2] == "short.mp3.sluice.part")
    }
}

@Suite struct `Downloading a list on a failing disk` {
    /// EIO from writes and from fdatasync, EACCES from rename: each leaves the directory unchanged.
    @Test(arguments: ["write", "sync", "rename"], [100, 900_000])
    func `a failed file operation leaves no file and names it in the error`(call: String, size: Int) async throws {
        var calls = SystemCalls.system
        switch call {
        case "write":
            calls.write = { _, _ in -Int(EIO) }
            calls.writeVector = { _, _ in -Int(EIO) }
        case "sync": calls.syncData = { _ in -EIO }
        default:
            calls.rename = { _, _ in -EACCES }
            calls.renameWithoutReplacing = { _, _ in -EACCES }
        }
        let files = FileIO(configuration: .init(), calls: calls)
        let url = URL(string: "http://a.example/song.mp3")!
        let body = Data(bytes(size))
        let transport = ScriptedTransport([
            url: [.response(headerFields: [.contentLength: "\(size)"], body: [body])]
        ])
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let summary = try await ListDownloader(transport: transport, configuration: .init(), files: files).run([
                DownloadRequest(url, to: directory)
            ])
            let error = try #require(summary.failures[0])
            guard error.code == .file else { return #expect(Bool(false), "\(error)") }
            #expect("\(error)".contains("song.mp3"))
            #expect(transport.requests.count == 1, "a local failure is not tried again")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
        }
        #expect(files.statistics.openCount == 0)
        await files.shutdown()
    }

    @Test func `directories are created first, and one that can't be created fails before any request`()
        async throws
    {
        let url = URL(string: "http://a.example/x")!
        let downloader = ListDownloader(transport: ScriptedTransport([:])).coordinator()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let deep = directory.appending(path: "a/b/c", directoryHint: .isDirectory)
            try await downloader.prepareDirectories(of: [DownloadRequest(url, to: deep)])
            #expect(try FileManager.default.contentsOfDirectory(atPath: deep.path) == [])

            let file = directory.appending(path: "file")
            try Data().write(to: file)
            let inTheWay = DownloadRequest(url, to: file.appending(path: "sub", directoryHint: .isDirectory))
            let error = await #expect(throws: FileError.self) {
                try await downloader.prepareDirectories(of: [inTheWay])
            }
            #expect(error?.subject.contains("file") == true)
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A list on a shared queue` {
    private func requests(_ count: Int, _ origin: LoopbackOrigin, _ directory: URL) throws -> [DownloadRequest] {
        try (0..<count).map {
            DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory, name: "\($0)")
        }
    }

    @Test func `a job that another process finished and removed is done only if its file exists`()
        async throws
    {
        try await downloading(from: { _ in OriginResponse(body: [1]) }) { list, origin, directory in
            try Data(bytes(7)).write(to: directory.appending(path: "0"))
            let downloads = list.coordinator(store: storeOfOthers())
            let summary = try await downloads.download(try requests(2, origin, directory))
            #expect(summary.doneCount == 1 && summary.totalFileSize == 7 && summary.unfinishedCount == 0)
            guard summary.failures[1]?.code == .removed else { return #expect(Bool(false)) }
            #expect(origin.metrics.requests == 0)
        }
    }

    @Test func `after some of a list fails, the next run downloads only the failed ones`() async throws {
        try await downloading { request in
            request.target == "/1" && request.attempt == 1 ? OriginResponse(status: 404) : OriginResponse(body: [1])
        } during: { list, origin, directory in
            let time = VirtualTime()
            let store = MemoryQueueStore(time: time.queueTime)
            let all = try requests(3, origin, directory)
            let first = try await list.coordinator(store: store, time: time).download(all)
            #expect(first.doneCount == 2 && Set(first.failures.keys) == [1])
            let second = try await list.coordinator(store: store, time: time).download(all)
            #expect(second.doneCount == 1 && second.skippedCount == 2 && second.isComplete)
            #expect(try await store.snapshot(listing: 0).counts == [:], "a list that is done is forgotten")
        }
    }

    @Test func `a download waits for a partial file that a stopped worker still holds`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(600_000)) }, retries: 1) {
            list, origin, directory in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(
                at: directory.appending(path: "queue.db"), time: time.queueTime)
            let all = try requests(1, origin, directory.appending(path: "files", directoryHint: .isDirectory))
            try await FileIO.shared.createDirectory(at: all[0].directory)
            let held = Gate()
            let holder = Task {
                let stream = try await all[0].partialTarget.openForWriting(existing: .fail, locked: true)
                await held.pass()
                try await stream.discard()
            }
            await held.arrivals(1)
            let summary = try await list.coordinator(store: store, time: time).download(all) { _, event in
                guard case .retrying(_, _, let delay) = event else { return }
                #expect(delay >= .seconds(15), "not before the holder's lease would be over")
                Task {
                    await held.open()
                    _ = try await holder.value
                    time.advance(by: delay)
                }
            }
            #expect(summary.isComplete && summary.retryCount == 1)
            #expect(try names(in: all[0].directory) == ["0"])
            #expect(try Data(contentsOf: all[0].target).elementsEqual(bytes(600_000)))
            try await store.close()
        }
    }

    @Test func `another URL for an unfinished download's file fails and names that download`() async throws {
        try await downloading(from: { _ in OriginResponse(body: [1]) }) { list, origin, directory in
            let time = VirtualTime()
            let store = MemoryQueueStore(time: time.queueTime)
            let both = try ["/old", "/new"].map {
                DownloadRequest(try URL(fetchable: origin.url($0)), to: directory, name: "song")
            }
            _ = try await store.enqueue([both[0]], options: EnqueueOptions(batch: "before"))
            let summary = try await list.coordinator(store: store, time: time).download([both[1]])
            let error = try #require(summary.failures[0])
            #expect(error.code == .alreadyQueued)
            #expect("\(error)".contains("/old") && "\(error)".contains("another queue"))
        }
    }
}

/// A store in which another worker completes and removes all enqueued jobs before a worker here can claim one.
private func storeOfOthers() -> InterceptedStore {
    InterceptedStore(isShared: true) { store, settlements, claim in
        guard let claim else { return try await store.takeTurn(settlements, claiming: nil) }
        let others = JobClaim(
            worker: try await store.attach(), count: claim.count, limits: claim.limits, lease: claim.lease)
        let jobs = try await store.takeTurn([], claiming: others).claimed
        let ended = jobs.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
        _ = try await store.takeTurn(ended, claiming: nil)
        try await store.prune(olderThan: .zero, keeping: 0)
        return try await store.takeTurn(settlements, claiming: claim)
    }
}
