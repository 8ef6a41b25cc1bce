import SluiceConcurrency
import SluiceHTTP
import Testing

@testable import SluiceDownloads

@Suite struct `The state of a run` {
    private static func claimed(_ number: Int64, token: Int64? = nil) -> ClaimedJob {
        ClaimedJob(
            lease: JobLease(job: JobID(rawValue: number), token: token ?? number), request: .named("\(number)"),
            failures: 0, mayBePublished: false)
    }

    private static func lease(_ number: Int64) -> JobLease { JobLease(job: JobID(rawValue: number), token: number) }

    private static func state(total: Int = 1, poll: Int64? = nil) -> RunState {
        RunState(CoordinatorState.Intervals(poll: poll, total: total, lease: 3000))
    }

    private static func settled(_ number: Int64) -> SettledJob {
        SettledJob(
            settlement: JobSettlement(lease: lease(number), outcome: .done(bytes: 1)),
            event: .finished(download: lease(number).job, outcome: .done(fileSize: 1)))
    }

    // MARK: Looking for jobs

    @Test func `waits until the next due time or renewal`() {
        let state = Self.state(total: 2)
        #expect(state.arm(.look, now: 0) == nil)
        let wakes = state.noteDue(50)
        #expect(wakes)
        #expect(state.arm(.look, now: 10) == 40)
        #expect(!state.takes(.look, now: 49))
        #expect(state.takes(.look, now: 50))
        #expect(state.arm(.look, now: 60) == 0)
        #expect(state.arm(.renew, now: 60) == nil)
        state.claimed([Self.claimed(1)], at: 60)
        #expect(state.noteDue(2000))
        #expect(state.arm(.renew, now: 100) == 960)
        #expect(state.arm(.look, now: 100) == 1900)
    }

    @Test func `an overdue job doesn't start turns while nothing can be claimed`() {
        let state = Self.state()
        _ = state.noteDue(50)
        state.claimed([Self.claimed(1)], at: 0)
        // There is no room left, so the next job to end starts a turn.
        #expect(state.arm(.look, now: 60) == nil)
    }

    @Test func `an overdue job doesn't start another turn while a turn runs`() {
        let state = Self.state()
        _ = state.noteDue(50)
        let begins = state.beginTurn(now: 60)
        #expect(begins)
        #expect(state.arm(.look, now: 60) == nil)
        // The turn notes what is due next, and wakes the waiting task for it.
        let wakes = state.noteDue(90)
        #expect(wakes)
        #expect(state.arm(.look, now: 60) == 30)
        let repeats = state.endTurn(now: 60)
        #expect(!repeats)
        #expect(state.arm(.look, now: 95) == 0)
    }

    @Test func `a job that comes due during a turn starts another turn`() {
        let state = Self.state()
        #expect(state.beginTurn(now: 0))
        #expect(state.noteDue(50))
        #expect(state.arm(.look, now: 60) == 0)
        #expect(state.takes(.look, now: 60))
        #expect(!state.beginTurn(now: 60))
        #expect(state.arm(.look, now: 60) == nil, "the other turn is certain")
        #expect(state.endTurn(now: 60))
        #expect(state.arm(.look, now: 60) == nil)
        #expect(state.noteDue(90))
        #expect(!state.endTurn(now: 60))
    }

    @Test func `polls a shared store less often while the store announces changes`() {
        let state = Self.state(poll: 1000)
        #expect(state.arm(.look, now: 0) == 1000)
        state.isListening = true
        #expect(state.arm(.look, now: 0) == 5000)
        state.request(.look)
        #expect(state.arm(.look, now: 0) == 0)
        #expect(state.takes(.look, now: 0))
        #expect(state.arm(.look, now: 0) == 5000)
        #expect(!state.takes(.look, now: 0))
    }

    // MARK: Stopping

