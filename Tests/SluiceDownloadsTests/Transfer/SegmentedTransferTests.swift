import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A transfer in segments` {
    private static let content = bytes(1_000_000)
    private static let plan = SegmentPlan(limits: .init(count: 4, minimumSize: 50_000))

    /// A response whose first 100,000 bytes arrive before `others` further requests, and the rest after them.
    private static func whole(_ request: OriginRequest, _ others: Int, _ gate: Gate) -> OriginResponse {
        var response = OriginResponse.file(content, etag: "\"v1\"", request: request)
        response.steps = [
            .send(Array(content[..<100_000])), .perform { await gate.arrivals(others) },
            .send(Array(content[100_000...])),
        ]
        return response
    }

    /// Answers requests for a range with `answer`, and the first request slowly, so that all connections get a segment.
    private static func with(
        others: Int = 3,
        _ answer: @escaping @Sendable (OriginRequest) async -> OriginResponse = {
            .file(content, etag: "\"v1\"", request: $0)
        }, during body: @escaping @Sendable (TransferScene) async throws -> Void
    ) async throws {
        let gate = Gate()
        await gate.open()
        try await TransferScene.with { request in
            guard request.headerFields[.range] != nil else { return whole(request, others, gate) }
            await gate.pass()
            return await answer(request)
        } during: {
            try await body($0)
        }
    }

    /// Calls `body` after a transfer that was cut off on all its connections, and had received these bytes. From then on, the origin answers
    /// with `answer`.
    private static func withInterrupted(
        _ bytes: [UInt8] = content, durability: Durability = .none,
        _ answer: @escaping @Sendable (OriginRequest) -> OriginResponse = {
            .file(content, etag: "\"v1\"", request: $0)
        }, during body: @escaping @Sendable (TransferScene) async throws -> Void
    ) async throws {
        let gate = Gate()
        await gate.open()
        let isBroken = Guarded(true)
        try await TransferScene.with { request in
            guard isBroken.withLock({ $0 }) else { return answer(request) }
            if request.headerFields[.range] != nil {
                await gate.pass()
                return .file(bytes, etag: "\"v1\"", request: request, sending: 40_000, then: .hangUp)
            }
            var response = OriginResponse.file(bytes, etag: "\"v1\"", request: request)
            response.steps = [.send(Array(bytes[..<300_000])), .perform { await gate.arrivals(3) }, .hangUp]
            return response
        } during: { scene in
            await #expect(throws: TransferError.self) {
                try await scene.transfer(durability: durability, segments: plan).run()
            }
            #expect(scene.checkpoint?.segments != nil && scene.names == ["a.bin.sluice.json", "a.bin.sluice.part"])
            isBroken.withLock { $0 = false }
            try await body(scene)
        }
    }

    private static func run(_ scene: TransferScene, durability: Durability = .none) async throws {
        let result = try await scene.transfer(durability: durability, segments: plan).run()
        #expect(result.bytes == 1_000_000)
        #expect(scene.target(is: content))
        try await Transfer.discardPartial(of: scene.request, files: .shared)
        #expect(scene.names == ["a.bin"])
    }

    @Test(arguments: [Durability.none, .data, .full, .fullAndDirectory])
    func `gets the file byte for byte, over several connections`(durability: Durability) async throws {
        let conditions = Recorder<String?>()
        try await Self.with {
            conditions.note($0.headerFields[.ifRange])
            return .file(Self.content, etag: "\"v1\"", request: $0)
        } during: { scene in
            let progress = Recorder<Int64>()
            let transfer = scene.transfer(
                durability: durability, checkpoints: CheckpointPolicy(bytes: 100_000, noteBytes: 1),
                segments: Self.plan, onReceived: { progress.note($0) })
            let result = try await transfer.run()
            #expect(result.bytes == 1_000_000)
            #expect(scene.target(is: Self.content))
            #expect(scene.ranges.values.count >= 4 && scene.ranges.values[0] == "")
            #expect(conditions.values.allSatisfy { $0 == "\"v1\"" })
            #expect(progress.values.last == 1_000_000 && progress.values == progress.values.sorted())
            #expect(scene.phases.values.last == .published && scene.phases.values.contains(.receiving))
            try await Transfer.discardPartial(of: scene.request, files: .shared)
            #expect(scene.names == ["a.bin"])
        }
    }

    @Test(arguments: OriginResponse.RangeFault.allCases)
    func `gets the right bytes from a server whose ranges are wrong`(fault: OriginResponse.RangeFault) async throws {
        try await Self.with {
            .file(Self.content, etag: "\"v1\"", request: $0, fault: fault)
        } during: { scene in
            switch fault {
            case .longerThanRange:
                // We can't tell which of such a server's bytes are right, so the attempt fails and keeps nothing.
                await #expect(throws: TransferError.self) { try await scene.transfer(segments: Self.plan).run() }
                #expect(scene.names == [])
            case .shorterThanRange:
                // The bytes before the early end are right, so they are kept.
                _ = await #expect(throws: TransferError.self) { try await scene.transfer(segments: Self.plan).run() }
                #expect(scene.names == ["a.bin.sluice.json", "a.bin.sluice.part"])
            default: try await Self.run(scene)
            }
        }
    }

    @Test func `is on one connection if the server has no ranges, no strong validator, or the file is small`()
        async throws
    {
        let weak: HTTPFields = [.eTag: "W/\"v1\"", .acceptRanges: "bytes"]
        let none: HTTPFields = [.eTag: "\"v1\"", .acceptRanges: "none"]
        for (fields, count) in [(weak, 1_000_000), (none, 1_000_000), ([.eTag: "\"v1\""], 1_000_000)] {
            try await TransferScene.with { _ in
                OriginResponse(headerFields: fields, body: Array(Self.content[..<count]))
            } during: { scene in
                try await Self.run(scene)
                #expect(scene.ranges.values == [""])
            }
        }
        let small = SegmentPlan(limits: .init(count: 4, minimumSize: 500_001))
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0)
        } during: { scene in
            let result = try await scene.transfer(segments: small).run()
            #expect(result.bytes == 1_000_000)
            #expect(scene.ranges.values == [""])
        }
    }

    @Test func `is on one connection if the file system can't reserve space`() async throws {
        var calls = SystemCalls.system
        calls.randomAccess.preallocate = { _, _, _, _ in -EOPNOTSUPP }
        let files = FileIO(calls: calls)
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0)
        } during: { scene in
            let result = try await scene.transfer(files: files, segments: Self.plan).run()
            #expect(result.bytes == 1_000_000)
            #expect(scene.target(is: Self.content) && scene.ranges.values == [""])
        }
        await files.shutdown()
    }

    @Test func `fails before the first byte if the file doesn't fit on the disk`() async throws {
        var calls = SystemCalls.system
        calls.randomAccess.preallocate = { _, _, _, _ in -ENOSPC }
        let files = FileIO(calls: calls)
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0)
        } during: { scene in
            let error = await #expect(throws: TransferError.self) {
                try await scene.transfer(files: files, segments: Self.plan).run()
            }
            #expect(error?.fileError?.code == .noSpace)
            #expect(scene.names == [])
        }
        await files.shutdown()
    }

    @Test func `downloads again what has changed on the server, and never mixes versions`() async throws {
        let newer = bytes(1_000_000, seed: 7)
        try await Self.withInterrupted {
            .file(newer, etag: "\"v2\"", request: $0)
        } during: { scene in
            let result = try await scene.transfer(segments: Self.plan).run()
            #expect(result.bytes == 1_000_000 && scene.target(is: newer))
        }
    }

    @Test(arguments: [1, 4])
    func `requests only the missing bytes of an interrupted transfer, even over one connection`(
        count: Int
    ) async throws {
        try await Self.withInterrupted { scene in
            let written = try #require(scene.checkpoint?.segments).reduce(0) { $0 + $1[2] - $1[0] }
            #expect(written > 0 && written < 1_000_000)
            let requests = scene.ranges.values.count
            let progress = Recorder<[Int64?]>()
            let transfer = scene.transfer(
                segments: SegmentPlan(limits: .init(count: count, minimumSize: 50_000)),
                onResponse: { progress.note([$0, $1]) })
            let result = try await transfer.run()
            #expect(result.bytes == 1_000_000 && scene.target(is: Self.content))
            #expect(progress.values == [[1_000_000, written]])
            let asked = scene.ranges.values[requests...]
            #expect(!asked.isEmpty && asked.allSatisfy { $0 != "" })
            if count == 1 { #expect(scene.sent.values[requests...].reduce(0, +) == Int(1_000_000 - written)) }
        }
    }

    @Test func `trusts only what was synced before the system was started again`() async throws {
        try await Self.withInterrupted { scene in
            // Given bytes that a power failure destroyed, because they weren't synced
            var checkpoint = try #require(scene.checkpoint)
            checkpoint.boot = "another"
            #expect(checkpoint.segments?.allSatisfy { $0[3] == $0[0] } == true)
            try checkpoint.data.write(to: scene.request.checkpointTarget)
            let file = try FileHandle(forUpdating: scene.request.partialTarget)
            try file.write(contentsOf: Data(count: 1_000_000))
            try file.close()
            // Then
            try await Self.run(scene)
        }
        try await Self.withInterrupted(durability: .data) { scene in
            // The bytes were synced when the partial file was closed.
            let segments = try #require(scene.checkpoint?.segments)
            #expect(segments.allSatisfy { $0[2] == $0[3] })
        }
    }

    @Test func `fails with the status of the first connection, and keeps the segments`() async throws {
        try await Self.withInterrupted { _ in
            OriginResponse(status: 404)
        } during: { scene in
            let error = await #expect(throws: TransferError.self) {
                try await scene.transfer(segments: Self.plan).run()
            }
            #expect(error?.status == 404)
            #expect(scene.names == ["a.bin.sluice.json", "a.bin.sluice.part"])
        }
    }

    @Test func `verifies the checksum of the whole file`() async throws {
        let running = RunningChecksum(.sha256)
        running.update(Data(Self.content))
        let checksum = running.finish()
        try await Self.with { scene in
            let result = try await scene.transfer(checksum: checksum, segments: Self.plan).run()
            #expect(result.bytes == 1_000_000)
        }
        try await Self.with { request in
            // One of the connections gets other bytes.
            .file(bytes(1_000_000, seed: 1), etag: "\"v1\"", request: request)
        } during: { scene in
            let error = await #expect(throws: TransferError.self) {
                try await scene.transfer(checksum: checksum, segments: Self.plan).run()
            }
            #expect(error?.code == .digestMismatch)
            #expect(scene.names == [])
        }
    }

    @Test(arguments: [403, 404, 429, 503]) func `goes on if the server refuses further connections`(
        status: Int
    ) async throws {
        try await Self.with { request in
            // The whole file is the first request.
            request.attempt <= 4
                ? OriginResponse(status: status) : .file(Self.content, etag: "\"v1\"", request: request)
        } during: {
            try await Self.run($0)
        }
    }

    @Test func `begins again over one connection if the server refuses every range`() async throws {
        try await Self.with { _ in
            OriginResponse(status: 403)
        } during: {
            try await Self.run($0)
        }
    }

    @Test func `takes no part of another version, even if the server ignores If-Range`() async throws {
        let newer = bytes(1_000_000, seed: 7)
        try await Self.with {
            .file(newer, etag: "\"v2\"", request: $0, fault: .ignoresIfRange)
        } during: {
            try await Self.run($0)
        }
    }

    @Test func `goes on if further connections are reset`() async throws {
        try await Self.with { request in
            .file(
                Self.content, etag: "\"v1\"", request: request, sending: request.attempt <= 4 ? 10_000 : nil,
                then: .reset)
        } during: {
            try await Self.run($0)
        }
    }

    @Test func `uses mirrors with the same version of the file, and only those`() async throws {
        let other = bytes(1_000_000, seed: 3)
        for (content, tag, isUsed) in [(Self.content, "\"v1\"", true), (other, "\"v2\"", false)] {
            let ranges = Recorder<String>()
            try await LoopbackOrigin.serve { request in
                ranges.note(request.headerFields[.range] ?? "")
                return .file(content, etag: tag, request: request)
            } during: { mirror in
                try await Self.with(others: isUsed ? 1 : 0) { scene in
                    var plan = Self.plan
                    plan.mirrors = [try URL(fetchable: mirror.url("/a.bin"))]
                    let result = try await scene.transfer(segments: plan).run()
                    #expect(result.bytes == 1_000_000)
                    #expect(scene.target(is: Self.content))
                }
            }
            if isUsed { #expect(!ranges.values.isEmpty && !ranges.values.contains("")) }
        }
    }

    @Test func `leaves out a mirror whose header fields can't be made`() async throws {
        struct NoToken: Error {}
        let asked = Recorder<URL>()
        try await Self.with(others: 2) { scene in
            var plan = Self.plan
            let mirror = URL(string: "http://mirror.invalid/a.bin")!
            plan.mirrors = [mirror]
            plan.mirrorSource = { url in
                asked.note(url)
                throw NoToken()
            }
            let result = try await scene.transfer(segments: plan).run()
            #expect(result.bytes == 1_000_000 && scene.target(is: Self.content))
            #expect(Set(asked.values) == [mirror])
        }
        // A file that isn't downloaded in segments needs no mirror.
        asked.forget()
        try await TransferScene.with {
            .file(Self.content, etag: "\"v1\"", request: $0)
        } during: { scene in
            var plan = SegmentPlan(limits: .init(count: 4, minimumSize: 500_001))
            plan.mirrors = [URL(string: "http://mirror.invalid/a.bin")!]
            plan.mirrorSource = { url in
                asked.note(url)
                throw NoToken()
            }
            _ = try await scene.transfer(segments: plan).run()
        }
        #expect(asked.values.isEmpty)
    }

    @Test func `uses the servers that the first response names, if it may`() async throws {
        for mayUse in [true, false] {
            let ranges = Recorder<String>()
            try await LoopbackOrigin.serve { request in
                ranges.note(request.headerFields[.range] ?? "")
                #expect(request.headerFields[.authorization] == nil)
                return .file(Self.content, etag: "\"v1\"", request: request)
            } during: { duplicate in
                let gate = Gate()
                await gate.open()
                try await TransferScene.with { request in
                    guard request.headerFields[.range] == nil else {
                        await gate.pass()
                        return .file(Self.content, etag: "\"v1\"", request: request)
                    }
                    var response = Self.whole(request, 1, gate)
                    response.headerFields[HTTPField.Name("Link")!] = "<\(duplicate.url("/b"))>; rel=duplicate"
                    return response
                } during: { scene in
                    var plan = Self.plan
                    plan.limits.usesDuplicates = mayUse
                    var request = scene.request
                    request.headerFields[.authorization] = "Bearer secret"
                    let transfer = Transfer(
                        request: request, transport: scene.transport, files: .shared, existing: .fail,
                        durability: .none, segments: plan, onResponse: { _, _ in }, onReceived: { _ in })
                    let result = try await transfer.run()
                    #expect(result.bytes == 1_000_000 && scene.target(is: Self.content))
                }
            }
            #expect(ranges.values.isEmpty == !mayUse && !ranges.values.contains(""))
        }
    }

    @Test func `names the mirror that sent wrong bytes, and downloads only those again`() async throws {
        let running = RunningChecksum(.sha256)
        running.update(Data(Self.content))
        let checksum = running.finish()
        let mirrorRanges = Recorder<String>()
        for isHonest in [true, false] {
            try await LoopbackOrigin.serve { request in
                mirrorRanges.note(request.headerFields[.range] ?? "")
                return .file(bytes(1_000_000, seed: 9), etag: "\"v1\"", request: request)
            } during: { liar in
                try await Self.with(others: 1) {
                    // An own server with wrong bytes can't be helped.
                    .file(isHonest ? Self.content : bytes(1_000_000, seed: 8), etag: "\"v1\"", request: $0)
                } during: { scene in
                    let mirror = try URL(fetchable: liar.url("/a.bin"))
                    var plan = Self.plan
                    plan.mirrors = [mirror]
                    let named = Recorder<URL>()
                    var transfer = scene.transfer(checksum: checksum, segments: plan)
                    transfer.onWrongMirror = { named.note($0) }
                    if isHonest {
                        let result = try await transfer.run()
                        #expect(result.bytes == 1_000_000 && scene.target(is: Self.content))
                        #expect(named.values == [mirror])
                        // What came from its own server wasn't requested twice.
                        #expect(scene.ranges.values.filter { $0 == "" }.count == 1)
                    } else {
                        let error = await #expect(throws: TransferError.self) { try await transfer.run() }
                        #expect(error?.code == .digestMismatch && scene.names == [])
                    }
                }
            }
        }
        #expect(!mirrorRanges.values.isEmpty)
    }

    @Test func `replaces what an earlier attempt may have received from a mirror that lied`() async throws {
        let running = RunningChecksum(.sha256)
        running.update(Data(Self.content))
        let checksum = running.finish()
        for hasMirror in [true, false] {
            try await LoopbackOrigin.serve {
                .file(Self.content, etag: "\"v1\"", request: $0)
            } during: { mirror in
                try await Self.withInterrupted(bytes(1_000_000, seed: 9)) { scene in
                    var plan = Self.plan
                    if hasMirror { plan.mirrors = [try URL(fetchable: mirror.url("/a.bin"))] }
                    let named = Recorder<URL>()
                    var transfer = scene.transfer(checksum: checksum, segments: plan)
                    transfer.onWrongMirror = { named.note($0) }
                    if hasMirror {
                        let result = try await transfer.run()
                        #expect(result.bytes == 1_000_000 && scene.target(is: Self.content))
                    } else {
                        let error = await #expect(throws: TransferError.self) { try await transfer.run() }
                        #expect(error?.code == .digestMismatch && scene.names == [])
                    }
                    // This mirror sent nothing wrong.
                    #expect(named.values.isEmpty)
                }
            }
        }
    }

    @Test func `has as many connections as its host allows`() async throws {
        let connections = HostConnections(limit: 2)
        try await Self.with(others: 1) { scene in
            var plan = Self.plan
            (plan.connections, plan.host) = (connections, "host")
            try await connections.withDownload(from: "host") { [plan] in
                let result = try await scene.transfer(segments: plan).run()
                #expect(result.bytes == 1_000_000)
            }
            #expect(scene.target(is: Self.content))
            #expect(scene.origin.metrics.peak == 2)
        }
    }
}
