import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `What an earlier attempt left` {
    private static let content = bytes(900_000)

    private func leaving(
        at count: Int = 400_000, name: String = "a.bin", content: [UInt8] = content,
        _ body: @escaping @Sendable (TransferScene) async throws -> Void
    ) async throws {
        try await TransferScene.with(
            {
                .file(
                    $0.attempt == 1 ? Self.content : content, etag: "\"v1\"", request: $0,
                    sending: $0.attempt == 1 ? count : nil)
            },
            name: name
        ) { scene in
            await scene.leavePartial(at: count)
            try await body(scene)
        }
    }

    /// Expects that the next transfer starts over and gets the right bytes.
    private func expectFreshStart(_ scene: TransferScene, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        try await scene.finish(durability: .data)
        #expect(scene.target(is: Self.content), sourceLocation: sourceLocation)
        #expect(scene.ranges.values == ["", ""], sourceLocation: sourceLocation)
    }

    @Test func `that is empty and has no checkpoint is reused`() async throws {
        try await leaving { scene in
            try FileManager.default.removeItem(at: scene.request.checkpointTarget)
            try Data().write(to: scene.request.partialTarget)
            try await expectFreshStart(scene)
            #expect(scene.names == ["a.bin"])
        }
    }

    /// What a power loss can leave of a checkpoint, even one for an empty partial file.
    @Test(arguments: [0, 1, 9, 12, 100], [false, true])
    func `with a checkpoint that is truncated or ends in zeros is discarded`(count: Int, isZero: Bool) async throws {
        for isEmpty in [false, true] {
            try await leaving { scene in
                let whole = try Data(contentsOf: scene.request.checkpointTarget)
                let lost = isZero ? Data(repeating: 0, count: whole.count - count) : Data()
                try (whole.prefix(count) + lost).write(to: scene.request.checkpointTarget)
                if isEmpty { try Data().write(to: scene.request.partialTarget) }
                try await expectFreshStart(scene)
                #expect(scene.names == ["a.bin"])
            }
        }
    }

    @Test func `with a checkpoint from another version is discarded`() async throws {
        try await leaving { scene in
            var checkpoint = try #require(scene.checkpoint)
            checkpoint.version = 2
            try checkpoint.data.write(to: scene.request.checkpointTarget)
            try await expectFreshStart(scene)
            #expect(scene.names == ["a.bin"])
        }
    }

    /// A user's own files have both names, and keep their contents and modes.
    @Test(arguments: [
        "{}", "not JSON", #"{"file":{"name":"song"}}"#, #"{"boot":"x"}"#, "[1]", String(repeating: " ", count: 20_000),
        String(repeating: "[", count: 10_000),
    ])
    func `never includes a user's files with the names of a partial file and its checkpoint`(text: String)
        async throws
    {
        try await TransferScene.with { _ in
            OriginResponse(status: 404)
        } during: { scene in
            let (part, checkpoint) = (scene.request.partialTarget, scene.request.checkpointTarget)
            try Data("mine".utf8).write(to: part)
            try Data(text.utf8).write(to: checkpoint)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: part.path)
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            #expect(error?.fileError?.subject == checkpoint.path)
            #expect("\(try #require(error))".contains("Rename"))
            try await Transfer.discardPartial(of: scene.request, files: .shared)
            #expect(try Data(contentsOf: part) == Data("mine".utf8))
            #expect(try Data(contentsOf: checkpoint) == Data(text.utf8))
            let mode = try FileManager.default.attributesOfItem(atPath: part.path)[.posixPermissions] as? Int
            #expect(mode == 0o644)
            #expect(scene.ranges.values.isEmpty, "nothing was asked for")
        }
    }

    @Test func `never includes a file whose checkpoint is a link`() async throws {
        try await leaving { scene in
            let elsewhere = scene.directory.appending(path: "elsewhere")
            try FileManager.default.moveItem(at: scene.request.checkpointTarget, to: elsewhere)
            try FileManager.default.createSymbolicLink(
                at: scene.request.checkpointTarget, withDestinationURL: elsewhere)
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            #expect(error?.fileError?.subject.hasSuffix("a.bin.sluice.json") == true)
            #expect(scene.names == ["a.bin.sluice.json", "a.bin.sluice.part", "elsewhere"])
            #expect(scene.partialSize == 400_000)
        }
    }

    @Test func `with a FIFO as its checkpoint fails without waiting`() async throws {
        try await leaving { scene in
            try FileManager.default.removeItem(at: scene.request.checkpointTarget)
            #expect(mkfifo(scene.request.checkpointTarget.path, 0o600) == 0)
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            guard let cause = error?.fileError else { return #expect(Bool(false)) }
            #expect(cause.subject.hasSuffix("a.bin.sluice.json"))
        }
    }

    @Test func `is discarded if it was replaced by a copy or belongs to another URL`() async throws {
        for isCopy in [true, false] {
            try await leaving { scene in
                if isCopy {
                    let bytes = try Data(contentsOf: scene.request.partialTarget)
                    // Written beside it and renamed: a different inode with the same bytes.
                    try bytes.write(to: scene.request.partialTarget, options: .atomic)
                } else {
                    var checkpoint = try #require(scene.checkpoint)
                    checkpoint.url = Checkpoint.digest(of: try #require(URL(string: "http://other.example/")))
                    try checkpoint.data.write(to: scene.request.checkpointTarget)
                }
                try await expectFreshStart(scene)
                #expect(scene.names == ["a.bin"])
            }
        }
    }

    @Test(arguments: [0, 100_000, 400_000, 450_000])
    func `before a system restart counts up to the last sync`(synced: Int64) async throws {
        try await leaving { scene in
            var checkpoint = try #require(scene.checkpoint)
            checkpoint.boot = "another"
            checkpoint.synced = synced
            try checkpoint.data.write(to: scene.request.checkpointTarget)
            // What a power cut may leave of the rest.
            let partial = try FileHandle(forUpdating: scene.request.partialTarget)
            let lost = min(Int(synced), 400_000)
            try partial.seek(toOffset: UInt64(lost))
            try partial.write(contentsOf: Data(repeating: 0, count: 400_000 - lost))
            try partial.close()
            try await scene.finish(durability: .data)
            #expect(scene.target(is: Self.content))
            #expect(scene.ranges.values == ["", synced == 0 ? "" : "bytes=\(lost)-"])
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test func `still counts after its directory was moved`() async throws {
        try await leaving { scene in
            let moved = scene.directory.appending(path: "moved", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: moved, withIntermediateDirectories: false)
            for name in ["a.bin.sluice.part", "a.bin.sluice.json"] {
                try FileManager.default.moveItem(
                    at: scene.directory.appending(path: name), to: moved.appending(path: name))
            }
            let request = DownloadRequest(scene.request.url, to: moved, name: "a.bin")
            let transfer = Transfer(
                request: request, transport: scene.transport, files: .shared, existing: .fail, durability: .none,
                onResponse: { _, _ in }, onReceived: { _ in })
            _ = try await transfer.run()
            #expect(try Data(contentsOf: request.target).elementsEqual(Self.content))
            #expect(scene.ranges.values == ["", "bytes=400000-"])
        }
    }

    @Test func `is discarded if it's longer than the file on the server`() async throws {
        try await leaving { scene in
            let partial = try FileHandle(forWritingTo: scene.request.partialTarget)
            try partial.seekToEnd()
            try partial.write(contentsOf: Data(repeating: 1, count: 600_000))
            try partial.close()
            try await expectFreshStart(scene)
        }
    }

    @Test func `with hard links is replaced, and the links keep their bytes`() async throws {
        try await leaving { scene in
            let other = scene.directory.appending(path: "other")
            try FileManager.default.linkItem(at: scene.request.partialTarget, to: other)
            try await expectFreshStart(scene)
            #expect(try Data(contentsOf: other).elementsEqual(Self.content.prefix(400_000)))
        }
    }

    @Test func `isn't touched while another process writes it`() async throws {
        try await leaving { scene in
            let other = try await scene.request.partialTarget.openForWriting(existing: .append, locked: true)
            let before = scene.checkpoint
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            guard let cause = error?.fileError else { return #expect(Bool(false)) }
            #expect(cause.code == .locked && cause.subject.hasSuffix("a.bin.sluice.part"))
            try await Transfer.discardPartial(of: scene.request, files: .shared)
            #expect(scene.partialSize == 400_000 && scene.checkpoint == before)
            try await other.close()
            #expect(scene.ranges.values == [""], "nothing was asked for")
        }
    }

    @Test func `is removed on discard, and other files stay`() async throws {
        try await leaving { scene in
            try Data("x".utf8).write(to: scene.directory.appending(path: "a.bin.part"))
            try Data("x".utf8).write(to: scene.directory.appending(path: scene.request.checkpointTemporaryName))
            try await Transfer.discardPartial(of: scene.request, files: .shared)
            #expect(scene.names == ["a.bin.part"])
            try await Transfer.discardPartial(of: scene.request, files: .shared)
        }
    }

    @Test func `isn't mixed with a small file that replaces it`() async throws {
        let small = bytes(1000, seed: 7)
        try await leaving(content: small) { scene in
            var checkpoint = try #require(scene.checkpoint)
            checkpoint.validator = .init(.entityTag("\"v0\""))
            try checkpoint.data.write(to: scene.request.checkpointTarget)
            try await scene.finish(durability: .data)
            #expect(scene.target(is: small))
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test func `is found even if its name was shortened`() async throws {
        let name = String(repeating: "ä", count: 126)
        try await leaving(name: name) { scene in
            #expect(scene.names.allSatisfy { $0.utf8.count <= 255 } && scene.names.count == 2)
            try await scene.finish()
            #expect(scene.names == [name])
            #expect(scene.ranges.values == ["", "bytes=400000-"])
        }
    }

    @Test(arguments: [false, true]) func `is private if its file replaces a private one`(isLeft: Bool)
        async throws
    {
        try await TransferScene.with({
            .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
        }) { scene in
            func mode(_ url: URL) throws -> Int? {
                try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
            }
            func makePrivate() throws {
                try Data("private".utf8).write(to: scene.request.target)
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: scene.request.target.path)
            }
            if isLeft {
                await scene.leavePartial(at: 400_000)
                try makePrivate()
            } else {
                try makePrivate()
                await scene.leavePartial(at: 400_000, existing: .replace)
                #expect(try mode(scene.request.partialTarget) == 0o600)
            }
            let modes = Recorder<Int?>()
            _ = try await scene.transfer(
                existing: .replace,
                onPhase: { if $0 == .receiving { modes.note(try? mode(scene.request.partialTarget)) } }
            ).run()
            #expect(modes.values == [0o600])
            #expect(try mode(scene.request.target) == 0o600 && scene.target(is: Self.content))
        }
    }

    /// Files of a user that have the names of partial files, such as those of older versions of this package.
    @Test(arguments: [1000, 900_000], ["a.bin.sluice.part", "a.bin.sluice.json"])
    func `never includes a user's file with such a name`(size: Int, name: String) async throws {
        try await TransferScene.with {
            .file(bytes(size), etag: "\"v1\"", request: $0)
        } during: { scene in
            let mine = Data("mine".utf8)
            try mine.write(to: scene.directory.appending(path: name))
            do {
                try await scene.finish()
                #expect(size == 1000, "a small file needs no partial file")
                #expect(scene.names == ["a.bin", name])
            } catch let error as TransferError {
                #expect(size > 1000 || name.hasSuffix(".json"))
                #expect("\(error)".contains(name) && "\(error)".contains("Rename"))
                #expect(scene.names == [name])
            }
            try await Transfer.discardPartial(of: scene.request, files: .shared)
            #expect(try Data(contentsOf: scene.directory.appending(path: name)) == mine)
        }
    }

    @Test func `of a download that can't resume is recognized after a kill and discarded`() async throws {
        try await TransferScene.with {
            // Without a validator.
            OriginResponse(
                announcedLength: 900_000,
                steps: $0.attempt == 1
                    ? [.send(Array(Self.content.prefix(400_000))), .stall] : [.send(Self.content)])
        } during: { scene in
            let arrived = Gate()
            let running = Task {
                try await scene.transfer(onReceived: { if $0 == 400_000 { Task { await arrived.pass() } } }).run()
            }
            await arrived.arrivals(1)
            // A killed process leaves its files as they are now, without a lock.
            let copies = ["a.bin.sluice.part", "a.bin.sluice.json"].map { scene.directory.appending(path: $0) }
            let bytes = copies.map { try? Data(contentsOf: $0) }
            running.cancel()
            _ = await running.result
            await arrived.open()
            for (copy, bytes) in zip(copies, bytes) { try bytes?.write(to: copy) }
            try await scene.finish()
            #expect(scene.target(is: Self.content))
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test(arguments: ["song.sluice.part", "song.sluice.json", "song.sluice.new"])
    func `conflicts with a request for its names`(name: String) {
        let directory = URL(filePath: "/tmp", directoryHint: .isDirectory)
        let url = URL(string: "http://a.example/x")!
        let requests = ["song", name].map { DownloadRequest(url, to: directory, name: $0) }
        #expect(DownloadRequest.conflicts(in: requests) == [1: 0])
    }
}

/// A process that is killed after it gives a file its final name, and before it records that.
@Suite(.timeLimit(.minutes(15))) struct `A file that may have been published` {
    private static let content = bytes(900_000)

    /// Publishes the file but keeps the checkpoint, like a process that is killed at that point.
    private func published(
        content: [UInt8] = content, etag: String? = "\"v1\"", isAnnounced: Bool = true, durability: Durability = .none,
        _ body: @escaping @Sendable (TransferScene) async throws -> Void
    ) async throws {
        try await TransferScene.with { request in
            var answer = OriginResponse.file(content, etag: etag, request: request)
            if !isAnnounced { answer.announcedLength = nil }
            return answer
        } during: { scene in
            _ = try await scene.transfer(durability: durability).run()
            try await body(scene)
        }
    }

    @Test(arguments: ["\"v1\"", nil], [true, false])
    func `is recognized without a request`(etag: String?, isAnnounced: Bool) async throws {
        for existing in [ExistingFile.fail, .skip, .replace] {
            try await published(etag: etag, isAnnounced: isAnnounced) { scene in
                #expect(scene.names == ["a.bin", "a.bin.sluice.json"])
                let transfer = scene.transfer(existing: existing, mayBePublished: true)
                let result = try await transfer.run()
                #expect(result == TransferResult(bytes: 900_000, isCheckpointed: true))
                #expect(scene.origin.metrics.requests == 1)
                try await Transfer.discardPartial(of: scene.request, files: .shared)
                #expect(scene.names == ["a.bin"])
            }
        }
    }

    @Test func `is recognized if another worker publishes it during the request`() async throws {
        let other = Guarded<TransferScene?>(nil)
        try await TransferScene.with { request in
            // A worker that doesn't know that it lost its lease publishes the file first.
            if let scene = other.withLock({ $0.take() }) { _ = try? await scene.transfer().run() }
            return OriginResponse.file(Self.content, etag: "\"v1\"", request: request)
        } during: { scene in
            other.withLock { $0 = scene }
            let transfer = scene.transfer(mayBePublished: true)
            let result = try await transfer.run()
            #expect(result == TransferResult(bytes: 900_000, isCheckpointed: true))
            #expect(scene.target(is: Self.content))
            try await Transfer.discardPartial(of: scene.request, files: .shared)
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test func `is recognized if another worker publishes it before this one takes its lock`() async throws {
        try await published { scene in
            let (target, partial) = (scene.request.target.path, scene.request.partialTarget.path)
            try FileManager.default.moveItem(atPath: target, toPath: target + ".before")
            var calls = SystemCalls.system
            calls.open = { path, flags, permissions in
                if String(cString: path) == partial { rename(target + ".before", target) }
                return SystemCalls.system.open(path, flags, permissions)
            }
            let files = FileIO(configuration: .init(), calls: calls)
            let transfer = scene.transfer(files: files, mayBePublished: true)
            let result = try await transfer.run()
            #expect(result == TransferResult(bytes: 900_000, isCheckpointed: true))
            #expect(scene.origin.metrics.requests == 1)
            #expect(scene.checkpoint != nil, "until the outcome is recorded")
            try await Transfer.discardPartial(of: scene.request, files: .shared)
            #expect(scene.names == ["a.bin"])
            await files.shutdown()
        }
    }

    @Test func `is someone else's if the job never wrote it`() async throws {
        try await published { scene in
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            guard error?.code == .fileExists else { return #expect(Bool(false)) }
            #expect(scene.target(is: Self.content))
        }
    }

    @Test func `is someone else's if it's a different file or has no checkpoint`() async throws {
        for isCopy in [true, false] {
            try await published { scene in
                if isCopy {
                    try Data(contentsOf: scene.request.target).write(to: scene.request.target, options: .atomic)
                } else {
                    try FileManager.default.removeItem(at: scene.request.checkpointTarget)
                }
                let error = await #expect(throws: TransferError.self) {
                    try await scene.transfer(mayBePublished: true).run()
                }
                guard error?.code == .fileExists else { return #expect(Bool(false)) }
                #expect(scene.target(is: Self.content))
                // A checkpoint for another file settles this without a request.
                #expect(scene.origin.metrics.requests == (isCopy ? 1 : 2))
            }
        }
    }

    @Test func `is recognized after a system restart if it was synced before its rename`() async throws {
        for (durability, isRecognized) in [(Durability.data, true), (.none, false)] {
            try await published(durability: durability) { scene in
                var checkpoint = try #require(scene.checkpoint)
                checkpoint.boot = "another"
                try checkpoint.data.write(to: scene.request.checkpointTarget)
                let result = try? await scene.transfer(durability: durability, mayBePublished: true).run()
                #expect((result != nil) == isRecognized)
            }
        }
    }

    @Test(arguments: [false, true])
    func `that is small completes the job if it has the same bytes`(isChanged: Bool) async throws {
        let small = bytes(1000)
        try await published(content: small) { scene in
            if isChanged { try Data(bytes(1000, seed: 1)).write(to: scene.request.target) }
            let transfer = scene.transfer(mayBePublished: true)
            if isChanged {
                let error = await #expect(throws: TransferError.self) { try await transfer.run() }
                guard error?.code == .fileExists else { return #expect(Bool(false)) }
            } else {
                let result = try await transfer.run()
                #expect(result == TransferResult(bytes: 1000, isCheckpointed: false))
            }
            #expect(scene.names == ["a.bin"])
        }
    }
}