    @Test func `a job told to stop while it's being claimed is stopped by a renewal`() {
        let state = Self.state()
        #expect(state.beginTurn(now: 0))
        #expect(state.stop(Self.lease(1).job, because: .paused) == nil)
        state.claimed([Self.claimed(1)], at: 0)
        #expect(state.noteDue(nil))
        #expect(state.arm(.renew, now: 5) == 0)
        #expect(state.takes(.renew, now: 5))
        #expect(state.arm(.renew, now: 5) == 995)
        #expect(!state.endTurn(now: 5))
        // A job that belongs to another worker needs no renewal here.
        _ = state.stop(Self.lease(2).job, because: .paused)
        #expect(state.beginTurn(now: 10))
        _ = state.noteDue(nil)
        #expect(state.arm(.renew, now: 10) == 990)
    }

    // MARK: Callers

    private static func caller(_ batch: String? = nil) -> RunCaller {
        RunCaller(until: batch.map { .whenBatchIsEmpty($0) } ?? .whenCancelled) { _ in
        } onWarning: { _ in
        }
    }

    private static func job(_ number: Int64, in batches: String...) -> QueuedDownload {
        QueuedDownload(
            id: JobID(rawValue: number), request: .named("\(number)"), members: batches.map { .init(batch: $0) },
            state: .running)
    }

