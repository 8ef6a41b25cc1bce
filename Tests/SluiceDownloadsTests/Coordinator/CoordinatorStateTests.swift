import SluiceHTTP
import Testing

@testable import SluiceDownloads

@Suite struct `The state of a run` {
    private static func claimed(_ number: Int64) -> ClaimedJob {
        ClaimedJob(
            lease: JobLease(job: JobID(rawValue: number), token: number), request: .named("\(number)"), failures: 0,
            mayBePublished: false)
    }

    private static func limit(_ state: inout CoordinatorState, at now: Int64, total: Int = 1) -> Int64? {
        state.arm(now: now, renewal: 1000, poll: nil, total: total)
    }

    @Test func `waits for what is due next, or for a renewal`() {
        var state = CoordinatorState(lastRenewed: 0)
        #expect(Self.limit(&state, at: 0) == nil)
        _ = state.noteDue(50, renewal: 1000, isEmpty: false)
        #expect(Self.limit(&state, at: 10) == 40)
        #expect(Self.limit(&state, at: 60) == 0)
        state.claimed([Self.claimed(1)])
        #expect(Self.limit(&state, at: 10, total: 2) == 40)
    }

    @Test func `does not turn without a pause while nothing can be claimed and something is overdue`() {
        var state = CoordinatorState(lastRenewed: 0)
        _ = state.noteDue(50, renewal: 1000, isEmpty: false)
        state.claimed([Self.claimed(1)])
        // All places are taken: the next end of a job starts an exchange.
        #expect(Self.limit(&state, at: 60) == 940)
    }

    @Test func `does not turn without a pause while an exchange runs and something is overdue`() {
        var state = CoordinatorState(lastRenewed: 0)
        _ = state.noteDue(50, renewal: 1000, isEmpty: false)
        let begins = state.beginExchange()
        #expect(begins)
        #expect(Self.limit(&state, at: 60) == nil)
        // The exchange notes what is due next, and wakes the waiting task for it.
        let wakes = state.noteDue(90, renewal: 1000, isEmpty: false)
        #expect(wakes)
        #expect(Self.limit(&state, at: 60) == 30)
        let repeats = state.endExchange()
        #expect(!repeats)
        #expect(Self.limit(&state, at: 95) == 0)
    }
}
