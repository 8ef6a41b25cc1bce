import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import Synchronization
import Testing
import TestSupport

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A transfer on a failing disk` {
    private static let content = bytes(900_000)

    /// Calls `body` with an engine that uses these calls, and expects that it leaves no descriptor open.
    private func withFiles(
        _ change: (inout SystemCalls) -> Void, during body: (FileIO) async throws -> Void
    ) async throws {
        var calls = SystemCalls.system
        change(&calls)
        let files = FileIO(configuration: .init(), calls: calls)
        let result: Result<Void, any Error>
        do { result = .success(try await body(files)) } catch { result = .failure(error) }
        await files.shutdown()
        #expect(files.statistics.openCount == 0)
        try result.get()
    }

    private func serving(
        sending count: Int? = nil, _ body: @escaping @Sendable (TransferScene) async throws -> Void
    ) async throws {
        try await TransferScene.with(
            { .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? count : nil) }, during: body)
    }

    private func fail(
        _ scene: TransferScene, _ files: FileIO, durability: Durability = .data, code: FileError.Code,
        checkpoints: CheckpointPolicy = .init(), sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: TransferError.self, sourceLocation: sourceLocation) {
            try await scene.transfer(files: files, durability: durability, checkpoints: checkpoints).run()
        }
        guard let cause = error?.fileError else {
            Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
            return
        }
        #expect(cause.code == code, "\(cause)", sourceLocation: sourceLocation)
    }

    @Test(arguments: [Durability.none, .data])
    func `that is full keeps its bytes and resumes when there is room`(durability: Durability) async throws {
        try await serving { scene in
            let writes = Atomic(0)
            try await withFiles {
                $0.writeVector = { descriptor, pieces in
                    if writes.wrappingAdd(1, ordering: .relaxed).newValue > 1 { return -Int(ENOSPC) }
                    return SystemCalls.system.writeVector(descriptor, pieces)
                }
            } during: { files in
                await fail(scene, files, durability: durability, code: .noSpace)
            }
            let kept = try #require(scene.partialSize)
            #expect(kept >= 256 << 10)
            #expect(scene.checkpoint?.synced == (durability == .none ? 0 : Int64(kept)))
            try await scene.finish(durability: durability)
            #expect(scene.target(is: Self.content))
            #expect(scene.ranges.values == ["", "bytes=\(kept)-"])
        }
    }

    @Test func `that fails a write starts over from the first byte`() async throws {
        try await serving { scene in
            try await withFiles {
                $0.writeVector = { _, _ in -Int(EIO) }
            } during: { files in
                await fail(scene, files, code: .inputOutput)
            }
            #expect(scene.names == [])
            try await scene.finish()
            #expect(scene.ranges.values == ["", ""])
        }
    }

    /// The sync fails during the writes, at the end, or after a cancellation. After a failed sync, the next one succeeds (fsync(2)).
    @Test(arguments: [EIO, ENOSPC]) func `that fails a sync starts over from byte 0`(number: Int32) async throws {
        for policy in [CheckpointPolicy(bytes: 1, interval: .zero), CheckpointPolicy()] {
            try await serving { scene in
                let syncs = Atomic(0)
                try await withFiles {
                    $0.syncData = {
                        syncs.wrappingAdd(1, ordering: .relaxed).newValue == 1
                            ? -number : SystemCalls.system.syncData($0)
                    }
                } during: { files in
                    await fail(
                        scene, files, code: number == EIO ? .inputOutput : .noSpace, checkpoints: policy)
                }
                #expect(scene.names == [])
                try await scene.finish()
                #expect(scene.target(is: Self.content))
                #expect(scene.ranges.values == ["", ""])
            }
        }
        try await serving(sending: 400_000) { scene in
            try await withFiles {
                $0.syncData = { _ in -number }
            } during: { files in
                let arrived = Gate()
                let running = Task {
                    try await scene.transfer(
                        files: files, durability: .data,
                        onReceived: { if $0 == 400_000 { Task { await arrived.pass() } } }
                    ).run()
                }
                await arrived.arrivals(1)
                running.cancel()
                await #expect(throws: CancellationError.self) { try await running.value }
                await arrived.open()
            }
            #expect(scene.names == [])
        }
    }

    @Test(arguments: [ENOSPC, EIO]) func `that can't write the first checkpoint writes no bytes either`(number: Int32)
        async throws
    {
        try await serving { scene in
            let written = Atomic(false)
            try await withFiles {
                $0.rename = { _, _ in -number }
                $0.writeVector = {
                    written.store(true, ordering: .relaxed)
                    return SystemCalls.system.writeVector($0, $1)
                }
            } during: { files in
                await fail(scene, files, code: number == EIO ? .inputOutput : .noSpace)
            }
            let hasWritten = written.load(ordering: .relaxed)
            #expect(!hasWritten)
            #expect(scene.names == [])
        }
    }

    @Test func `that can't write a later checkpoint keeps the last valid one`() async throws {
        try await serving { scene in
            let renames = Atomic(0)
            try await withFiles {
                $0.rename = {
                    if renames.wrappingAdd(1, ordering: .relaxed).newValue > 1 { return -ENOSPC }
                    return SystemCalls.system.rename($0, $1)
                }
            } during: { files in
                await fail(scene, files, code: .noSpace, checkpoints: .init(bytes: 1, interval: .zero))
            }
            #expect(scene.checkpoint?.synced == 0)
            let kept = try #require(scene.partialSize)
            try await scene.finish()
            #expect(scene.target(is: Self.content))
            #expect(scene.ranges.values == ["", "bytes=\(kept)-"])
        }
    }

    @Test func `that can't rename keeps the complete file and fetches no byte again`() async throws {
        try await serving { scene in
            try await withFiles {
                $0.renameWithoutReplacing = { _, _ in -EACCES }
            } during: { files in
                await fail(scene, files, code: .permissionDenied)
            }
            #expect(scene.partialSize == 900_000)
            try await scene.finish()
            #expect(scene.target(is: Self.content))
            #expect(scene.sent.values == [900_000, 0])
        }
    }

    /// The order of operations that makes a power cut harmless: see ``PartialFile``.
    @Test(arguments: [Durability.none, .data])
    func `never leaves an old checkpoint with new bytes`(durability: Durability) async throws {
        let changed = bytes(900_000, seed: 3)
        try await TransferScene.with {
            $0.attempt == 1
                ? .file(Self.content, etag: "\"v1\"", request: $0, sending: 400_000)
                : .file(changed, etag: "\"v2\"", request: $0)
        } during: { scene in
            await scene.leavePartial(at: 400_000, durability: .data)
            let log = Recorder<String>()
            try await withFiles {
                $0.truncate = {
                    log.note("cut off")
                    return SystemCalls.system.truncate($0, $1)
                }
                $0.sync = {
                    log.note("sync checkpoint")
                    return SystemCalls.system.sync($0)
                }
                $0.rename = {
                    log.note("rename checkpoint")
                    return SystemCalls.system.rename($0, $1)
                }
                $0.syncDirectory = {
                    log.note("sync directory")
                    return SystemCalls.system.syncDirectory($0)
                }
                $0.writeVector = {
                    log.note("append")
                    return SystemCalls.system.writeVector($0, $1)
                }
            } during: { files in
                try await scene.finish(durability: durability, files: files)
            }
            #expect(
                log.values.prefix(5) == [
                    "cut off", "sync checkpoint", "rename checkpoint", "sync directory", "append",
                ])
            #expect(scene.target(is: changed))
        }
    }

    @Test func `never leaves an old checkpoint with bytes that can't be resumed`() async throws {
        let changed = bytes(900_000, seed: 3)
        try await TransferScene.with {
            $0.attempt == 1
                ? .file(Self.content, etag: "\"v1\"", request: $0, sending: 400_000)
                : .file(changed, request: $0)
        } during: { scene in
            await scene.leavePartial(at: 400_000, durability: .data)
            let log = Recorder<String>()
            let isWritten = Atomic(false)
            try await withFiles {
                $0.rename = {
                    log.note("rename checkpoint")
                    return SystemCalls.system.rename($0, $1)
                }
                $0.syncDirectory = {
                    log.note("sync directory")
                    return SystemCalls.system.syncDirectory($0)
                }
                $0.writeVector = {
                    if !isWritten.exchange(true, ordering: .relaxed) { log.note("append") }
                    return SystemCalls.system.writeVector($0, $1)
                }
            } during: { files in
                try await scene.finish(files: files)
            }
            #expect(log.values.prefix(3) == ["rename checkpoint", "sync directory", "append"])
            #expect(scene.target(is: changed))
            #expect(scene.names == ["a.bin"])
        }
    }
}
