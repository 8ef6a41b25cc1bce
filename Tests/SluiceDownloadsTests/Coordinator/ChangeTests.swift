import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Changes to the queue` {
    private typealias Report = DownloadCoordinator.ChangeReport

    private func coordinator(_ store: any QueueStore, _ time: VirtualTime = VirtualTime()) -> DownloadCoordinator {
        ListDownloader(transport: ScriptedTransport([:])).coordinator(store: store, time: time)
    }

    /// A store in which a worker of another process holds the first job.
    private func heldByAnother(_ time: VirtualTime) async throws -> (InterceptedStore, ClaimedJob) {
        let store = InterceptedStore(isShared: true, store: MemoryQueueStore(time: time.queueTime))
        _ = try await store.enqueue([.named("held"), .named("waiting")], options: .init())
        let claim = JobClaim(worker: try await store.attach(), count: 1, limits: .none, lease: .seconds(60))
        return (store, try #require(try await store.takeTurn([], claiming: claim).claimed.first))
    }

    @Test func `each change reports how many jobs changed or continue, and which IDs are unknown`()
        async throws
    {
        let downloads = coordinator(MemoryQueueStore())
        let song = try await downloads.enqueue([.named("song", user: "ann"), .named("other", user: "ann")])
        try await downloads.enqueue([.named("song", user: "ben")])
        let ids = [JobID(rawValue: 78), song[1].id, JobID(rawValue: 77), song[1].id]
        let unknown = [JobID(rawValue: 77), JobID(rawValue: 78)]
        #expect(try await downloads.pause(.user("ann")) == Report(changedCount: 2, continuingCount: 1))
        let ofUser = try await downloads.resume(.user("ann", ids: ids + [song[0].id]))
        #expect(ofUser == Report(changedCount: 1, unknown: unknown))
        #expect(try await downloads.pause(.user("ben", ids: [song[1].id])) == Report(unknown: [song[1].id]))
        #expect(try await downloads.pause(.user("ann")) == Report(changedCount: 2, continuingCount: 1))
        #expect(try await downloads.resume(.ids(ids)) == Report(changedCount: 1, unknown: unknown))
        #expect(try await downloads.prioritize(.ids(ids), priority: 1) == Report(changedCount: 1, unknown: unknown))
        #expect(try await downloads.pause(.ids(ids)) == Report(changedCount: 1, unknown: unknown))
        #expect(try await downloads.cancel(.ids(ids)) == Report(changedCount: 1, unknown: unknown))
        #expect(try await downloads.retry(.ids(ids)) == Report(changedCount: 1, unknown: unknown))
        #expect(try await downloads.cancel(.all) == Report(changedCount: 2))
        #expect(try await downloads.remove(.ids(ids)) == Report(changedCount: 1, unknown: unknown))
        #expect(try await downloads.remove(.ids([song[1].id])) == Report(unknown: [song[1].id]))
    }

    @Test(arguments: [false, true])
    func `a change that doesn't wait lists stopping jobs, and waiting for them ends when they stop`(
        isCancelled: Bool
    ) async throws {
        let time = VirtualTime()
        let (store, held) = try await heldByAnother(time)
        let downloads = coordinator(store, time)
        let id = held.lease.job
        let report =
            isCancelled
            ? try await downloads.cancel(.all, waits: false) : try await downloads.pause(.all, waits: false)
        #expect(report == Report(changedCount: 2, stopping: [id]))
        #expect(try await downloads.downloads(.all).filter(\.isStopping).map(\.id) == [id])
        // It polls, because nothing announces the stop.
        let waiting = Task { try await downloads.waitUntilStopped(report.stopping) }
        try await time.sleeper(until: .milliseconds(100))
        let stop = JobSettlement(lease: held.lease, outcome: isCancelled ? .cancelled : .released)
        #expect(try await store.takeTurn([stop], claiming: nil).refused.isEmpty)
        time.advance(by: .milliseconds(100))
        try await waiting.value
        #expect(try await downloads.downloads(.ids([id])).map(\.state) == [isCancelled ? .cancelled : .paused])
    }

    @Test func `a download whose process has died is stopped when its lease has expired`() async throws {
        let time = VirtualTime()
        let (store, held) = try await heldByAnother(time)
        let downloads = coordinator(store, time)
        let report = try await withRunningClock(time, step: .seconds(1)) { try await downloads.cancel(.all) }
        #expect(report == Report(changedCount: 2))
        #expect(try await downloads.downloads(.ids([held.lease.job])).map(\.state) == [.cancelled])
    }

    @Test func `a download whose process has died and whose lease has expired is paused without waiting`()
        async throws
    {
        let time = VirtualTime()
        let (store, _) = try await heldByAnother(time)
        time.advance(by: .seconds(60))
        #expect(try await coordinator(store, time).pause(.all) == Report(changedCount: 2))
    }

    @Test func `cancelling a caller that waits for a stop leaves the download stopping`() async throws {
        let time = VirtualTime()
        let (store, held) = try await heldByAnother(time)
        let downloads = coordinator(store, time)
        let pausing = Task { try await downloads.pause(.all) }
        try await time.sleeper(until: .seconds(1))
        pausing.cancel()
        await #expect(throws: CancellationError.self) { try await pausing.value }
        #expect(try await downloads.downloads(.state(.running)).filter(\.isStopping).map(\.id) == [held.lease.job])
        try await downloads.waitUntilStopped([JobID(rawValue: 77)])
    }

    @Test func `a finished download runs again only if its file is gone`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(1000)) }) { list, origin, directory in
            let downloads = list.coordinator()
            let requests = try ["kept", "gone"].map { (name: String) in
                DownloadRequest(try URL(fetchable: origin.url("/\(name)")), to: directory, name: name)
            }
            let first = try await downloads.enqueue(requests)
            #expect(first.map(\.admission) == [.added, .added])
            try await downloads.run(until: .whenEmpty)
            try FileManager.default.removeItem(at: requests[1].target)
            let second = try await downloads.enqueue(requests)
            #expect(second.map(\.admission) == [.kept, .added])
            #expect(second[0].id == first[0].id && second[1].id != first[1].id)
            try await downloads.run(until: .whenEmpty)
            #expect(try names(in: directory) == ["gone", "kept"])
            #expect(origin.metrics.requests == 3)
        }
    }

    @Test func `only a coordinator with a directory notices that a relative request's file is gone`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let store = MemoryQueueStore()
            let request = try DownloadRequest(URL(string: "http://a.example/a")!, below: "music", name: "song")
            _ = try await store.enqueue([request], options: .init())
            let claim = JobClaim(worker: try await store.attach(), count: 1, limits: .none, lease: .seconds(60))
            let lease = try #require(try await store.takeTurn([], claiming: claim).claimed.first).lease
            _ = try await store.takeTurn([JobSettlement(lease: lease, outcome: .done(bytes: 1))], claiming: nil)
            let absent = try await coordinator(store).enqueue([request], keepsFinished: true)
            #expect(absent.map(\.admission) == [.kept])
            var list = ListDownloader(transport: ScriptedTransport([:]))
            list.configuration.directory = directory
            let again = try await list.coordinator(store: store).enqueue([request], keepsFinished: true)
            #expect(again.map(\.admission) == [.added])
        }
    }
}
