import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A server that gets ranges wrong` {
    private static let content = placeBytes(900_000)
    private static let changed = placeBytes(900_000, seed: 0x5A)

    @Test(arguments: OriginResponse.RangeFault.allCases.filter { $0 != .alwaysPartial }, [false, true])
    func `never gets old and new bytes into one file`(
        fault: OriginResponse.RangeFault, isChanged: Bool
    ) async throws {
        let expected = isChanged ? Self.changed : Self.content
        let etag = isChanged ? "\"v2\"" : "\"v1\""
        try await TransferScene.with {
            $0.attempt == 1
                ? .file(Self.content, etag: "\"v1\"", request: $0, sending: 400_000)
                : .file(
                    expected, etag: etag, request: $0, fault: $0.attempt > 2 && fault == .shorterThanRange ? nil : fault
                )
        } _: { scene in
            await scene.leavePartial(at: 400_000)
            do {
                try await scene.finish()
            } catch let error as TransferError {
                // A range that was cut off is tried again, as any body is.
                guard fault == .shorterThanRange, error.isTransient else { throw error }
                #expect(scene.partialSize == 899_997)
                try await scene.finish()
            }
            #expect(scene.target(is: expected))
            #expect(scene.names == ["a.bin"])
            #expect(scene.ranges.values[1] == "bytes=400000-")
            // What is right is not asked for twice, what is wrong once more.
            let isServed =
                [.ignoresIfRange, .atMost1000Bytes, .weakTag].contains(fault) && !isChanged && fault != .weakTag
            if isServed {
                #expect(scene.sent.values.reduce(0, +) == 900_000)
            } else if fault != .shorterThanRange {
                #expect(scene.ranges.values.count <= 3)
            }
        }
    }

    @Test func `that sends a range unasked is told apart from one that gets a range wrong`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0, fault: .alwaysPartial)
        } _: { scene in
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            guard error?.status == .partialContent else {
                return #expect(Bool(false), "\(String(describing: error))")
            }
            #expect(scene.names == [])
        }
    }

    @Test func `twice fails with a remedy, and leaves nothing`() async throws {
        try await TransferScene.with {
            switch $0.attempt {
            case 1: .file(Self.content, etag: "\"v1\"", request: $0, sending: 400_000)
            case 2: .file(Self.content, etag: "\"v1\"", request: $0, fault: .wrongStart)
            default: .file(Self.content, etag: "\"v1\"", request: $0, fault: .alwaysPartial)
            }
        } _: { scene in
            await scene.leavePartial(at: 400_000)
            let error = try #require(await #expect(throws: TransferError.self) { try await scene.transfer().run() })
            #expect(error.code == .protocolViolation && !error.isTransient)
            #expect("\(error)".contains("206") && "\(error)".contains("ranges") && "\(error)".contains("/a.bin"))
            #expect(scene.ranges.values == ["", "bytes=400000-", ""])
            #expect(scene.names == [])
        }
    }

    @Test func `that says 416 for a file that grew or shrank since is asked for all of it`() async throws {
        for count in [900_001, 300_000] {
            let content = placeBytes(count)
            try await TransferScene.with {
                if $0.attempt == 1 { return .file(Self.content, etag: "\"v1\"", request: $0, sending: 899_999) }
                if $0.attempt == 2 {
                    return OriginResponse(status: 416, headerFields: [.contentRange: "bytes */\(count)"])
                }
                return .file(content, etag: "\"v2\"", request: $0)
            } _: { scene in
                await scene.leavePartial(at: 899_999)
                try await scene.finish()
                #expect(scene.target(is: content))
            }
        }
    }

    @Test func `compresses without being asked to: such a download never resumes`() async throws {
        try await TransferScene.with { request in
            var answer = OriginResponse.file(
                Self.content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 400_000 : nil)
            answer.headerFields[.contentEncoding] = "br"
            return answer
        } _: { scene in
            await scene.leavePartial(at: 400_000)
            #expect(scene.names == [])
            try await scene.finish()
            #expect(scene.ranges.values == ["", ""])
        }
    }

    @Test func `redirects elsewhere: the range goes along, and the final file's tag protects it`() async throws {
        for etag in ["\"v1\"", "\"v2\""] {
            let content = etag == "\"v1\"" ? Self.content : Self.changed
            try await TransferScene.with {
                guard $0.target == "/final" else { return .redirect(to: "/final") }
                return $0.attempt == 1
                    ? .file(Self.content, etag: "\"v1\"", request: $0, sending: 400_000)
                    : .file(content, etag: etag, request: $0)
            } _: { scene in
                await scene.leavePartial(at: 400_000)
                try await scene.finish()
                #expect(scene.target(is: content))
                #expect(scene.ranges.values == ["", "", "bytes=400000-", "bytes=400000-"])
            }
        }
    }
}
