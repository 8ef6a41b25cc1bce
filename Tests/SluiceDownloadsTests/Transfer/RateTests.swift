import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Limits of rate, size and time` {
    private static let content = bytes(1_000_000)

    @Test func `bytes pass at the rate, from the first one on`() async throws {
        let clock = ManualClock()
        let bandwidth = Bandwidth(.init(total: 1000), clock: clock)
        let passed = Recorder<Int>()
        let passing = Task {
            for count in [250, 100, 150, 500] {
                try await bandwidth.pass(count, from: "a.example")
                passed.note(count)
            }
        }
        for expected in [[], [250], [250, 100], [250, 100, 150], [250, 100, 150]] {
            await clock.sleepers(1)
            #expect(passed.values == expected)
            clock.advance(by: .milliseconds(expected.count == 1 ? 100 : expected.count == 2 ? 150 : 250))
        }
        try await passing.value
        // A limit that is taken away holds nobody up.
        bandwidth.set(.init())
        try await bandwidth.pass(.max, from: "a.example")
    }

    @Test func `one host doesn't use the rate of another`() async throws {
        let clock = ManualClock()
        let bandwidth = Bandwidth(.init(perHost: 1000), clock: clock)
        // A quarter of a second may come at once.
        try await bandwidth.pass(250, from: "a.example")
        let waiting = Task { try await bandwidth.pass(250, from: "a.example") }
        await clock.sleepers(1)
        try await bandwidth.pass(250, from: "b.example")
        clock.advance(by: .milliseconds(250))
        try await waiting.value
    }

    @Test func `a cancelled download doesn't wait for its bytes`() async throws {
        let clock = ManualClock()
        let bandwidth = Bandwidth(.init(total: 4), clock: clock)
        let waiting = Task { try await bandwidth.pass(1_000_000, from: "a.example") }
        await clock.sleepers(1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test(arguments: [1_000_000, 1000]) func `every byte of a body counts`(size: Int) async throws {
        try await TransferScene.with { request in
            .file(Array(Self.content.prefix(size)), etag: "\"v1\"", request: request)
        } during: { scene in
            let paced = Recorder<Int>()
            var transfer = scene.transfer()
            transfer.pace = { count, _ in paced.note(count) }
            let result = try await transfer.run()
            #expect(result.bytes == size)
            #expect(paced.values.reduce(0, +) == size)
        }
    }

    @Test(arguments: [1_000_000, 1000], [true, false]) func `a file that is too large fails, and nothing is kept`(
        size: Int, hasLength: Bool
    ) async throws {
        for isAllowed in [true, false] {
            try await downloading { _ in
                OriginResponse(
                    headerFields: [.eTag: "\"v1\""], announcedLength: hasLength ? size : nil,
                    steps: [.send(Array(Self.content.prefix(size)))])
            } during: { downloader, origin, directory in
                var downloader = downloader
                downloader.configuration.maximumSize = Int64(isAllowed ? size : size - 1)
                let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
                switch try await downloader.run([request]).results[0] {
                case .done: #expect(isAllowed)
                case .failed(let error):
                    #expect(!isAllowed && error.code == .tooLarge && error.message.contains("\(size - 1) bytes"))
                    #expect(try names(in: directory).isEmpty && origin.metrics.requests == 1)
                case let other: Issue.record("\(other)")
                }
            }
        }
    }

    @Test func `an attempt that takes too long fails, and a later one continues it`() async throws {
        let ranges = Recorder<String>()
        try await downloading { request in
            ranges.note(request.headerFields[.range] ?? "")
            return .file(Self.content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 600_000 : nil)
        } during: { downloader, origin, directory in
            var downloader = downloader
            let time = VirtualTime()
            let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            downloader.configuration.maximumTime = .milliseconds(500)
            let first = try await downloader.coordinator(time: time).download([request]) { _, event in
                // Everything that the server sends has arrived.
                if case .received(_, 600_000) = event { time.advance(by: .milliseconds(500)) }
            }.results[0]
            guard case .failed(let error) = first else {
                Issue.record("\(first)")
                return
            }
            #expect(error.code == .tookTooLong && error.message.contains("0.5 s"))
            #expect(origin.metrics.requests == 1)
            downloader.configuration.maximumTime = .seconds(3600)
            guard case .done = try await downloader.run([request]).results[0] else {
                Issue.record("The second attempt failed.")
                return
            }
            #expect(try Data(contentsOf: request.target) == Data(Self.content))
        }
    }

    @Test func `an attempt that is too slow is stopped and retried from where it was`() async throws {
        let ranges = Recorder<String>()
        try await downloading { request in
            ranges.note(request.headerFields[.range] ?? "")
            return .file(Self.content, etag: "\"v1\"", request: request, sending: request.attempt == 1 ? 600_000 : nil)
        } during: { downloader, origin, directory in
            var downloader = downloader
            downloader.configuration.minimumRate = .init(bytesPerSecond: 1000, over: .seconds(4))
            let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            let time = VirtualTime()
            let arrived = Gate()
            let errors = Recorder<TransferError>()
            let coordinator = downloader.coordinator(time: time)
            let running = Task {
                try await coordinator.download([request]) { _, event in
                    switch event {
                    case .received(_, 600_000): Task { await arrived.pass() }
                    case .retrying(_, let error, let delay):
                        errors.note(error)
                        time.advance(by: delay)
                    default: break
                    }
                }
            }
            await arrived.arrivals(1)
            // The quarter of the response, and four more.
            for _ in 0..<5 {
                try await time.sleeper(for: .seconds(1))
                #expect(errors.values.isEmpty)
                time.advance(by: .seconds(1))
            }
            #expect(try await running.value.doneCount == 1)
            #expect(errors.values.map(\.code) == [.tooSlow] && errors.values[0].message.contains("1000 bytes"))
            #expect(ranges.values == ["", "bytes=600000-"])
            #expect(try Data(contentsOf: request.target) == Data(Self.content))
            await arrived.open()
        }
    }

    @Test func `a rate is too low after a whole period, from the first response on`() {
        // 1000 bytes per second over 4 s: 4000 bytes in four quarters.
        func watch(_ quarters: [(bytes: Int64, waited: Int64)]) -> [Bool] {
            var watch = RateWatch(.init(bytesPerSecond: 1000, over: .seconds(4)))
            var position: Int64 = 500
            // The time before the response, and the quarter of the response, don't count.
            var early = [watch.endQuarter()]
            watch.begin(at: position)
            early.append(watch.endQuarter())
            #expect(early == [false, false])
            return quarters.map { quarter in
                position += quarter.bytes
                watch.received(upTo: position)
                watch.waited(for: quarter.waited)
                return watch.endQuarter()
            }
        }
        #expect(watch([(1000, 0), (1000, 0), (1000, 0), (1000, 0)]) == [false, false, false, false])
        #expect(watch([(1000, 0), (1000, 0), (1000, 0), (999, 0), (0, 0)]) == [false, false, false, true, true])
        #expect(watch([(4000, 0), (0, 0), (0, 0), (0, 0), (0, 0)]) == [false, false, false, false, true])
        // The time for which a rate limit stopped the transfer doesn't count.
        #expect(watch([(500, 500), (0, 1000), (0, 5000), (1000, 0)]) == [false, false, false, false])
        #expect(watch([(500, 400), (0, 1000), (0, 1000), (1000, 0)]) == [false, false, false, true])
        // A transfer that begins again with fewer bytes.
        var again = RateWatch(.init(bytesPerSecond: 1, over: .milliseconds(1)))
        again.begin(at: .max)
        again.received(upTo: 0)
        _ = again.endQuarter()
    }
}
