import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceDownloads

/// A process that is killed between a file's final name and its own record of it.
@Suite(.timeLimit(.minutes(15))) struct `A file that may have been published` {
    private static let content = placeBytes(900_000)

    /// Publishes without forgetting, as a process does that is killed there.
    private func published(
        content: [UInt8] = content, etag: String? = "\"v1\"", isAnnounced: Bool = true, durability: Durability = .none,
        _ body: @escaping @Sendable (TransferScene) async throws -> Void
    ) async throws {
        try await TransferScene.with { request in
            var answer = OriginResponse.file(content, etag: etag, request: request)
            if !isAnnounced { answer.announcedLength = nil }
            return answer
        } _: { scene in
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
                await transfer.forget()
                #expect(scene.names == ["a.bin"])
            }
        }
    }

    @Test func `is recognized if another worker publishes it while this one asks the server`() async throws {
        let other = Guarded<TransferScene?>(nil)
        try await TransferScene.with { request in
            // A worker that has lost its lease, and doesn't know it, has the file first.
            if let scene = other.withLock({ $0.take() }) { _ = try? await scene.transfer().run() }
            return OriginResponse.file(Self.content, etag: "\"v1\"", request: request)
        } _: { scene in
            other.withLock { $0 = scene }
            let transfer = scene.transfer(mayBePublished: true)
            let result = try await transfer.run()
            #expect(result == TransferResult(bytes: 900_000, isCheckpointed: true))
            #expect(scene.target(is: Self.content))
            await transfer.forget()
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test func `is recognized if another worker publishes it before this one locks its partial file`() async throws {
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
            await transfer.forget()
            #expect(scene.names == ["a.bin"])
            await files.shutdown()
        }
    }

    @Test func `is another's if the job never wrote it`() async throws {
        try await published { scene in
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            guard error?.code == .fileExists else { return #expect(Bool(false)) }
            #expect(scene.target(is: Self.content))
        }
    }

    @Test func `is another's if it is another file, or no checkpoint speaks for it`() async throws {
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
            }
        }
    }

    @Test func `after the system was restarted is recognized if it was synced before it got its name`() async throws {
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
    func `and is small is the job done if it has the same bytes`(isChanged: Bool) async throws {
        let small = placeBytes(1000)
        try await published(content: small) { scene in
            if isChanged { try Data(placeBytes(1000, seed: 1)).write(to: scene.request.target) }
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
