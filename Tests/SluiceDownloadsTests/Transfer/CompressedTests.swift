import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A compressed download` {
    private static let text = Data(String(repeating: "hello world\n", count: 20_000).utf8)
    private static let gzip = OriginResponse(
        headerFields: [.contentEncoding: "gzip", .eTag: "\"x\"", .init("Repr-Digest")!: "sha-256=:AAAA:"],
        body: gzipOfHelloWorlds)

    /// Runs a transfer that asks for compression. Returns what is on the disk, by name.
    private static func run(
        _ scene: TransferScene, _ change: (inout Transfer) -> Void = { _ in }
    ) async throws -> Data {
        var transfer = scene.transfer()
        transfer.decodesContent = true
        transfer.mayResume = false
        change(&transfer)
        _ = try await transfer.run()
        try await Transfer.discardPartial(of: transfer.request, files: .shared)
        return try Data(contentsOf: transfer.request.target)
    }

    @Test func `is stored decoded, whatever digest the server sends for the encoded bytes`() async throws {
        try await TransferScene.with { _ in
            Self.gzip
        } during: { scene in
            let stored = try await Self.run(scene)
            #expect(stored == Self.text)
        }
    }

    @Test(arguments: [true, false]) func `is verified by the checksum of what is stored`(isRight: Bool) async throws {
        try await TransferScene.with { _ in
            Self.gzip
        } during: { scene in
            let digest = RunningChecksum(.sha256)
            digest.update(isRight ? Self.text : Data(gzipOfHelloWorlds))
            let checksum = digest.finish()
            let result = await Result { try await Self.run(scene) { $0 = scene.compressed(checksum) } }
            switch result {
            case .success(let data): #expect(isRight && data == Self.text)
            case .failure(let error): #expect(!isRight && (error as? TransferError)?.code == .digestMismatch)
            }
        }
    }

    @Test(arguments: [239_999, 240_000]) func `has at most the decoded size that is allowed`(limit: Int64) async throws
    {
        try await TransferScene.with { _ in
            Self.gzip
        } during: { scene in
            let result = await Result { try await Self.run(scene) { $0.maximumSize = limit } }
            switch result {
            case .success(let data): #expect(limit == 240_000 && data == Self.text)
            case .failure(let error): #expect(limit < 240_000 && (error as? TransferError)?.code == .tooLarge)
            }
        }
    }

    @Test func `starts again with the first byte, without a range`() async throws {
        try await TransferScene.with { request in
            // A small file has no partial file.
            var cut = OriginResponse.file(bytes(600_000), etag: "\"x\"", request: request)
            if request.attempt == 1 { cut.steps = [.send(Array(bytes(600_000).prefix(300_000))), .hangUp] }
            return request.attempt == 1 ? cut : Self.gzip
        } during: { scene in
            // An attempt without compression leaves a partial file.
            await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            #expect(FileManager.default.fileExists(atPath: scene.request.partialTarget.path))
            let stored = try await Self.run(scene)
            #expect(stored == Self.text)
            #expect(scene.ranges.values == ["", ""])
        }
    }
}

extension TransferScene {
    fileprivate func compressed(_ checksum: Checksum) -> Transfer {
        var transfer = transfer(checksum: checksum)
        transfer.decodesContent = true
        transfer.mayResume = false
        return transfer
    }
}
