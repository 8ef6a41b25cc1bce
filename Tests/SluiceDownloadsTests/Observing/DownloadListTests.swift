import Foundation
import HTTPTypes
import Observation
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) @MainActor struct `A download list` {
    private let directory = URL(filePath: "/songs", directoryHint: .isDirectory)

    private func job(_ id: Int64, _ state: QueuedDownload.State) -> QueuedDownload {
        let request = DownloadRequest(URL(string: "https://songs.example/\(id).mp3")!, to: directory)
        return QueuedDownload(id: .init(rawValue: id), request: request, state: state)
    }

    private func running(_ id: Int64, _ received: Int64) -> QueueSnapshot.Running {
        .init(download: job(id, .running), receivedBytes: received, totalBytes: 1000)
    }

    private static let busy: QueueStoreError = .init(
        .busy, subject: "queue.db", message: "Another process holds the database.")

    /// Waits until a property that `read` reads has changed.
    private func change(of read: () -> Void) async {
        let changes = AsyncStream<Void>.makeStream()
        withObservationTracking(read) { changes.continuation.yield() }
        for await _ in changes.stream { break }
    }

    @Test func `shows the downloads, the counts and the totals of each snapshot`() async {
        let source = SnapshotSource()
        let list = source.list()
        let failed = job(3, .failed)
        source.send(
            QueueSnapshot(
                counts: [.waiting: 7, .running: 1, .failed: 1, .done: 5], running: [running(1, 0)],
                waiting: [job(2, .waiting)], ended: [job(4, .done), failed]))
        await change { _ = list.counts }

        #expect(list.running.map(\.receivedBytes) == [0] && list.waiting.map(\.id.rawValue) == [2])
        #expect(list.ended.count == 2 && list.failed == [failed])
        #expect(list.count(in: .waiting) == 7 && list.count(in: .cancelled) == 0 && list.openCount == 8)
        #expect(list.totals == .init(receivedBytes: 0, totalBytes: 1000))

        source.send(QueueSnapshot(counts: [.running: 1], running: [running(1, 500)]), after: .seconds(1))
        await change { _ = list.totals }
        #expect(list.totals.bytesPerSecond == 500 && list.totals.timeLeft == .seconds(1))
        #expect(list.waiting.isEmpty && list.failed.isEmpty)
    }

    @Test func `shows paused downloads and the hosts in backoff`() async {
        let source = SnapshotSource()
        let list = source.list()
        let host = QueueSnapshot.Host(
            name: "songs.example", notBefore: Date(timeIntervalSince1970: 60), isUnreachable: true)
        source.send(
            QueueSnapshot(
                counts: [.waiting: 2, .running: 1, .paused: 4], waiting: [job(2, .waiting)], paused: [job(3, .paused)],
                hosts: [host]))
        await change { _ = list.counts }

        #expect(list.paused == [job(3, .paused)] && list.count(in: .paused) == 4)
        #expect(list.hosts == [host])
        #expect(list.openCount == 3)

        source.send(QueueSnapshot(counts: [.waiting: 3], waiting: [job(2, .waiting), job(3, .waiting)]))
        await change { _ = list.counts }
        #expect(list.paused.isEmpty && list.hosts.isEmpty && list.openCount == 3)
    }

    @Test func `an observer of one property isn't notified of changes to others`() async {
        let source = SnapshotSource()
        let list = source.list()
        source.send(
            QueueSnapshot(counts: [.waiting: 1, .running: 1], running: [running(1, 0)], waiting: [job(2, .waiting)]))
        await change { _ = list.counts }
        let told = Recorder<String>()
        withObservationTracking {
            _ = (list.waiting, list.paused, list.hosts, list.counts, list.ended, list.failed, list.failure)
        } onChange: {
            told.note("others")
        }

        source.send(
            QueueSnapshot(counts: [.waiting: 1, .running: 1], running: [running(1, 9)], waiting: [job(2, .waiting)]))
        await change { _ = list.running }
        #expect(told.values == [])

        source.send(QueueSnapshot(counts: [.running: 2], running: [running(1, 9), running(2, 0)]))
        await change { _ = list.running }
        #expect(told.values == ["others"])
    }

    @Test func `an equal snapshot changes nothing`() async {
        let source = SnapshotSource()
        let list = source.list()
        let snapshot = QueueSnapshot(
            counts: [.waiting: 1, .paused: 1], waiting: [job(2, .waiting)], paused: [job(3, .paused)],
            hosts: [.init(name: "songs.example", notBefore: .distantFuture)])
        source.send(snapshot)
        await change { _ = list.counts }
        let told = Recorder<String>()
        withObservationTracking {
            _ = (
                list.running, list.waiting, list.paused, list.hosts, list.counts, list.ended, list.failed, list.totals
            )
        } onChange: {
            told.note("a change")
        }

        source.send(snapshot)
        source.fail(Self.busy)
        await change { _ = list.failure }

        #expect(told.values == [])
    }

    @Test func `an error is shown, the downloads stay, and the next snapshot clears it`() async {
        let source = SnapshotSource()
        let list = source.list()
        source.send(QueueSnapshot(counts: [.waiting: 1], waiting: [job(2, .waiting)]))
        await change { _ = list.counts }

        source.fail(Self.busy)
        await change { _ = list.failure }
        #expect(list.failure as? QueueStoreError == Self.busy)
        #expect(list.waiting.count == 1)

        source.send(QueueSnapshot(counts: [.waiting: 2]))
        source.tick(after: .seconds(1))
        await change { _ = list.failure }
        #expect(list.failure == nil && list.count(in: .waiting) == 2)
        #expect(source.sleeps.values == [.seconds(1)])
    }

    @Test func `an unknown error becomes a queue error, and a closed queue isn't read again`() async {
        struct Unplugged: Error {}
        let source = SnapshotSource()
        var results = RepeatedSnapshots(snapshots: source, sleep: source.timing.sleep).makeAsyncIterator()

        source.fail(Unplugged())
        let other = await results.next()
        guard case .failure(let error) = other else { return #expect(Bool(false), "\(String(describing: other))") }
        #expect(error.code == .other && error.message.contains("Unplugged"))

        let closed = QueueStoreError(.closed, subject: "queue.db", message: "The queue has been closed.")
        source.fail(closed)
        source.tick(after: .seconds(1))
        #expect(await results.next() == .failure(closed))
        #expect(await results.next() == nil)
        #expect(source.sleeps.values == [.seconds(1)])
    }

    @Test func `releasing the list ends the iteration, even while downloads run`() async {
        let source = SnapshotSource()
        var list: DownloadList? = source.list()
        source.send(QueueSnapshot(counts: [.running: 1], running: [running(1, 0)]))
        await change { _ = list?.counts }
        weak let released = list

        list = nil

        await source.released.pass()
        #expect(released == nil)
    }

    @Test func `the rate falls every second while downloads run without receiving bytes`() async {
        let source = SnapshotSource()
        let list = source.list()
        source.send(QueueSnapshot(counts: [.running: 1], running: [running(1, 0)]))
        await change { _ = list.counts }
        source.send(QueueSnapshot(counts: [.running: 1], running: [running(1, 600)]), after: .seconds(1))
        await change { _ = list.totals }
        #expect(list.totals.bytesPerSecond == 600)

        source.tick(after: .seconds(1))
        await change { _ = list.totals }
        #expect((1..<600).contains(list.totals.bytesPerSecond ?? 0))

        source.send(QueueSnapshot(counts: [.done: 1], ended: [job(1, .done)]))
        await change { _ = list.totals }
        #expect(list.totals == .init())
    }

    @Test func `a list for previews shows its snapshot`() {
        let list = DownloadList(showing: QueueSnapshot(counts: [.running: 1], running: [running(1, 250)]))
        #expect(list.running.map(\.fractionCompleted) == [0.25] && list.count(in: .running) == 1)
    }

    @Test func `follows the queue of a coordinator until its downloads have ended`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let urls = (0..<3).map { URL(string: "https://songs.example/\($0).mp3")! }
            let answer = ScriptedTransport.Answer.response(headerFields: [.contentLength: "4"], body: [Data(count: 4)])
            let downloads = DownloadCoordinator(
                transport: ScriptedTransport([urls[0]: [answer], urls[1]: [answer]]), limits: .init(total: 1))
            let list = DownloadList(downloads, listing: 2)
            try await downloads.enqueue(urls.map { DownloadRequest($0, to: directory) })
            try await downloads.run(until: .whenEmpty)

            while list.openCount > 0 || list.ended.isEmpty { await change { _ = list.counts } }

            #expect(list.count(in: .done) == 2 && list.count(in: .failed) == 1)
            #expect(list.ended.count == 2 && list.failed.map(\.request.url) == [urls[2]])
            try await downloads.close()
        }
    }

    @Test func `shows the users of a download, and the downloads that a user has paused`() async throws {
        let url = URL(string: "https://songs.example/1.mp3")!
        let downloads = DownloadCoordinator(transport: ScriptedTransport([:]))
        let list = DownloadList(downloads)
        for user in ["ann", "ben"] { try await downloads.enqueue([DownloadRequest(url, to: directory, user: user)]) }

        try await downloads.pause(.user("ann"))
        while list.waiting.first?.members.map(\.isPaused) != [true, false] { await change { _ = list.waiting } }
        #expect(list.waiting.first?.members.map(\.user) == ["ann", "ben"])

        try await downloads.cancel(.user("ben"))
        while list.paused.isEmpty { await change { _ = list.paused } }
        #expect(list.paused.first?.members.map(\.user) == ["ann"] && list.openCount == 0)

        try await downloads.resume(.all)
        while list.waiting.isEmpty { await change { _ = list.waiting } }
        #expect(list.paused.isEmpty && list.openCount == 1)
        try await downloads.close()
    }

    @Test func `shows a host whose server asks for a delay`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let url = URL(string: "https://songs.example/1.mp3")!
            let busy = ScriptedTransport.Answer.response(
                status: .serviceUnavailable, headerFields: [.retryAfter: "60"])
            let downloads = DownloadCoordinator(transport: ScriptedTransport([url: [busy]]))
            let list = DownloadList(downloads)
            try await downloads.enqueue([DownloadRequest(url, to: directory)])

            try await downloads.withRun { @MainActor _ in
                while list.hosts.isEmpty { await change { _ = list.hosts } }
            }
            #expect(list.hosts.map(\.name) == ["songs.example"] && list.hosts.first?.isUnreachable == false)
            try await downloads.close()
        }
    }

    @Test func `shows the error of a store that can't be read`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let file = directory.appending(path: "queue.db")
            try await Data("This is no database, and longer than its header would be.".utf8).asyncWrite(to: file)
            let list = DownloadList(DownloadCoordinator(store: .sqlite(at: file)))
            await change { _ = list.failure }
            #expect((list.failure as? QueueStoreError)?.code == .unusable)
        }
    }
}

