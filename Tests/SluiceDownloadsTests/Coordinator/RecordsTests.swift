import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Records of completed files` {
    /// A downloader whose runs have new records in one directory, as those of several processes do.
    struct Scene: Sendable {
        var downloader: ListDownloader
        let origin: LoopbackOrigin
        /// The directory of the downloads.
        let target: URL
        /// The directory of the records.
        let state: URL

        func request(_ path: String, name: String? = nil) throws -> DownloadRequest {
            DownloadRequest(try URL(fetchable: origin.url(path)), to: target, name: name)
        }

        func records(now: @escaping @Sendable () -> FileTime = { .now }) -> DownloadRecords {
            // On a busy machine, the tests would give up too soon.
            DownloadRecords(
                in: state, maximumAge: .seconds(30 * 86_400), using: .shared, lockTime: .seconds(3600), now: now)
        }

        @discardableResult
        func run(_ requests: [DownloadRequest], _ records: DownloadRecords? = nil) async throws -> DownloadSummary {
            var downloader = downloader
            downloader.configuration.records = records ?? self.records()
            return try await downloader.run(requests)
        }

        var recordFile: URL {
            get throws {
                let names = try names(in: state).filter { $0.hasSuffix(".files") }
                return state.appending(path: try #require(names.first))
            }
        }

        static func with(
            during test: @escaping @Sendable (Scene) async throws -> Void
        ) async throws {
            try await downloading(from: { answer($0) }) { downloader, origin, directory in
                let target = directory.appending(path: "files", directoryHint: .isDirectory)
                try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
                try await test(
                    Scene(
                        downloader: downloader, origin: origin, target: target,
                        state: directory.appending(path: "state", directoryHint: .isDirectory)))
            }
        }

        /// The path is the size of the body.
        private static func answer(_ request: OriginRequest) -> OriginResponse {
            let size = Int(request.target.dropFirst().prefix { $0 != "?" }) ?? 10
            return .file(bytes(size), etag: "\"v1\"", request: request)
        }
    }

    @Test(arguments: [ExistingFile.fail, .skip, .replace])
    func `a list that is downloaded again does nothing`(first: ExistingFile) async throws {
        try await Scene.with { scene in
            let requests = try [0, 1000, 300_000, 900_000].map { try scene.request("/\($0)") }
            var before = scene
            before.downloader.configuration.existing = first
            #expect(try await before.run(requests).doneCount == 4)
            let again = try await scene.run(requests)
            #expect(again.isComplete && again.skippedCount == 4 && scene.origin.metrics.requests == 4)
            // A list with a file more downloads that.
            let more = try await scene.run(requests + [scene.request("/7")])
            #expect(more.doneCount == 1 && more.skippedCount == 4 && scene.origin.metrics.requests == 5)
        }
    }

    enum Change: CaseIterable {
        case content, replaced, time, otherURL, foreign, removed, link
    }

    @Test(arguments: Change.allCases, [1000, 900_000])
    func `a file that somebody made or changed is an error`(change: Change, size: Int) async throws {
        try await Scene.with { scene in
            var request = try scene.request("/\(size)", name: "a")
            let file = request.target
            if change != .foreign { try await scene.run([request]) }
            switch change {
            case .content: try Data("other".utf8).write(to: file)
            case .replaced, .foreign:
                try? FileManager.default.removeItem(at: file)
                try Data(bytes(size)).write(to: file, options: .atomic)
            case .time: try await FileIO.shared.setTimes(of: file, modification: FileTime(seconds: 1))
            case .otherURL: request = try scene.request("/\(size)?2", name: "a")
            case .removed: try FileManager.default.removeItem(at: file)
            case .link:
                let moved = scene.target.appending(path: "b")
                try FileManager.default.moveItem(at: file, to: moved)
                try FileManager.default.createSymbolicLink(at: file, withDestinationURL: moved)
            }
            let again = try await scene.run([request])
            if change == .removed {
                #expect(again.doneCount == 1)
            } else {
                #expect(again.failures[0]?.code == .fileExists, "\(again.results)")
                #expect(scene.origin.metrics.requests == (change == .foreign ? 0 : 1))
            }
        }
    }

    @Test func `nobody else can read the records, and they have no secrets`() async throws {
        try await Scene.with { scene in
            let url = "http://ann:sesame@127.0.0.1:\(scene.origin.port)/10?token=sesame"
            try await scene.run([DownloadRequest(try URL(fetchable: url), to: scene.target, name: "song")])
            let text = String(decoding: try Data(contentsOf: scene.recordFile), as: UTF8.self)
            #expect(text.contains("\tsong\t.\n") && text.contains("\"v1\""))
            for secret in ["sesame", "ann", "token", "127.0.0.1"] { #expect(!text.contains(secret)) }
            for name in try names(in: scene.state) {
                let status = try await FileIO.shared.status(of: scene.state.appending(path: name))
                #expect(status?.permissions == 0o600)
            }
            #expect(try await FileIO.shared.status(of: scene.state)?.permissions == 0o700)
        }
    }

    @Test func `a directory is recognized by its path without symbolic links`() async throws {
        try await Scene.with { scene in
            let link = scene.target.deletingLastPathComponent().appending(path: "link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: scene.target)
            // The directory below the link doesn't exist yet.
            let url = try scene.request("/10").url
            try await scene.run([DownloadRequest(url, to: link.appending(path: "new"), name: "a")])
            let again = try await scene.run([DownloadRequest(url, to: scene.target.appending(path: "new"), name: "a")])
            #expect(again.skippedCount == 1)
        }
    }

    // MARK: Crashes

    @Test(arguments: [true, false])
    func `a small file that was published, but not recorded, is recognized by its bytes`(
        isSame: Bool
    ) async throws {
        try await Scene.with { scene in
            let request = try scene.request("/1000")
            await scene.records().begin([request])
            // The process that began died after this.
            try Data(bytes(1000, seed: isSame ? 0 : 1)).write(to: request.target)
            let again = try await scene.run([request])
            #expect(isSame ? again.doneCount == 1 : again.failures[0]?.code == .fileExists)
            #expect(try Data(contentsOf: request.target) == Data(bytes(1000, seed: isSame ? 0 : 1)))
            guard isSame else { return }
            #expect(try await scene.run([request]).skippedCount == 1 && scene.origin.metrics.requests == 1)
        }
    }

    @Test(arguments: [true, false])
    func `a large file that was published, but not recorded, is recognized by its checkpoint`(isBegun: Bool)
        async throws
    {
        try await TransferScene.with { request in
            .file(bytes(900_000), etag: "\"v1\"", request: request)
        } during: { transfer in
            // Leaves the checkpoint, because nobody has recorded the file.
            _ = try await transfer.transfer().run()
            let state = transfer.directory.appending(path: "state", directoryHint: .isDirectory)
            var downloader = ListDownloader(transport: transfer.transport)
            for isKnown in [false, true] {
                let records = DownloadRecords(in: state)
                if !isKnown, isBegun { await records.begin([transfer.request]) }
                downloader.configuration.records = records
                let summary = try await downloader.run([transfer.request])
                #expect(isKnown ? summary.skippedCount == 1 : summary.doneCount == 1)
                #expect(transfer.origin.metrics.requests == 1 && transfer.names == ["a.bin", "state"])
            }
        }
    }

    @Test func `a line that was cut off counts for nothing, and the next one counts`() async throws {
        try await Scene.with { scene in
            let request = try scene.request("/10")
            try await scene.run([request])
            let whole = try Data(contentsOf: scene.recordFile)
            let file = try scene.recordFile
            // Every length, cut from the end of the last line.
            for cut in 1...(whole.count - 1) {
                try whole.dropLast(cut).write(to: file)
                _ = await scene.records().known(of: [request])
            }
            try whole.dropLast(3).write(to: file)
            let other = try scene.request("/11")
            try await scene.run([other])
            let again = try await scene.run([other])
            #expect(again.skippedCount == 1)
        }
    }

    @Test func `without durability, a record counts until the next boot`() throws {
        let stamp = FileStamp(size: 1, seconds: 2, nanoseconds: 3, inode: 4)
        var record = DownloadRecord(resource: "r", time: 5, file: .init(stamp: stamp, boot: "this boot"))
        record.isBegun = true
        let read = DownloadRecord.read(Data(record.lines(of: "a")), notBefore: 0)
        #expect(read == ["a": record])
        #expect(DownloadRecord.read(Data(record.lines(of: "a")), notBefore: 6).isEmpty)
    }

    // MARK: Hostile directories

    enum Hostility: CaseIterable {
        case garbage, zeros, link, fifo, directory, stateIsFile, stateIsUnwritable, lockIsLink
    }

    @Test(arguments: Hostility.allCases)
    func `a directory that can't be used doesn't fail a download`(hostility: Hostility) async throws {
        try await Scene.with { scene in
            var scene = scene
            let request = try scene.request("/10")
            let victim = scene.target.appending(path: "victim")
            try Data("untouched".utf8).write(to: victim)
            if hostility == .stateIsFile {
                try Data().write(to: scene.state)
            } else if hostility == .stateIsUnwritable {
                scene = Scene(
                    downloader: scene.downloader, origin: scene.origin, target: scene.target,
                    state: URL(filePath: "/proc/none", directoryHint: .isDirectory))
            } else {
                try await scene.run([try scene.request("/11")])
                let file = try scene.recordFile
                let lock = scene.state.appending(path: "lock")
                switch hostility {
                case .garbage: try Data(bytes(100_000)).write(to: file)
                case .zeros: try Data(count: 100_000).write(to: file)
                case .link:
                    try FileManager.default.removeItem(at: file)
                    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: victim)
                case .fifo:
                    try FileManager.default.removeItem(at: file)
                    #expect(mkfifo(file.path, 0o600) == 0)
                case .directory:
                    try FileManager.default.removeItem(at: file)
                    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
                case .lockIsLink:
                    try FileManager.default.removeItem(at: lock)
                    try FileManager.default.createSymbolicLink(at: lock, withDestinationURL: victim)
                case .stateIsFile, .stateIsUnwritable: break
                }
            }
            let records = scene.records()
            #expect(try await scene.run([request], records).doneCount == 1)
            let isHarmless = [.garbage, .zeros].contains(hostility)
            #expect((records.failure == nil) == isHarmless, "\(String(describing: records.failure))")
            #expect(try Data(contentsOf: victim) == Data("untouched".utf8))
            if isHarmless { #expect(try await scene.run([request]).skippedCount == 1) }
        }
    }

    @Test func `lines that another version or somebody else wrote are skipped`() {
        let good = DownloadRecord(resource: "r", time: 1, isBegun: true).lines(of: "a")
        for line in [
            "", "\t\t\t\t.", "done\t1\tr\t1\t2\t3\t4\t-\t-\t../b\t.", "done\t1\tr\t-\t2\t3\t4\t-\t-\tb\t.",
            "done\t99999999999999999999\tr\t1\t2\t3\t4\t-\t-\tb\t.", "begun\t1\tr\t/etc/passwd\t.", "new\t1\tr\tb\t.",
            "begun\t1\tr\tb", "begun\t1\tr\tb\t.\t", "begun\t1\tr\t\u{1}\t.", "begun\t1\tr\t.hidden\t.",
        ] {
            let bytes: [UInt8] = Array(line.utf8) + [10] + good + [10, 0xFF, 0xFE, 10]
            #expect(Array(DownloadRecord.read(Data(bytes), notBefore: 0).keys) == ["a"], "\(line)")
        }
        let odd = DownloadRecord.read(
            Data("done\t1\tr\t-5\t-9223372036854775808\t-1\t0\tx\ty\tb\t.\n".utf8), notBefore: 0)
        #expect(odd["b"]?.file?.validator == nil)
    }

    // MARK: Several processes

    @Test func `several runs record in one directory at the same time`() async throws {
        try await Scene.with { scene in
            let lists = try (0..<6).map { list in
                try (0..<20).map { try scene.request("/10?\(list)-\($0)", name: "\(list)-\($0)") }
            }
            try await withThrowingTaskGroup { group in
                for list in lists { group.addTask { try await scene.run(list) } }
                try await group.waitForAll()
            }
            let again = try await scene.run(lists.flatMap { $0 })
            #expect(again.skippedCount == 120 && scene.origin.metrics.requests == 120)
        }
    }

    @Test func `what another process completed while this one began is known`() async throws {
        try await Scene.with { scene in
            let request = try scene.request("/900000")
            try await scene.run([request])
            // The other process had looked at the file before it existed.
            await scene.records().begin([request])
            #expect(try await scene.run([request]).skippedCount == 1 && scene.origin.metrics.requests == 1)
        }
    }

    // MARK: Age

    @Test func `a record is forgotten after 30 days`() async throws {
        try await Scene.with { scene in
            let request = try scene.request("/10")
            try await scene.run([request])
            for (days, isKnown) in [(29, true), (31, false)] as [(Int64, Bool)] {
                let records = scene.records { FileTime(seconds: FileTime.now.seconds + days * 86_400) }
                let summary = try await scene.run([request], records)
                #expect(isKnown ? summary.skippedCount == 1 : summary.failures[0]?.code == .fileExists)
                // Nothing else is removed.
                try Data().write(to: scene.state.appending(path: "other"))
                #expect(try names(in: scene.state).count == (isKnown ? 3 : 2))
            }
        }
    }

    @Test func `a file of records that is mostly worn out is rewritten`() async throws {
        try await Scene.with { scene in
            let request = try scene.request("/10")
            try await scene.run([request])
            let file = try scene.recordFile
            let line = DownloadRecord(resource: "r", time: FileTime.now.seconds, isBegun: true).lines(of: "other")
            let handle = try FileHandle(forWritingTo: file)
            try handle.seekToEnd()
            for _ in 0..<2000 { try handle.write(contentsOf: Data(line)) }
            try handle.close()
            #expect(try await scene.run([request]).skippedCount == 1)
            #expect(try Data(contentsOf: file).count < 1000)
            #expect(try await scene.run([request]).skippedCount == 1)
            #expect(try await FileIO.shared.status(of: file)?.permissions == 0o600)
        }
    }
}
