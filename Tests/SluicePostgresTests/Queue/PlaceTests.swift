#if PostgreSQL
import Foundation
import SluiceDownloads
import Testing

@testable import SluicePostgres

@Suite(.needsPostgres, .timeLimit(.minutes(10))) struct `Jobs that belong to a machine` {
    private static let limits = DownloadCoordinator.Limits(total: 100, perHost: nil)

    /// Claims jobs on a machine and returns their names.
    private static func claim(
        _ fixture: QueueFixture, on machine: String?, batch: String? = nil, resolves: Bool = false, count: Int = 9
    ) async throws -> [String] {
        let worker = try await fixture.store.attach()
        let claim = JobClaim(
            worker: worker, count: count, limits: limits, lease: .seconds(3600), batch: batch, resolves: resolves,
            place: machine)
        return try await fixture.store.exchange([], claiming: claim).claimed.map(\.request.name)
    }

    @Test func `are claimed there, in the order of all jobs`() async throws {
        try await QueueFixture.with { fixture in
            for (number, machine) in ["one", nil, "two", "one", nil].enumerated() {
                _ = try await fixture.store.enqueue([.numbered(number)], options: .init(place: machine))
            }
            #expect(try await Self.claim(fixture, on: nil, count: 1) == ["1"])
            #expect(try await Self.claim(fixture, on: "two") == ["2", "4"])
            #expect(try await Self.claim(fixture, on: "three") == [])
            #expect(try await Self.claim(fixture, on: "one") == ["0", "3"])
        }
    }

    @Test func `have absolute targets: the others are claimed anywhere, and are the same on all machines`() async throws
    {
        try await QueueFixture.with { fixture in
            let url = URL(string: "https://h0.example/song")!
            let requests = [
                DownloadRequest(url, to: URL(filePath: "/music"), name: "absolute"),
                DownloadRequest(url, below: "music", name: "relative"),
            ]
            let first = try await fixture.store.enqueue(requests, options: .init(place: "one"))
            let second = try await fixture.store.enqueue(requests, options: .init(place: "two"))
            #expect(second.map(\.outcome) == [.added, .joined] && second[1].id == first[1].id)
            #expect(try await Self.claim(fixture, on: "three") == ["relative"])
            #expect(try await Self.claim(fixture, on: "two") == ["absolute"])
        }
    }

    @Test func `are claimed there for a batch and with a resolver`() async throws {
        try await QueueFixture.with { fixture in
            let directory = URL(string: "file:///music/")!
            for machine in ["one", "two", nil] {
                let requests = [
                    DownloadRequest.numbered(machine?.count ?? 1),
                    DownloadRequest(resolving: "song", host: "h0.example", to: directory, name: machine ?? "any"),
                ]
                _ = try await fixture.store.enqueue(requests, options: .init(batch: "list", place: machine))
            }
            #expect(try await Self.claim(fixture, on: "one", batch: "list") == ["3", "1"])
            #expect(try await Self.claim(fixture, on: "two", resolves: true) == ["3", "two", "any"])
            #expect(try await Self.claim(fixture, on: "one", batch: "list", resolves: true) == ["one"])
        }
    }

    @Test func `are other jobs than those of the same file on another machine`() async throws {
        try await QueueFixture.with { fixture in
            let store = fixture.store
            let song = DownloadRequest.numbered(1)
            var other = song
            other.url = URL(string: "https://other.example/1")!
            let first = try await store.enqueue([song], options: .init(place: "one"))[0]
            let second = try await store.enqueue([song], options: .init(place: "two"))[0]
            #expect(second.outcome == .added && second.id != first.id)
            #expect(
                try await store.enqueue([song], options: .init(place: "one"))
                    == [EnqueuedJob(id: first.id, outcome: .joined)])
            #expect(
                try await store.enqueue([other], options: .init(place: "one"))
                    == [EnqueuedJob(id: first.id, outcome: .conflict(with: song.url))])
            // On a third machine the file has no job yet.
            let third = try await store.enqueue([other], options: .init(place: "three"))[0]
            #expect(third.outcome == .added)
            // Also when they are tried again.
            #expect(try await store.cancel(.all).stopped.count == 3)
            #expect(try await store.retry(.all) == [first.id, second.id, third.id])
        }
    }

    @Test func `are copied jobs too`() async throws {
        try await QueueFixture.with { old in
            try await QueueFixture.with { new in
                _ = try await old.store.enqueue([.numbered(1)], options: .init())
                let downloads = try await old.store.unfinished(after: JobID(rawValue: .min), atMost: 9)
                let jobs = try await new.store.add(downloads, place: "one")
                #expect(
                    try await new.store.add(downloads, place: "one") == [EnqueuedJob(id: jobs[0].id, outcome: .joined)])
                #expect(try await new.store.add(downloads, place: "two").map(\.outcome) == [.added])
                #expect(try await Self.claim(new, on: "one") == ["1"])
                #expect(try await Self.claim(new, on: "one") == [])
            }
        }
    }
}
#endif