/// The snapshots and errors that a test sends to a list, and the list's clock. Each of the list's sleeps lasts until ``tick(after:)``.
final class SnapshotSource: AsyncSequence, Sendable {
    typealias Stream = AsyncThrowingStream<QueueSnapshot, any Error>

    /// Opens when the list stops reading before the end.
    let released = Gate()
    /// The sleeps of the list.
    let sleeps = Recorder<Duration>()
    private let start = ContinuousClock.now
    private let elapsed = Guarded(Duration.zero)
    /// The next iteration takes the first stream, which ends with an error unless it is the last one.
    private let streams = Guarded<[Stream]>([])
    private let current: Guarded<Stream.Continuation>
    private let ticks = AsyncStream<Void>.makeStream()

    init() {
        let (stream, continuation) = Stream.makeStream()
        current = Guarded(continuation)
        begin(stream, continuation)
    }

    var timing: ListTiming {
        ListTiming(
            now: { [start, elapsed] in start + elapsed.withLock { $0 } },
            sleep: { [sleeps, ticks] duration in
                sleeps.note(duration)
                for await _ in ticks.stream { break }
            })
    }

    @MainActor func list() -> DownloadList { DownloadList(self, timing: timing) }

    func makeAsyncIterator() -> Stream.AsyncIterator {
        streams.withLock { $0.removeFirst() }.makeAsyncIterator()
    }

    func send(_ snapshot: QueueSnapshot, after duration: Duration = .zero) {
        elapsed.withLock { $0 += duration }
        current.withLock { _ = $0.yield(snapshot) }
    }

    func fail(_ error: any Error) {
        let (stream, continuation) = Stream.makeStream()
        begin(stream, continuation)
        current.withLock { current in
            current.finish(throwing: error)
            current = continuation
        }
    }

    func tick(after duration: Duration) {
        elapsed.withLock { $0 += duration }
        ticks.continuation.yield()
    }

    private func begin(_ stream: Stream, _ continuation: Stream.Continuation) {
        continuation.onTermination = { [released] end in
            if case .cancelled = end { Task { await released.open() } }
        }
        streams.withLock { $0.append(stream) }
    }
}
