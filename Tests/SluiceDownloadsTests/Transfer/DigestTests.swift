import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `The digest of a download` {
    private static let content = bytes(1_000_000)
    private static let small = bytes(1000)
    private static let sizes = [1_000_000, 1000]

    private static func content(_ size: Int) -> [UInt8] { size == 1000 ? small : content }

    private static func checksum(_ bytes: [UInt8], _ algorithm: Checksum.Algorithm = .sha256) -> Checksum {
        let running = RunningChecksum(algorithm)
        running.update(bytes)
        return running.finish()
    }

    private static func field(_ bytes: [UInt8], _ algorithm: Checksum.Algorithm = .sha256) -> String {
        let key = algorithm == .sha256 ? "sha-256" : "sha-512"
        return "\(key)=:\(Data(checksum(bytes, algorithm).bytes).base64EncodedString()):"
    }

    /// Downloads a file of `size` bytes whose response has these fields. Returns the error, after checking what is on the disk.
    private static func download(
        _ size: Int, checksum: Checksum? = nil, fields: HTTPFields = [:], trailers: HTTPFields = [:],
        hasLength: Bool = true
    ) async throws -> TransferError? {
        let result = Guarded<TransferError?>(nil)
        try await downloading { _ in
            var response = OriginResponse(
                headerFields: fields.merging([.eTag: "\"v1\""]), announcedLength: hasLength ? size : nil,
                steps: [.send(content(size))])
            response.trailers = trailers
            return response
        } during: { downloader, origin, directory in
            var request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            request.checksum = checksum
            let outcome = try await downloader.run([request]).results[0]
            switch outcome {
            case .done(let file): #expect(try Data(contentsOf: file) == Data(content(size)))
            case .failed(let error):
                result.withLock { $0 = error }
                #expect(try names(in: directory).isEmpty)
                #expect(origin.metrics.requests == 1)
            default: Issue.record("\(outcome)")
            }
        }
        return result.withLock { $0 }
    }

    @Test(arguments: sizes) func `that comes after the body is verified`(size: Int) async throws {
        let (right, wrong) = (Self.field(Self.content(size)), Self.field([1]))
        for name in [HTTPField.Name.reprDigest, .contentDigest] {
            let verified = try await Self.download(size, trailers: [name: right], hasLength: false)
            #expect(verified == nil)
            let refused = try await Self.download(size, trailers: [name: wrong], hasLength: false)
            #expect(refused?.code == .digestMismatch && "\(refused!)".contains(name.rawName))
            // An encoded body has other bytes.
            let encoded = try await Self.download(
                size, fields: [.contentEncoding: "x"], trailers: [name: wrong], hasLength: false)
            #expect(encoded == nil)
        }
    }

    @Test func `that comes after the rest of a file is verified`() async throws {
        for (repr, content, isRight) in [
            (Self.content, Self.content, true), ([1], Self.content, false), (Self.content, [1], false),
        ] {
            try await TransferScene.with { request in
                guard request.attempt > 1 else {
                    return .file(Self.content, etag: "\"v1\"", request: request, sending: 400_000)
                }
                var response = OriginResponse.file(Self.content, etag: "\"v1\"", request: request)
                response.announcedLength = nil
                let rest = content.count == 1 ? content : Array(content[400_000...])
                response.trailers = [.reprDigest: Self.field(repr), .contentDigest: Self.field(rest)]
                return response
            } during: { scene in
                await scene.leavePartial(at: 400_000)
                do {
                    _ = try await scene.transfer().run()
                    #expect(isRight && scene.target(is: Self.content))
                } catch let error as TransferError {
                    #expect(!isRight && error.code == .digestMismatch && scene.names == [])
                }
            }
        }
    }

    @Test(arguments: sizes, [true, false]) func `that the request names is verified`(
        size: Int, hasLength: Bool
    ) async throws {
        for algorithm in Checksum.Algorithm.allCases {
            let right = Self.checksum(Self.content(size), algorithm)
            #expect(try await Self.download(size, checksum: right, hasLength: hasLength) == nil)
            let wrong = Self.checksum([1], algorithm)
            let error = try await Self.download(size, checksum: wrong, hasLength: hasLength)
            #expect(error?.code == .digestMismatch && error?.isTransient == false)
            #expect(error?.message.contains(right.bytes.hexadecimal) == true)
            #expect(error?.message.contains(wrong.bytes.hexadecimal) == true)
        }
    }

    @Test(arguments: sizes, [HTTPField.Name.reprDigest, .contentDigest]) func `that the server sends is verified`(
        size: Int, name: HTTPField.Name
    ) async throws {
        let content = Self.content(size)
        for value in [
            Self.field(content), Self.field(content, .sha512), "\(Self.field([1])), \(Self.field(content, .sha512))",
            "md5=:AAAA:", "sha-256=:AAAA:", "nonsense", "",
        ] {
            #expect(try await Self.download(size, fields: [name: value]) == nil, "\(value)")
        }
        for value in [Self.field([1]), "\(Self.field(content)), \(Self.field([1], .sha512))"] {
            let error = try await Self.download(size, fields: [name: value])
            #expect(error?.code == .digestMismatch && error?.message.contains(name.rawName) == true)
        }
    }

    @Test func `isn't verified for an encoded body, nor for a part that a cache has put together`() async throws {
        let wrong = Self.field([1])
        #expect(try await Self.download(1000, fields: [.reprDigest: wrong, .contentEncoding: "gzip"]) == nil)
        #expect(try await Self.download(1000, fields: [.contentDigest: wrong, .age: "3"]) == nil)
        #expect(try await Self.download(1000, fields: [.reprDigest: wrong, .age: "3"]) != nil)
    }

    @Test(arguments: [true, false]) func `of a resumed file includes the bytes of the earlier attempt`(
        isRight: Bool
    ) async throws {
        let expected = Self.checksum(isRight ? Self.content : [1])
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            let transfer = scene.transfer(checksum: expected)
            if isRight {
                let result = try await transfer.run()
                #expect(result.bytes == 1_000_000)
                #expect(scene.target(is: Self.content) && scene.sent.values == [400_000, 600_000])
            } else {
                let error = await #expect(throws: TransferError.self) { try await transfer.run() }
                #expect(error?.code == .digestMismatch)
                // The next attempt begins with the first byte.
                #expect(scene.names.isEmpty)
            }
        }
    }

    @Test func `of a file that is complete except for its name is verified, too`() async throws {
        for isRight in [true, false] {
            try await TransferScene.with { request in
                // All bytes arrive, and then the server doesn't end the body.
                .file(Self.content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 999_999 : nil)
            } during: { scene in
                await scene.leavePartial(at: 999_999)
                try FileHandle(forWritingTo: scene.request.partialTarget).appendLast(Self.content[999_999])
                let transfer = scene.transfer(checksum: Self.checksum(isRight ? Self.content : [1]))
                let result = await Result { try await transfer.run() }
                #expect(scene.ranges.values == ["", "bytes=1000000-"])
                switch result {
                case .success: #expect(isRight && scene.target(is: Self.content))
                case .failure(let error):
                    #expect(!isRight && (error as? TransferError)?.code == .digestMismatch && scene.names.isEmpty)
                }
            }
        }
    }

    @Test(arguments: [true, false]) func `in Content-Digest covers only the bytes of its own response`(isRight: Bool)
        async throws
    {
        try await TransferScene.with { request in
            var response = OriginResponse.file(
                Self.content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 400_000 : nil)
            let rest = Array(Self.content[400_000...])
            // The digest of the whole file would be wrong for a part.
            response.headerFields[.contentDigest] = Self.field(
                request.attempt == 1 || !isRight ? Self.content : rest)
            response.headerFields[.reprDigest] = Self.field(Self.content)
            return response
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            if isRight {
                try await scene.finish()
                #expect(scene.target(is: Self.content))
            } else {
                let error = await #expect(throws: TransferError.self) { try await scene.finish() }
                #expect(error?.message.contains("Content-Digest") == true && scene.names.isEmpty)
            }
        }
    }

    @Test(arguments: [ExistingFile.fail, .skip, .replace])
    func `of an existing file decides whether it is the right one`(
        existing: ExistingFile
    ) async throws {
        for hasRightFile in [true, false] {
            try await downloading(from: { _ in OriginResponse(body: Self.small) }, existing: existing) {
                downloader, origin, directory in
                var request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
                request.checksum = Self.checksum(Self.small)
                try Data(hasRightFile ? Self.small : [1]).write(to: request.target)
                let result = try await downloader.run([request]).results[0]
                switch (result, hasRightFile, existing) {
                case (.skipped, true, _): #expect(origin.metrics.requests == 0)
                case (.done, false, .replace): #expect(try Data(contentsOf: request.target) == Data(Self.small))
                case (.failed(let error), false, .skip):
                    #expect(error.code == .digestMismatch && error.message.contains("exists"))
                case (.failed(let error), false, .fail): #expect(error.code == .fileExists)
                default: Issue.record("\(result)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases) func `is stored, and a request that joins brings its own`(
        kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            let url = URL(string: "http://a.example/song")!
            var request = DownloadRequest(url, to: URL(string: "file:///music/")!)
            let plain = DownloadRequest(URL(string: "http://a.example/other")!, to: URL(string: "file:///music/")!)
            let id = try await fixture.store.enqueue([request, plain], options: .init())[0].id
            #expect(try await fixture.job(id)?.request.checksum == nil)
            for algorithm in Checksum.Algorithm.allCases {
                request.checksum = Self.checksum([1], algorithm)
                let joined = try await fixture.store.enqueue([plain, request], options: .init())
                #expect(joined.map(\.admission) == [.joined, .joined])
                #expect(try await fixture.job(id)?.request.checksum == request.checksum)
            }
            // A request without a checksum doesn't remove it.
            _ = try await fixture.store.enqueue([DownloadRequest(url, to: request.directory)], options: .init())
            let claimed = try await fixture.claim(2).map(\.request)
            #expect(claimed.first { $0.url == url }?.checksum == request.checksum)
            #expect(claimed.first { $0.url == plain.url }?.checksum == nil)
            #expect(try await fixture.store.cancel(.all).cancelling.count == 2)
        }
    }

    @Test func `is a part of the request's JSON`() throws {
        var request = DownloadRequest(URL(string: "http://a.example/x")!, to: URL(string: "file:///music/")!)
        request.checksum = Self.checksum([1])
        let data = try JSONEncoder().encode(request)
        #expect(try JSONDecoder().decode(DownloadRequest.self, from: data) == request)
        let broken = String(decoding: data, as: UTF8.self).replacing("sha256:", with: "sha1:")
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(DownloadRequest.self, from: Data(broken.utf8))
        }
    }
}

extension HTTPFields {
    fileprivate func merging(_ others: HTTPFields) -> HTTPFields {
        var all = self
        all.append(contentsOf: others)
        return all
    }
}

extension FileHandle {
    fileprivate func appendLast(_ byte: UInt8) throws {
        try seekToEnd()
        try write(contentsOf: Data([byte]))
        try close()
    }
}
