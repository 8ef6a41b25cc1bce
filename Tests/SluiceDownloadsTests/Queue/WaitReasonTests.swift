import Foundation
import SluiceConcurrency
import SluiceDownloads
import SluiceHTTP
import TestSupport
import Testing

@Suite struct `Why a download waits` {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    private static func job(
        _ state: QueuedDownload.State = .waiting, users: [String?] = ["ann"], host: String = "a.example"
    ) -> ListedDownload {
        let request = DownloadRequest(
            URL(string: "https://\(host)/song.mp3")!, to: URL(filePath: "/music/"), user: users.first.flatMap(\.self))
        return ListedDownload(
            QueuedDownload(
                id: .init(rawValue: 1), request: request,
                members: users.map { QueuedDownload.Member(user: $0, batch: nil, priority: 0, isPaused: false) },
                state: state), host: host)
    }

    private static func worker(
        _ machine: String = "one", total: Int = 8, perHost: Int? = nil, perUser: Int? = nil, resolves: Bool = false
    ) -> SeenWorker {
        SeenWorker(
            name: machine,
            presence: WorkerPresence(
                machine: machine, process: 1, began: now,
                limits: .init(total: total, perHost: perHost, perUser: perUser), resolves: resolves), seen: now)
    }

    private static func running(total: Int = 0, host: Int = 0, user: Int = 0) -> RunningCounts {
        RunningCounts(total: total, ofHost: ["a.example": host], ofUser: ["ann": user])
    }

    private static func code(
        _ job: ListedDownload = job(), workers: [SeenWorker] = [worker()], running: RunningCounts = running(),
        hosts: [QueueSnapshot.Host] = []
    ) -> WaitReason.Code? {
        QueueOutlook(now: now, running: running, hosts: hosts, workers: workers).reason(for: job)?.code
    }

    @Test(arguments: QueuedDownload.State.allCases)
    func `only waiting and paused downloads have a reason`(state: QueuedDownload.State) {
        let expected: [QueuedDownload.State: WaitReason.Code] = [.waiting: .turn, .paused: .paused]
        #expect(Self.code(Self.job(state)) == expected[state])
    }

    @Test func `a delay comes first, and ends`() {
        var job = Self.job()
        job.download.notBefore = Self.now.addingTimeInterval(5)
        job.download.error = TransferError(.stalled, url: job.download.request.url)
        let reason = QueueOutlook(now: Self.now, running: .init(), hosts: [], workers: []).reason(for: job)
        #expect(reason?.code == .delay)
        #expect(reason?.until == job.download.notBefore)
        #expect(reason?.message.contains("Its last attempt failed:") == true)
        job.download.notBefore = Self.now
        #expect(Self.code(job) == .turn)
    }

    @Test func `a download needs a worker that can run it`() {
        #expect(Self.code(workers: []) == .noWorker)
        var job = Self.job()
        job.machine = "two"
        #expect(Self.code(job) == .otherMachine)
        #expect(Self.code(job, workers: [Self.worker(), Self.worker("two")]) == .turn)
        job.machine = nil
        job.isUnresolved = true
        #expect(Self.code(job) == .noResolver)
        #expect(Self.code(job, workers: [Self.worker(), Self.worker("two", resolves: true)]) == .turn)
        // The only worker with a resolver is on another machine.
        job.machine = "one"
        #expect(Self.code(job, workers: [Self.worker(), Self.worker("two", resolves: true)]) == .noResolver)
    }

    @Test func `a host's pause counts until it is over, and a circuit until a download gets through`() {
        func host(_ seconds: TimeInterval, isUnreachable: Bool = false, name: String = "a.example") -> [QueueSnapshot
            .Host]
        {
            [
                QueueSnapshot.Host(
                    name: name, notBefore: Self.now.addingTimeInterval(seconds), isUnreachable: isUnreachable)
            ]
        }
        #expect(Self.code(hosts: host(1)) == .hostBackoff)
        #expect(Self.code(hosts: host(0)) == .turn)
        #expect(Self.code(hosts: host(1, name: "b.example")) == .turn)
        #expect(Self.code(hosts: host(1, isUnreachable: true)) == .circuitBreaker)
        #expect(Self.code(hosts: host(-1, isUnreachable: true)) == .circuitBreaker)
    }

    @Test func `a limit counts only if it stops every worker`() {
        #expect(Self.code(workers: [Self.worker(total: 2)], running: Self.running(total: 2)) == .totalLimit)
        #expect(Self.code(workers: [Self.worker(total: 2)], running: Self.running(total: 1)) == .turn)
        let unequal = [Self.worker(total: 2, perHost: 1), Self.worker("two", total: 4, perHost: 2)]
        #expect(Self.code(workers: unequal, running: Self.running(total: 3)) == .turn)
        #expect(Self.code(workers: unequal, running: Self.running(total: 4)) == .totalLimit)
        #expect(Self.code(workers: unequal, running: Self.running(total: 3, host: 1)) == .turn)
        #expect(Self.code(workers: unequal, running: Self.running(total: 3, host: 2)) == .hostLimit)
        #expect(Self.code(workers: unequal + [Self.worker("three")], running: Self.running(total: 3, host: 2)) == .turn)
        let strict = [Self.worker(perUser: 1)]
        #expect(Self.code(workers: strict, running: Self.running(user: 1)) == .userLimit)
        #expect(Self.code(workers: strict, running: Self.running(user: 0)) == .turn)
        // A request without a user isn't counted, and another user may have room.
        #expect(Self.code(Self.job(users: [nil]), workers: strict, running: Self.running(user: 1)) == .turn)
        #expect(Self.code(Self.job(users: ["ann", "ben"]), workers: strict, running: Self.running(user: 1)) == .turn)
        #expect(
            Self.code(Self.job(users: ["ann", "ann"]), workers: strict, running: Self.running(user: 1)) == .userLimit)
    }

    @Test func `a reason says what to do, and survives JSON`() throws {
        let reason = try #require(
            QueueOutlook(now: Self.now, running: Self.running(total: 8), hosts: [], workers: [Self.worker()])
                .reason(for: Self.job()))
        #expect(reason.message == "8 of at most 8 downloads are running.")
        #expect(reason.remedy == "Wait, or start the workers with a higher --jobs.")
        #expect(try JSONDecoder().decode(WaitReason.self, from: JSONEncoder().encode(reason)) == reason)
    }
}

@Suite(.timeLimit(.minutes(10))) struct `A worker's reports` {
    @Test func `a worker tells who it is when it begins, and is forgotten when it ends`() async throws {
        let store = InterceptedStore()
        let downloads = DownloadCoordinator(
            store: DownloadStore(store),
            transport: ScriptedTransport([:]), limits: .init(total: 3, perHost: 2, perUser: 1))
        let run = Task { try await downloads.run(until: .whenCancelled) }
        let reported = try await store.reports.dequeue()
        let workers = try await downloads.inspect().workers
        #expect(workers.map(\.presence) == [reported])
        #expect(workers.map(\.presence.process) == [Int64(ProcessInfo.processInfo.processIdentifier)])
        #expect(workers.map(\.presence.limits) == [.init(total: 3, perHost: 2, perUser: 1)])
        #expect(workers.map(\.presence.resolves) == [false])
        run.cancel()
        try await run.value
        #expect(try await downloads.inspect().workers.isEmpty)
        try await downloads.close()
    }
}