    @Test func `callers' batches take turns at being first, and the whole queue comes last`() {
        let state = Self.state()
        #expect(state.wantedBatches == [])
        let (a, b, all) = (Self.caller("A"), Self.caller("B"), Self.caller())
        for caller in [a, b, Self.caller("A")] { #expect(state.add(caller)) }
        #expect(state.wantedBatches == ["A", "B"])
        #expect(state.beginTurn(now: 0))
        #expect(state.wantedBatches == ["B", "A"])
        #expect(state.add(all))
        #expect(state.wantedBatches == ["B", "A", nil])
        #expect(state.leave(b) == .othersStay(isComplete: false))
        #expect(state.wantedBatches == ["A", nil])
    }

    @Test func `when the last caller leaves, the engine ends and can't be joined`() {
        let state = Self.state()
        let (a, b) = (Self.caller("A"), Self.caller())
        #expect(state.add(a) && state.add(b))
        #expect(state.leave(b) == .othersStay(isComplete: false))
        #expect(state.leave(a) == .last)
        #expect(state.leave(a) == .ending)
        #expect(!state.add(b))
    }

    /// A caller that joined later would never be notified.
    @Test func `an engine that has ended with an error can't be joined`() {
        let state = Self.state()
        let (a, b) = (Self.caller("A"), Self.caller())
        #expect(state.add(a))
        #expect(state.removeCallers() == 1)
        #expect(!state.add(b))
        #expect(state.leave(a) == .ending)
    }

    @Test func `a caller that leaves stops only jobs that no other caller wants`() {
        let state = Self.state(total: 3)
        let (a, b) = (Self.caller("A"), Self.caller("B"))
        #expect(state.add(a) && state.add(b))
        state.claimed([Self.claimed(1), Self.claimed(2), Self.claimed(3)], at: 0)
        #expect(state.leave(a) == .othersStay(isComplete: false))
        state.stopUnwanted([Self.job(1, in: "A"), Self.job(2, in: "A", "B"), Self.job(3, in: "B")])
        #expect((1...3).map { state.stopReason(of: Self.lease($0)) } == [.unwanted, nil, nil])
    }

    @Test func `a caller leaves only after the store has recorded that its jobs stopped`() {
        let state = Self.state(total: 3)
        let (a, b) = (Self.caller("A"), Self.caller("B"))
        #expect(state.add(a) && state.add(b))
        let jobs = (1...3).map { Self.job(Int64($0), in: $0 == 3 ? "B" : "A") }
        state.claimed([Self.claimed(1), Self.claimed(2), Self.claimed(3)], at: 0)
        _ = state.leave(a)
        #expect(state.stopUnwanted(jobs, isLeaving: true) != nil)
        #expect(state.noteRecorded(jobs[2].id) == 0)
        #expect(state.noteRecorded(jobs[0].id) == 0)
        #expect(state.noteRecorded(jobs[1].id, jobs[2].id) == 1)
        #expect(state.stopUnwanted(jobs, isLeaving: true) == nil, "they are stopping already")
    }

    @Test func `a caller that leaves during a turn is noted once, since the turn may have claimed jobs`() {
        let state = Self.state()
        let callers = ["A", "B", "C"].map { Self.caller($0) }
        for caller in callers { #expect(state.add(caller)) }
        #expect(state.leave(callers[0]) == .othersStay(isComplete: false))
        #expect(!state.takeMissedDeparture())
        #expect(state.beginTurn(now: 0))
        #expect(state.leave(callers[1]) == .othersStay(isComplete: false))
        #expect(state.takeMissedDeparture())
        #expect(!state.takeMissedDeparture())
    }

    /// This includes a job that was already running when its caller joined, and that ends without another claim.
    @Test func `a caller of a batch gets the events of its batch's jobs`() {
        let state = Self.state()
        let (a, b, all) = (Self.caller("A"), Self.caller("B"), Self.caller())
        #expect(state.add(all))
        state.claimed([Self.claimed(1)], at: 0)
        #expect(state.jobsOfUnknownBatches == [], "the only caller hears all")
        #expect(state.add(a) && state.add(b))
        #expect(state.jobsOfUnknownBatches == [Self.lease(1).job])
        state.noteBatches(of: [Self.job(1, in: "A")])
        #expect(state.jobsOfUnknownBatches == [])
        let listeners = state.listeners(to: .finished(download: Self.lease(1).job, outcome: .skipped))
        #expect(listeners.map(ObjectIdentifier.init) == [all, a].map(ObjectIdentifier.init))
    }

    // MARK: Leases that expired unnoticed

    @Test func `a job that this worker gets again ends the attempt under the former lease`() async {
        let state = Self.state(total: 2)
        let (job, again) = (Self.claimed(1), Self.claimed(1, token: 2))
        let attempt = RunningAttempt(in: WorkerTask())
        #expect(state.claimed([job], at: 0).isEmpty)
        #expect(state.formerAttempt(before: job.lease) == nil)
        #expect(!state.began(job.lease, attempt))
        #expect(state.claimed([again], at: 20) == [attempt])
        #expect(state.formerAttempt(before: again.lease) == attempt)
        #expect(state.stopReason(of: job.lease) == .lost && state.stopReason(of: again.lease) == nil)
        #expect(!state.settle(job, Self.settled(1)), "the outcome under the former lease doesn't count")
        #expect(state.takeSettled().settled.isEmpty)
    }

    @Test func `an attempt whose lease has expired before it begins is cancelled`() async {
        let state = Self.state(total: 2)
        let (job, again) = (Self.claimed(1), Self.claimed(1, token: 2))
        state.claimed([job], at: 0)
        #expect(state.claimed([again], at: 20).isEmpty)
        let attempts = (RunningAttempt(in: WorkerTask()), RunningAttempt(in: WorkerTask()))
        #expect(state.began(job.lease, attempts.0))
        #expect(!state.began(again.lease, attempts.1))
        #expect(state.stop(again.lease.job, because: .paused) == attempts.1)
    }

    // MARK: Outages

    @Test func `an outage postpones outcomes and is reported once`() {
        let state = Self.state()
        state.claimed([Self.claimed(1)], at: 0)
        state.settle(Self.claimed(1), Self.settled(1))
        var reports: [Bool] = []
        var pauses: [Int64] = []
        var now: Int64 = 0
        for _ in 1...10 {
            #expect(state.beginTurn(now: now))
            let taken = state.takeSettled()
            #expect(taken.settled.map(\.settlement.lease) == [Self.lease(1)])
            reports.append(state.postpone(taken.settled, now: now))
            #expect(!state.endTurn(now: now))
            #expect(!state.beginTurn(now: now))
            pauses.append(state.arm(.look, now: now)!)
            now += pauses.last!
        }
        #expect(reports == [true] + Array(repeating: false, count: 9))
        for (index, pause) in pauses.enumerated() {
            let most = min(Int64(100) << index, 5000)
            #expect(pause >= most / 2 && pause <= most)
        }
        #expect(state.takeSettled().settled.map(\.settlement.mayBeRecorded) == [true])
        _ = state.noteDue(nil)
        #expect(state.postpone([], now: now), "the next outage is reported again")
    }

    @Test func `the last turn ignores the pause of an outage`() {
        let state = Self.state()
        _ = state.postpone([], now: 0)
        #expect(!state.beginTurn(now: 0))
        #expect(state.beginTurn(now: 0, isLast: true))
    }

    // MARK: Leases

    @Test func `a lease counts from its request and is trusted for two thirds of its duration`() {
        let state = Self.state(total: 3, poll: 1000)
        state.claimed([Self.claimed(1)], at: 100)
        state.claimed([Self.claimed(2)], at: 700)
        #expect(state.arm(.renew, now: 800) == 300)
        #expect(state.arm(.guardLeases, now: 800) == 1300)
        let renewal = state.beginRenewal(now: 1100)!
        state.stopExpiring(now: 2099)
        #expect(state.stopReason(of: Self.lease(1)) == nil)
        state.stopExpiring(now: 2100)
        #expect(state.stopReason(of: Self.lease(1)) == .expiring)
        #expect(state.stopReason(of: Self.lease(2)) == nil)
        // The response arrives late, but the lease counts from when the request was sent.
        state.endRenewal(renewal, [RenewedLease(lease: Self.lease(1)), RenewedLease(lease: Self.lease(2))])
        #expect(state.arm(.guardLeases, now: 2200) == 900)
        #expect(state.stopReason(of: Self.lease(2)) == nil)
    }

    @Test func `a failed renewal is retried after a pause`() {
        let state = Self.state(poll: 1000)
        state.claimed([Self.claimed(1)], at: 0)
        #expect(state.arm(.renew, now: 1000) == 0)
        state.postponeRenewal(now: 1000)
        let pause = state.arm(.renew, now: 1000)
        #expect(pause.map { $0 >= 50 && $0 <= 100 } == true)
        #expect(state.arm(.guardLeases, now: 1000) == 1000)
    }

    @Test func `leases of a store that isn't shared need no guard`() {
        let state = Self.state()
        state.claimed([Self.claimed(1)], at: 0)
        #expect(state.arm(.guardLeases, now: 0) == nil)
    }

    @Test func `a lease missing from a renewal is lost, unless its job was settled meanwhile`() {
        let state = Self.state(total: 3)
        state.claimed([Self.claimed(1), Self.claimed(2), Self.claimed(3)], at: 0)
        let renewal = state.beginRenewal(now: 1000)!
        state.settle(Self.claimed(2), Self.settled(2))
        _ = state.takeSettled()
        state.endRenewal(renewal, [RenewedLease(lease: Self.lease(3), stop: .paused)])
        #expect(state.stopReason(of: Self.lease(1)) == .lost)
        #expect(state.stopReason(of: Self.lease(2)) == nil)
        #expect(state.stopReason(of: Self.lease(3)) == .paused)
    }

    @Test func `a claimed job that the worker never heard of is released`() {
        let state = Self.state(total: 3)
        state.claimed([Self.claimed(1)], at: 0)
        let renewal = state.beginRenewal(now: 1000)!
        state.endRenewal(renewal, [RenewedLease(lease: Self.lease(1)), RenewedLease(lease: Self.lease(2))])
        #expect(state.takes(.look, now: 0))
        let released = state.takeSettled().settled
        #expect(released.map(\.settlement) == [JobSettlement(lease: Self.lease(2), outcome: .released)])
        #expect(state.takeSettled().settled.isEmpty)
    }

    @Test func `a job that a turn is claiming isn't released`() {
        for isEarly in [true, false] {
            let state = Self.state(total: 3)
            state.claimed([Self.claimed(1)], at: 0)
            if isEarly { #expect(state.beginTurn(now: 1000)) }
            let renewal = state.beginRenewal(now: 1000)!
            if !isEarly { #expect(state.beginTurn(now: 1000)) }
            state.endRenewal(renewal, [RenewedLease(lease: Self.lease(1)), RenewedLease(lease: Self.lease(2))])
            #expect(state.takeSettled().settled.isEmpty)
        }
    }
}

/// The state in a class, because `#expect` doesn't call mutating methods.
private final class RunState {
    private var state: CoordinatorState

    init(_ intervals: CoordinatorState.Intervals) {
        state = CoordinatorState(intervals, ReachWatch.Rules())
        state.worker = QueueWorker(name: "worker")
    }

    var isListening: Bool {
        get { state.isListening }
        set { state.isListening = newValue }
    }

    @discardableResult
    func claimed(_ jobs: [ClaimedJob], at sent: Int64) -> [RunningAttempt] { state.claimed(jobs, at: sent) }
    func formerAttempt(before lease: JobLease) -> RunningAttempt? { state.formerAttempt(before: lease) }
    func began(_ lease: JobLease, _ attempt: RunningAttempt) -> Bool { state.began(lease, attempt) }
    @discardableResult
    func settle(_ job: ClaimedJob, _ outcome: SettledJob?) -> Bool { state.settle(job, outcome) }
    func stop(_ job: JobID, because reason: CoordinatorState.StopReason) -> RunningAttempt? {
        state.stop(job, because: reason)
    }
    var wantedBatches: [String?] { state.wantedBatches }
    func add(_ caller: RunCaller) -> Bool { state.add(caller) }
    func leave(_ caller: RunCaller) -> CoordinatorState.Departure { state.leave(caller) }
    func removeCallers() -> Int { state.removeCallers().count }
    @discardableResult
    func stopUnwanted(_ jobs: [QueuedDownload], isLeaving: Bool = false) -> Condition? {
        state.stopUnwanted(jobs, isLeaving: isLeaving).recorded
    }
    func noteRecorded(_ jobs: JobID...) -> Int { state.noteRecorded(jobs).count }
    var jobsOfUnknownBatches: [JobID] { state.jobsOfUnknownBatches }
    func noteBatches(of jobs: [QueuedDownload]) { state.noteBatches(of: jobs) }
    func listeners(to event: DownloadEvent) -> [RunCaller] { state.listeners(to: event) }
    func takeMissedDeparture() -> Bool { state.takeMissedDeparture() }
    func stopReason(of lease: JobLease) -> CoordinatorState.StopReason? { state.stopReason(of: lease) }
    func beginTurn(now: Int64, isLast: Bool = false) -> Bool { state.beginTurn(now: now, isLast: isLast) }
    func endTurn(now: Int64) -> Bool { state.endTurn(now: now) }
    func takeSettled() -> (settled: [SettledJob], room: Int, worker: QueueWorker) {
        state.takeSettled(now: 0)
    }
    func postpone(_ unrecorded: [SettledJob], now: Int64) -> Bool { state.postpone(unrecorded, now: now) }
    func noteDue(_ due: Int64?) -> Bool { state.noteDue(due) }
    func beginRenewal(now: Int64) -> CoordinatorState.Renewal? { state.beginRenewal(now: now) }
    func endRenewal(_ renewal: CoordinatorState.Renewal, _ renewed: [RenewedLease]) {
        _ = state.endRenewal(renewal, renewed)
    }
    func postponeRenewal(now: Int64) { state.postponeRenewal(now: now) }
    func stopExpiring(now: Int64) { _ = state.stopExpiring(now: now) }
    func arm(_ task: CoordinatorState.TimedTask, now: Int64) -> Int64? { state.arm(task, now: now) }
    func takes(_ task: CoordinatorState.TimedTask, now: Int64) -> Bool { state.takes(task, now: now) }
    func request(_ task: CoordinatorState.TimedTask) { state.request(task) }
}
