import SluiceDownloads
import Testing

@testable import SluiceService

@Suite struct `The tally of running downloads` {
    private let start = ContinuousClock.now
    private let one = QueuedDownload.ID(rawValue: 1)
    private let two = QueuedDownload.ID(rawValue: 2)

    @Test func `counts received bytes without those of a partial file, and again after a new response`() {
        var tally = DownloadTally()
        #expect(tally.note(.started(job: one, attempt: 1), at: start) == .init(running: 1))
        #expect(tally.note(.responded(job: one, announced: 100, resumed: 40), at: start) == .init())
        #expect(tally.note(.received(job: one, bytes: 70), at: start) == .init(receivedBytes: 30))
        #expect(tally.note(.responded(job: one, announced: 100, resumed: 0), at: start) == .init())
        #expect(tally.note(.received(job: one, bytes: 100), at: start) == .init(receivedBytes: 100))
        let end = tally.note(.finished(job: one, outcome: .done(bytes: 100)), at: start + .seconds(2))
        #expect(end == .init(running: -1, duration: .seconds(2)))
    }

    @Test func `a download that ends without having started changes nothing`() {
        var tally = DownloadTally()
        #expect(tally.note(.finished(job: one, outcome: .skipped), at: start) == .init())
        #expect(tally.note(.received(job: one, bytes: 5), at: start) == .init())
    }

    @Test func `a download that starts again after a lost lease counts once, and the end of the run forgets it`() {
        var tally = DownloadTally()
        #expect(tally.note(.started(job: one, attempt: 1), at: start) == .init(running: 1))
        #expect(tally.note(.started(job: one, attempt: 1), at: start + .seconds(1)) == .init())
        #expect(tally.note(.started(job: two, attempt: 1), at: start) == .init(running: 1))
        #expect(tally.note(.released(job: one), at: start + .seconds(3)) == .init(running: -1, duration: .seconds(2)))
        #expect(tally.forgetAll() == 1)
        #expect(tally.forgetAll() == 0)
    }

    @Test func `a download that is paused no longer runs`() {
        var tally = DownloadTally()
        #expect(tally.note(.started(job: one, attempt: 1), at: start) == .init(running: 1))
        #expect(tally.note(.paused(job: one), at: start + .seconds(1)) == .init(running: -1, duration: .seconds(1)))
        #expect(tally.note(.started(job: one, attempt: 1), at: start) == .init(running: 1))
    }
}
