import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Modification times` {
    private static let modified = "Sat, 21 Nov 2026 11:00:00 GMT"
    private static let time = FileTime(seconds: 1_795_258_800)

    private static func answer(
        _ request: OriginRequest, size: Int = 1000, knowsCondition: Bool = true, modified: String? = modified
    ) -> OriginResponse {
        if knowsCondition, let since = request.headerFields[.ifModifiedSince], since == modified {
            return OriginResponse(status: 304, headerFields: [.lastModified: since])
        }
        return .file(bytes(size), etag: "\"v1\"", lastModified: modified, request: request)
    }

    private static func time(of request: DownloadRequest) async throws -> FileTime? {
        try await FileIO.shared.status(of: request.target)?.modificationTime
    }

    @Test(arguments: [0, 1000, 900_000]) func `a file gets the server's time, if that is wanted`(size: Int) async throws
    {
        for isWanted in [true, false] {
            try await downloading {
                Self.answer($0, size: size)
            } during: { downloader, origin, directory in
                var downloader = downloader
                downloader.configuration.keepsServerTime = isWanted
                let records = directory.appending(path: "state", directoryHint: .isDirectory)
                downloader.configuration.records = DownloadRecords(in: records)
                let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
                #expect(try await downloader.run([request]).doneCount == 1)
                let time = try await Self.time(of: request)
                #expect((time == Self.time) == isWanted)
                // The record has the time that the file has.
                downloader.configuration.records = DownloadRecords(in: records)
                #expect(try await downloader.run([request]).skippedCount == 1)
            }
        }
    }

    @Test(arguments: [nil, "yesterday", "Sat, 21 Nov 9999 11:00:00 GMT", "Thu, 01 Jan 0000 00:00:00 GMT"])
    func `a missing or strange time does no harm`(modified: String?) async throws {
        try await downloading {
            Self.answer($0, modified: modified)
        } during: { downloader, origin, directory in
            var downloader = downloader
            downloader.configuration.keepsServerTime = true
            (downloader.configuration.onlyIfNewer, downloader.configuration.existing) = (true, .replace)
            let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            for _ in 0..<2 {
                let summary = try await downloader.run([request])
                #expect(summary.isComplete)
                #expect(try Data(contentsOf: request.target) == Data(bytes(1000)))
            }
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        /// The time of the existing file, in seconds after the server's; `nil` for no file.
        var offset: Int64?
        var size = 1000
        var knowsCondition = true
        var hasChecksum = false
        var isSkipped: Bool
        var testDescription: String { "\(offset ?? -999), \(size) bytes, \(knowsCondition), \(hasChecksum)" }
    }

    @Test(arguments: [
        Case(offset: nil, isSkipped: false),
        Case(offset: 0, isSkipped: true),
        // The server compares, whatever the size is.
        Case(offset: 0, size: 999, isSkipped: true),
        Case(offset: -1, isSkipped: false),
        // A server that ignores the condition.
        Case(offset: 0, knowsCondition: false, isSkipped: true),
        Case(offset: 60, knowsCondition: false, isSkipped: true),
        Case(offset: -60, knowsCondition: false, isSkipped: false),
        Case(offset: 60, size: 999, knowsCondition: false, isSkipped: false),
        // The checksum of the existing file is wrong.
        Case(offset: 0, hasChecksum: true, isSkipped: false),
    ])
    func `an existing file is replaced only by a newer one`(test: Case) async throws {
        try await downloading {
            Self.answer($0, knowsCondition: test.knowsCondition)
        } during: { downloader, origin, directory in
            var downloader = downloader
            downloader.configuration.existing = .replace
            (downloader.configuration.onlyIfNewer, downloader.configuration.keepsServerTime) = (true, true)
            var request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            if test.hasChecksum {
                request.checksum = Checksum("sha256:" + SHA256Digest.of(bytes(1000)).hexadecimal)
            }
            if let offset = test.offset {
                try Data(repeating: 7, count: test.size).write(to: request.target)
                try await FileIO.shared.setTimes(
                    of: request.target, modification: FileTime(seconds: Self.time.seconds + offset))
            }
            let summary = try await downloader.run([request])
            #expect(test.isSkipped ? summary.skippedCount == 1 : summary.doneCount == 1, "\(summary.results)")
            #expect(origin.metrics.requests == 1)
            #expect(
                try Data(contentsOf: request.target)
                    == (test.isSkipped ? Data(repeating: 7, count: test.size) : Data(bytes(1000))))
            #expect(try names(in: directory) == ["a"])
            guard test.offset == nil else { return }
            // From now on the file has the server's time.
            #expect(try await downloader.run([request]).skippedCount == 1)
        }
    }

    @Test func `a partial file of a newer one is continued`() async throws {
        let conditions = Recorder<String>()
        try await TransferScene.with { request in
            conditions.note(request.headerFields[.ifModifiedSince] ?? "")
            return .file(
                bytes(900_000), etag: "\"v2\"", lastModified: Self.modified, request: request,
                sending: request.attempt == 1 ? 400_000 : nil)
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            try Data("old".utf8).write(to: scene.request.target)
            try await FileIO.shared.setTimes(of: scene.request.target, modification: FileTime(seconds: 1))
            var transfer = scene.transfer(existing: .replace)
            (transfer.onlyIfNewer, transfer.keepsServerTime) = (true, true)
            _ = try await transfer.run()
            #expect(scene.target(is: bytes(900_000)) && scene.ranges.values == ["", "bytes=400000-"])
            #expect(conditions.values == ["", ""])
            #expect(try await Self.time(of: scene.request) == Self.time)
        }
    }

    @Test func `an unasked 304 is a failure`() async throws {
        try await downloading { _ in
            OriginResponse(status: 304)
        } during: { downloader, origin, directory in
            var downloader = downloader
            (downloader.configuration.onlyIfNewer, downloader.configuration.existing) = (true, .replace)
            let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            #expect(try await downloader.run([request]).failures[0]?.status == .notModified)
        }
    }
}
