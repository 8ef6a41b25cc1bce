import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Stored origins of files` {
    private static func attribute(_ name: String, of file: URL) async throws -> String? {
        try await FileIO.shared.extendedAttribute(name, of: file).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func checksum(_ bytes: [UInt8], _ algorithm: Checksum.Algorithm = .sha256) -> Checksum {
        let running = RunningChecksum(algorithm)
        running.update(bytes)
        return running.finish()
    }

    /// A small file is written in one step, and a large one has a partial file.
    @Test(arguments: [0, 1000, 900_000], [true, false])
    func `are the URL without secrets and the checksum`(size: Int, hasLength: Bool) async throws {
        for algorithm in [nil] + Checksum.Algorithm.allCases {
            try await downloading { _ in
                OriginResponse(announcedLength: hasLength ? size : nil, steps: [.send(bytes(size))])
            } during: { downloader, origin, directory in
                var downloader = downloader
                downloader.configuration.storesOrigins = true
                let url = "http://ann:sesame@127.0.0.1:\(origin.port)/a%20b?token=sesame#part"
                var request = DownloadRequest(try URL(fetchable: url), to: directory)
                request.checksum = algorithm.map { Self.checksum(bytes(size), $0) }
                #expect(try await downloader.run([request]).doneCount == 1)
                let stored = try await Self.attribute("user.xdg.origin.url", of: request.target)
                #expect(stored == "http://127.0.0.1:\(origin.port)/a%20b")
                let digest = try await Self.attribute("user.sluice.digest", of: request.target)
                #expect(digest == Self.checksum(bytes(size), algorithm ?? .sha256).description)
            }
        }
    }

    @Test func `aren't stored by default`() async throws {
        try await downloading { _ in
            OriginResponse(body: bytes(1000))
        } during: { downloader, origin, directory in
            let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            #expect(try await downloader.run([request]).doneCount == 1)
            #expect(try await Self.attribute("user.sluice.digest", of: request.target) == nil)
            #expect(try await Self.attribute("user.xdg.origin.url", of: request.target) == nil)
        }
    }

    @Test func `of a resumed file contain the checksum of the whole file`() async throws {
        let content = bytes(1_000_000)
        try await TransferScene.with {
            .file(content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            var transfer = scene.transfer()
            transfer.storesOrigin = true
            _ = try await transfer.run()
            #expect(scene.ranges.values == ["", "bytes=400000-"])
            #expect(
                try await Self.attribute("user.sluice.digest", of: scene.request.target)
                    == Self.checksum(content).description)
        }
    }

    @Test func `of a mirror's file contain the mirror's URL`() async throws {
        try await downloading { request in
            request.target == "/a" ? OriginResponse(status: 404) : OriginResponse(body: bytes(10))
        } during: { downloader, origin, directory in
            var downloader = downloader
            downloader.configuration.storesOrigins = true
            var request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            request.mirrors = [try URL(fetchable: origin.url("/b"))]
            #expect(try await downloader.run([request]).doneCount == 1)
            let stored = try await Self.attribute("user.xdg.origin.url", of: request.target)
            #expect(stored == origin.url("/b"))
        }
    }

    @Test func `that the file system can't store don't fail the download`() async throws {
        var calls = SystemCalls.system
        calls.metadata.setAttribute = { _, _, _, _ in -EOPNOTSUPP }
        calls.metadata.attribute = { _, _, _ in -Int(EOPNOTSUPP) }
        let files = FileIO(calls: calls)
        try await downloading(
            from: { OriginResponse(body: bytes(Int($0.target.dropFirst()) ?? 0)) }, files: files
        ) { downloader, origin, directory in
            var downloader = downloader
            downloader.configuration.storesOrigins = true
            let requests = try [10, 900_000].map {
                DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory)
            }
            #expect(try await downloader.run(requests).doneCount == 2)
            let summary = try await DownloadVerifier(using: files).verify([directory])
            #expect(summary.unknown == 2)
        }
        await files.shutdown()
    }
}
