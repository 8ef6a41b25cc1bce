import Foundation
import Testing

@testable import SluiceDownloads

@Suite struct `The meter of transfers` {
    private let start = ContinuousClock.now

    private func job(_ id: Int64, _ state: QueuedDownload.State, bytes: Int64? = nil) -> QueuedDownload {
        let request = DownloadRequest(
            URL(string: "https://songs.example/\(id).mp3")!, to: URL(filePath: "/songs", directoryHint: .isDirectory))
        return QueuedDownload(id: .init(rawValue: id), request: request, state: state, fileSize: bytes)
    }

    private func running(_ id: Int64, _ received: Int64, of expected: Int64? = nil) -> QueueSnapshot.Running {
        .init(download: job(id, .running), receivedBytes: received, totalBytes: expected)
    }

    /// A server may announce any length, and another program may have changed the queue's numbers.
    @Test func `sums that overflow are clamped to the maximum`() {
        var meter = TransferMeter()
        let most = Int64.max
        meter.note(QueueSnapshot(running: [running(1, most, of: most), running(2, most, of: most)]), at: start)
        #expect(meter.totals.totalBytes == most && meter.totals.receivedBytes == most)
        meter.note(
            QueueSnapshot(
                running: [running(1, most, of: most)], ended: [job(2, .done, bytes: -most), job(3, .done, bytes: most)]),
            at: start + .nanoseconds(1))
        #expect(meter.totals.totalBytes == most)
    }

    @Test func `a queue without running downloads has no rate`() {
        var meter = TransferMeter()
        meter.note(QueueSnapshot(counts: [.waiting: 2]), at: start)
        meter.note(QueueSnapshot(counts: [.waiting: 2]), at: start + .seconds(5))
        #expect(meter.totals == .init())
    }

    @Test func `steady bytes give a steady rate from the first interval on`() {
        var meter = TransferMeter()
        for second in 0...20 {
            meter.note(
                QueueSnapshot(running: [running(1, Int64(second) * 500, of: 20_000)]), at: start + .seconds(second))
            #expect(meter.totals.bytesPerSecond == (second == 0 ? nil : 500))
        }
        #expect(meter.totals.receivedBytes == 10_000 && meter.totals.totalBytes == 20_000)
        #expect(meter.totals.fractionCompleted == 0.5)
        #expect(meter.totals.timeLeft == .seconds(20))
    }

    @Test func `the rate follows a change, smoothly`() throws {
        var meter = TransferMeter()
        var received: Int64 = 0
        var rates: [Int64] = []
        for second in 0...20 {
            meter.note(QueueSnapshot(running: [running(1, received)]), at: start + .seconds(second))
            if second >= 10 { rates.append(try #require(meter.totals.bytesPerSecond)) }
            received += second < 10 ? 100 : 1000
        }
        #expect(zip(rates, rates.dropFirst()).allSatisfy { $0 < $1 })
        let last = try #require(rates.last)
        #expect(rates.first == 100 && (950...1000).contains(last))
    }

    @Test func `during a stall the rate falls, and the time left becomes unknown`() throws {
        var meter = TransferMeter()
        meter.note(QueueSnapshot(running: [running(1, 0, of: 3000)]), at: start)
        meter.note(QueueSnapshot(running: [running(1, 1000, of: 3000)]), at: start + .seconds(1))
        #expect(meter.totals.bytesPerSecond == 1000 && meter.totals.timeLeft == .seconds(2))

        var last: Int64 = 1000
        for second in 2...30 {
            meter.advance(to: start + .seconds(second))
            let rate = try #require(meter.totals.bytesPerSecond)
            #expect(rate <= last)
            last = rate
        }
        #expect(last == 0 && meter.totals.timeLeft == nil)
    }

    @Test func `several ticks have the same effect as one long interval`() throws {
        var ticks = SmoothedRate()
        var single = SmoothedRate()
        ticks.add(1000, over: .seconds(1))
        single.add(1000, over: .seconds(1))
        for _ in 0..<20 { ticks.add(0, over: .milliseconds(100)) }
        single.add(0, over: .seconds(2))
        let one = try #require(ticks.bytesPerSecond)
        let other = try #require(single.bytesPerSecond)
        #expect(one < 1000 && other < 1000 && abs(one - other) < 1e-6)
    }

    @Test func `a download that ends between snapshots counts, and a new attempt doesn't count backwards`() {
        var meter = TransferMeter()
        meter.note(QueueSnapshot(running: [running(1, 400, of: 1000), running(2, 900)]), at: start)
        let later = QueueSnapshot(
            running: [running(2, 0), running(3, 50)],
            ended: [job(4, .done, bytes: 200), job(1, .done, bytes: 1000), job(5, .failed)])
        meter.note(later, at: start + .seconds(1))
        #expect(meter.totals.bytesPerSecond == 850)
        // The ended downloads don't count again.
        meter.note(later, at: start + .seconds(1))
        #expect(meter.totals.bytesPerSecond == 850)
    }

    @Test func `a resumed file or another process's file doesn't make the rate jump`() {
        var meter = TransferMeter()
        meter.note(QueueSnapshot(running: [running(1, 0)]), at: start)
        meter.note(
            QueueSnapshot(running: [running(2, 5 << 30)], ended: [job(1, .done, bytes: 3 << 30)]),
            at: start + .seconds(1))
        #expect(meter.totals.bytesPerSecond == 2 * TransferMeter.maximumUnseen)
    }

    @Test(
        arguments: [
            (expected: 1000 as Int64?, waiting: 0, ended: [] as [Int64], left: 9),
            (1000, 2, [], 9 + 20), (1000, 1, [3000, 2000], 9 + 20), (nil, 0, [500], 4), (nil, 1, [], nil),
            (nil, 0, [], nil), (100, 0, [], 0),
        ] as [(Int64?, Int, [Int64], Int?)])
    func `the time left assumes the mean known size for each unknown size`(
        expected: Int64?, waiting: Int, ended: [Int64], left: Int?
    ) {
        var meter = TransferMeter()
        for (second, received) in [(0, 0), (1, 100)] as [(Int, Int64)] {
            let ended = ended.enumerated().map { job(Int64($0) + 2, .done, bytes: $1) }
            meter.note(
                QueueSnapshot(
                    counts: [.waiting: waiting, .running: 1], running: [running(1, received, of: expected)],
                    ended: ended),
                at: start + .seconds(second))
        }
        #expect(meter.totals.bytesPerSecond == 100)
        #expect(meter.totals.timeLeft == left.map { .seconds($0) })
    }

    @Test func `the rate starts over after a pause in which nothing ran`() {
        var meter = TransferMeter()
        meter.note(QueueSnapshot(running: [running(1, 0)]), at: start)
        meter.note(QueueSnapshot(running: [running(1, 9000)]), at: start + .seconds(1))
        meter.note(QueueSnapshot(), at: start + .seconds(2))
        #expect(meter.totals == .init())
        meter.note(QueueSnapshot(running: [running(2, 0)]), at: start + .seconds(100))
        meter.note(QueueSnapshot(running: [running(2, 10)]), at: start + .seconds(101))
        #expect(meter.totals.bytesPerSecond == 10)
    }
}
