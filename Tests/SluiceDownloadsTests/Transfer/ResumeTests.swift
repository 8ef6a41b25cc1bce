import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import Synchronization
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A transfer with a partial file` {
    private static let content = bytes(1_000_000)

    @Test(arguments: [Durability.none, .data, .full, .fullAndDirectory])
    func `requests only the rest and gets the file byte for byte`(durability: Durability) async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
        } during: { scene in
            // Given an attempt that was cut off
            await scene.leavePartial(at: 400_000, durability: durability)
            #expect(scene.names == ["a.bin.sluice.json", "a.bin.sluice.part"])
            #expect(scene.partialSize == 400_000)
            #expect(scene.checkpoint?.synced == (durability == .none ? 0 : 400_000))
            // When
            let progress = Recorder<[Int64?]>()
            let transfer = scene.transfer(
                durability: durability, onResponse: { progress.note([$0, $1]) }, onReceived: { progress.note([$0]) })
            let result = try await transfer.run()
            #expect(result.bytes == 1_000_000)
            // Then
            #expect(scene.target(is: Self.content))
            #expect(scene.ranges.values == ["", "bytes=400000-"])
            #expect(scene.sent.values == [400_000, 600_000])
            #expect(progress.values.first == [1_000_000, 400_000])
            #expect(progress.values.last == [1_000_000])
            #expect(progress.values.dropFirst().allSatisfy { ($0[0] ?? 0) > 400_000 })
            try await Transfer.discardPartial(of: scene.request, files: .shared)
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test func `without an entity tag, uses a Last-Modified date that is old enough`() async throws {
        for (modified, isResumed) in [
            ("Sat, 21 Nov 2026 11:59:00 GMT", true), ("Sat, 21 Nov 2026 11:59:30 GMT", false),
        ] {
            try await TransferScene.with {
                .file(Self.content, lastModified: modified, request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
            } during: { scene in
                await scene.leavePartial(at: 400_000)
                #expect(scene.names.isEmpty == !isResumed)
                try await scene.finish()
                #expect(scene.target(is: Self.content))
                #expect(scene.ranges.values == ["", isResumed ? "bytes=400000-" : ""])
                #expect(scene.names == ["a.bin"])
            }
        }
    }

    @Test func `resumes over many attempts, each where the last one stopped`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0, sending: 300_000)
        } during: { scene in
            for count in 1...3 { await scene.leavePartial(at: count * 300_000) }
            try await scene.finish()
            #expect(scene.target(is: Self.content))
            #expect(scene.sent.values == [300_000, 300_000, 300_000, 100_000])
        }
    }

    @Test func `requests the rest if the server sends less than requested`() async throws {
        let content = bytes(303_500)
        try await TransferScene.with {
            .file(
                content, etag: "\"v1\"", request: $0, fault: .atMost1000Bytes, sending: $0.attempt == 1 ? 300_000 : nil)
        } during: { scene in
            await scene.leavePartial(at: 300_000)
            try await scene.finish()
            #expect(scene.target(is: content))
            #expect(scene.sent.values == [300_000, 1000, 1000, 1000, 500])
        }
    }

    @Test func `starts over if the file changed, even to one of the same length`() async throws {
        for count in [1_000_000, 900_000, 300] {
            let changed = bytes(count, seed: 0x55)
            try await TransferScene.with {
                $0.attempt == 1
                    ? .file(Self.content, etag: "\"v1\"", request: $0, sending: 400_000)
                    : .file(changed, etag: "\"v2\"", request: $0)
            } during: { scene in
                await scene.leavePartial(at: 400_000)
                try await scene.finish()
                #expect(scene.target(is: changed))
                #expect(scene.ranges.values == ["", "bytes=400000-"])
                #expect(scene.names == ["a.bin"])
            }
        }
    }

    @Test func `completes a file whose bytes are all there without fetching any`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
        } during: { scene in
            // Given a process that was killed between the last byte and the final name
            await scene.leavePartial(at: 400_000)
            let partial = try FileHandle(forWritingTo: scene.request.partialTarget)
            try partial.seekToEnd()
            try partial.write(contentsOf: Data(Self.content[400_000...]))
            try partial.close()
            // When
            #expect(try await scene.finish() == 1_000_000)
            // Then
            #expect(scene.target(is: Self.content))
            #expect(scene.ranges.values == ["", "bytes=1000000-"])
            #expect(scene.sent.values == [400_000, 0])
        }
    }

    @Test func `can't resume without a strong validator`() async throws {
        for (etag, fault) in [(nil, nil), ("\"v1\"", OriginResponse.RangeFault.weakTag)] {
            try await TransferScene.with {
                .file(Self.content, etag: etag, request: $0, fault: fault, sending: $0.attempt == 1 ? 400_000 : nil)
            } during: { scene in
                await scene.leavePartial(at: 400_000)
                #expect(scene.names == [])
                try await scene.finish()
                #expect(scene.ranges.values == ["", ""])
                #expect(scene.target(is: Self.content))
                #expect(scene.names == ["a.bin"])
            }
        }
    }

    @Test func `sends the request's own fields with the range`() async throws {
        let seen = Recorder<String?>()
        try await TransferScene.with {
            seen.note($0.headerFields[.authorization])
            return .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            var request = scene.request
            request.headerFields[.authorization] = "Bearer x"
            let transfer = Transfer(
                request: request, transport: scene.transport, files: .shared, existing: .fail, durability: .none,
                onResponse: { _, _ in }, onReceived: { _ in })
            _ = try await transfer.run()
            #expect(seen.values == [nil, "Bearer x"])
            #expect(scene.ranges.values == ["", "bytes=400000-"])
        }
    }

    @Test func `resumes after a redirect to another host`() async throws {
        let ranges = Recorder<String?>()
        try await LoopbackOrigin.serve { request in
            ranges.note(request.headerFields[.range])
            return .file(Self.content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 400_000 : nil)
        } during: { store in
            try await TransferScene.with { _ in
                .redirect(to: store.url("/final"))
            } during: { scene in
                await scene.leavePartial(at: 400_000)
                try await scene.finish()
                #expect(scene.target(is: Self.content))
                #expect(ranges.values == [nil, "bytes=400000-"])
            }
        }
    }

    @Test(arguments: [OriginResponse(status: 503), OriginResponse(status: 404)])
    func `keeps its bytes after an attempt that received nothing`(answer: OriginResponse) async throws {
        try await TransferScene.with {
            $0.attempt == 2
                ? answer : .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            let before = scene.checkpoint
            await #expect(throws: TransferError.self) { try await scene.transfer(durability: .data).run() }
            #expect(scene.checkpoint == before)
            try await scene.finish()
            #expect(scene.ranges.values == ["", "bytes=400000-", "bytes=400000-"])
            #expect(scene.target(is: Self.content))
        }
    }

    @Test(arguments: [Durability.none, .data])
    func `after cancellation, keeps the bytes received and fetches only the rest`(durability: Durability)
        async throws
    {
        let arrived = Gate()
        try await TransferScene.with { request in
            let whole = OriginResponse.file(Self.content, etag: "\"v1\"", request: request)
            guard request.attempt == 1 else { return whole }
            // The bytes after the last full write are still in memory when the cancellation arrives.
            return OriginResponse(
                headerFields: whole.headerFields, announcedLength: 1_000_000,
                steps: [.send(Array(Self.content.prefix(700_001))), .stall])
        } during: { scene in
            let running = Task {
                try await scene.transfer(
                    durability: durability, onReceived: { if $0 == 700_001 { Task { await arrived.pass() } } }
                ).run()
            }
            await arrived.arrivals(1)
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            #expect(scene.partialSize == 700_001)
            #expect(scene.checkpoint?.synced == (durability == .none ? 0 : 700_001))
            try await scene.finish(durability: durability)
            #expect(scene.ranges.values == ["", "bytes=700001-"])
            #expect(scene.target(is: Self.content))
            #expect(scene.names == ["a.bin"])
        }
        await arrived.open()
    }

    @Test func `is retried without fetching a byte twice`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt < 3 ? 300_000 : nil, then: .hangUp)
        } during: { scene in
            let received = Recorder<Int64>()
            let announced = Recorder<Int64?>()
            let downloader = ListDownloader(transport: scene.transport)
            let summary = try await downloader.run([scene.request]) {
                if case .received(_, let bytes) = $1 { received.note(bytes) }
                if case .responded(_, let total, let resumed) = $1 {
                    announced.note(total)
                    if resumed > 0 { received.note(resumed) }
                }
            }
            #expect(summary.isComplete && summary.retryCount == 2)
            // Bytes that the client hadn't read when the connection closed are lost.
            let starts = scene.ranges.values.dropFirst().map { Int($0.dropFirst(6).dropLast()) ?? 0 }
            #expect(starts.count == 2 && starts.allSatisfy { $0 > 0 } && starts == starts.sorted())
            #expect(scene.target(is: Self.content))
            #expect(announced.values == [1_000_000, 1_000_000, 1_000_000])
            #expect(received.values == received.values.sorted())
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test func `that may skip an existing file keeps that file and removes its own`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0)
        } during: { scene in
            try Data("other".utf8).write(to: scene.request.target)
            let result = try await scene.transfer(existing: .skip).run()
            #expect(result == TransferResult(bytes: 5, isCheckpointed: false, isSkipped: true))
            #expect(scene.target(is: Array("other".utf8)))
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test func `that finds its name taken keeps that file and its own`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0)
        } during: { scene in
            try Data("other".utf8).write(to: scene.request.target)
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            guard error?.code == .fileExists else { return #expect(Bool(false)) }
            #expect(scene.target(is: Array("other".utf8)))
            #expect(scene.names.count == 3)
            try await scene.finish(existing: .replace)
            #expect(scene.target(is: Self.content))
            #expect(scene.sent.values == [1_000_000, 0])
        }
    }

    @Test func `is resumed by a list's first attempt`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0, sending: $0.attempt == 1 ? 400_000 : nil)
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            let other = DownloadRequest(scene.request.url, to: scene.directory, name: "other")
            let summary = try await ListDownloader(
                transport: scene.transport, limits: DownloadCoordinator.Limits(total: 1),
                configuration: .init(retries: .never, durability: .none)
            ).run([other, scene.request])
            #expect(summary.doneCount == 2)
            #expect(scene.ranges.values == ["", "", "bytes=400000-"])
            #expect(scene.names == ["a.bin", "other"])
        }
    }

    @Test func `passes through its phases in order`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0)
        } during: { scene in
            try await scene.finish()
            #expect(
                scene.phases.values == [.requested, .responded, .checkpointed, .receiving, .complete, .published])
        }
    }

    @Test func `writes valid checkpoints while bytes arrive`() async throws {
        // Given a body whose pieces arrive only while no sync is running, because the transfer checks its sync when bytes arrive
        let isSyncing = Monitor(false)
        var calls = SystemCalls.system
        calls.syncData = { descriptor in
            isSyncing.withState { $0 = true }
            return SystemCalls.system.syncData(descriptor)
        }
        calls.rename = { source, destination in
            defer { isSyncing.withState { $0 = false } }
            return SystemCalls.system.rename(source, destination)
        }
        let files = FileIO(calls: calls)
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let request = DownloadRequest(URL(string: "http://a.example/a")!, to: directory)
            func present() -> Int64? { (try? Data(contentsOf: request.partialTarget)).map { Int64($0.count) } }
            func synced() -> Int64? {
                (try? Data(contentsOf: request.checkpointTarget)).flatMap { Checkpoint($0) }?.synced
            }
            let seen = Recorder<[Int64]>()
            let renewed = Gate()
            let transfer = Transfer(
                request: request, transport: PiecewiseTransport(pieces: 200, of: 300_000, isHeld: isSyncing),
                files: files, existing: .fail, durability: .data,
                checkpoints: .init(bytes: 300_000, interval: .seconds(3600)), onResponse: { _, _ in },
                onReceived: { _ in }
            ) { phase in
                guard phase == .checkpointed, let present = present(), let synced = synced() else { return }
                seen.note([synced, present])
                if seen.values.count == 2 { Task { await renewed.pass() } }
            }
            // When
            let running = Task { try await transfer.run() }
            await renewed.arrivals(1)
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            await renewed.open()
            // Then
            #expect(seen.values.allSatisfy { $0[0] <= $0[1] && $0[0] % 300_000 == 0 }, "whole pieces that were there")
            #expect(seen.values.contains { $0[0] >= 300_000 })
            // The last checkpoint covers all bytes of the partial file.
            #expect(synced() == present() && synced() ?? 0 >= 300_000)
        }
        await files.shutdown()
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A server that gets ranges wrong` {
    private static let content = bytes(900_000)
    private static let changed = bytes(900_000, seed: 0x5A)

    @Test(arguments: OriginResponse.RangeFault.allCases.filter { $0 != .alwaysPartial }, [false, true])
    func `never mixes old and new bytes in one file`(
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
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            do {
                try await scene.finish()
            } catch let error as TransferError {
                // A truncated range is retried, like any truncated body.
                guard fault == .shorterThanRange, error.isTransient else { throw error }
                #expect(scene.partialSize == 899_997)
                try await scene.finish()
            }
            #expect(scene.target(is: expected))
            #expect(scene.names == ["a.bin"])
            #expect(scene.ranges.values[1] == "bytes=400000-")
            // Correct bytes aren't requested twice. A wrong response leads to one more request.
            let isServed =
                [.ignoresIfRange, .atMost1000Bytes, .weakTag].contains(fault) && !isChanged && fault != .weakTag
            if isServed {
                #expect(scene.sent.values.reduce(0, +) == 900_000)
            } else if fault != .shorterThanRange {
                #expect(scene.ranges.values.count <= 3)
            }
        }
    }

    enum Later: CaseIterable {
        case same, changedBefore, changedAfter, changedInRange, ignoresDates, hasNoDate, hasWeakDate, namesNoRanges
    }

    @Test(arguments: Later.allCases)
    func `that ignores entity tags in If-Range gets the date, and then sends the whole file`(later: Later) async throws
    {
        let old = "Sat, 21 Nov 2026 11:00:00 GMT"
        let conditions = Recorder<String>()
        try await TransferScene.with { request in
            conditions.note(request.headerFields[.ifRange] ?? "")
            let attempt = request.attempt
            let isChanged = later == .changedBefore && attempt > 1 || later == .changedAfter && attempt > 2
            let isMixed = later == .changedInRange && attempt > 2
            let date: String? =
                switch later {
                case .hasNoDate: nil
                case .hasWeakDate: "Sat, 21 Nov 2026 11:59:59 GMT"
                default: isChanged ? "Sat, 21 Nov 2026 11:30:00 GMT" : old
                }
            var response = OriginResponse.file(
                isChanged || isMixed ? Self.changed : Self.content, etag: isChanged || isMixed ? "\"v2\"" : "\"v1\"",
                lastModified: date, request: request,
                fault: later == .ignoresDates && attempt > 1 ? .ignoresRange : .ignoresTags,
                sending: attempt == 1 ? 400_000 : nil)
            if later == .namesNoRanges { response.headerFields[.acceptRanges] = nil }
            return response
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            try await scene.finish()
            let tag = "\"v1\""
            let (expected, isChanged): ([String], Bool) =
                switch later {
                case .same, .ignoresDates: (["", tag, old], false)
                case .changedAfter: (["", tag, old], true)
                case .changedInRange: (["", tag, old, ""], true)
                case .changedBefore: (["", tag], true)
                case .hasNoDate, .hasWeakDate, .namesNoRanges: (["", tag], false)
                }
            #expect(conditions.values == expected)
            #expect(scene.target(is: isChanged ? Self.changed : Self.content))
            if later == .same { #expect(scene.sent.values.last == 500_000) }
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test func `that sends a range unasked fails with its status`() async throws {
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0, fault: .alwaysPartial)
        } during: { scene in
            let error = await #expect(throws: TransferError.self) { try await scene.transfer().run() }
            guard error?.status == .partialContent else {
                return #expect(Bool(false), "\(String(describing: error))")
            }
            #expect(scene.names == [])
        }
    }

    @Test func `twice fails with a remedy and leaves no file`() async throws {
        try await TransferScene.with {
            switch $0.attempt {
            case 1: .file(Self.content, etag: "\"v1\"", request: $0, sending: 400_000)
            case 2: .file(Self.content, etag: "\"v1\"", request: $0, fault: .wrongStart)
            default: .file(Self.content, etag: "\"v1\"", request: $0, fault: .alwaysPartial)
            }
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            let error = try #require(await #expect(throws: TransferError.self) { try await scene.transfer().run() })
            #expect(error.code == .protocolViolation && !error.isTransient)
            #expect("\(error)".contains("206") && "\(error)".contains("ranges") && "\(error)".contains("/a.bin"))
            #expect(scene.ranges.values == ["", "bytes=400000-", ""])
            #expect(scene.names == [])
        }
    }

    @Test func `that answers 416 for a file that grew or shrank is asked for the whole file`() async throws {
        for count in [900_001, 300_000] {
            let content = bytes(count)
            try await TransferScene.with {
                if $0.attempt == 1 { return .file(Self.content, etag: "\"v1\"", request: $0, sending: 899_999) }
                if $0.attempt == 2 {
                    return OriginResponse(status: 416, headerFields: [.contentRange: "bytes */\(count)"])
                }
                return .file(content, etag: "\"v2\"", request: $0)
            } during: { scene in
                await scene.leavePartial(at: 899_999)
                try await scene.finish()
                #expect(scene.target(is: content))
            }
        }
    }

    @Test func `that compresses unasked never has its downloads resumed`() async throws {
        try await TransferScene.with { request in
            var answer = OriginResponse.file(
                Self.content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 400_000 : nil)
            answer.headerFields[.contentEncoding] = "br"
            return answer
        } during: { scene in
            await scene.leavePartial(at: 400_000)
            #expect(scene.names == [])
            try await scene.finish()
            #expect(scene.ranges.values == ["", ""])
        }
    }

    @Test func `that redirects elsewhere gets the range, protected by the final file's tag`() async throws {
        for etag in ["\"v1\"", "\"v2\""] {
            let content = etag == "\"v1\"" ? Self.content : Self.changed
            try await TransferScene.with {
                guard $0.target == "/final" else { return .redirect(to: "/final") }
                return $0.attempt == 1
                    ? .file(Self.content, etag: "\"v1\"", request: $0, sending: 400_000)
                    : .file(content, etag: etag, request: $0)
            } during: { scene in
                await scene.leavePartial(at: 400_000)
                try await scene.finish()
                #expect(scene.target(is: content))
                #expect(scene.ranges.values == ["", "", "bytes=400000-", "bytes=400000-"])
            }
        }
    }
}

/// Answers with one body in equal pieces. No piece arrives while `isHeld` is true.
private final class PiecewiseTransport: Transport, ResponseBodySource {
    private let left: Atomic<Int>
    private let size: Int
    private let length: Int
    private let isHeld: Monitor<Bool>

    init(pieces: Int, of size: Int, isHeld: Monitor<Bool>) {
        left = Atomic(pieces)
        self.size = size
        length = pieces * size
        self.isHeld = isHeld
    }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        TransportResponse(
            status: .ok, headerFields: [.contentLength: "\(length)", .eTag: "\"v1\""], url: request.url,
            body: ResponseBody(self))
    }

    func nextBatch() async throws -> [Data]? {
        try await isHeld.waitUnlessCancelled(where: { !$0 })
        try Task.checkCancellation()
        guard left.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 else { return nil }
        return [Data(repeating: 7, count: size)]
    }
}
