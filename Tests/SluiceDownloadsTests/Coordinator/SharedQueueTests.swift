import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A list on a shared queue` {
    private func requests(_ count: Int, _ origin: LoopbackOrigin, _ directory: URL) throws -> [DownloadRequest] {
        try (0..<count).map {
            DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory, name: "\($0)")
        }
    }

    @Test func `a job that another process has done and forgotten is done if its file exists, and failed if not`()
        async throws
    {
        try await downloading(from: { _ in OriginResponse(body: [1]) }) { list, origin, directory in
            try Data(bytes(7)).write(to: directory.appending(path: "0"))
            let downloads = list.coordinator(store: storeOfOthers())
            let summary = try await downloads.download(try requests(2, origin, directory))
            #expect(summary.doneCount == 1 && summary.bytes == 7 && summary.unfinishedCount == 0)
            guard summary.failures[1]?.code == .failedElsewhere else { return #expect(Bool(false)) }
            #expect(origin.metrics.requests == 0)
        }
    }

    @Test func `a list of which some failed is remembered, so that the next run only does those`() async throws {
        try await downloading { request in
            request.target == "/1" && request.attempt == 1 ? OriginResponse(status: 404) : OriginResponse(body: [1])
        } _: { list, origin, directory in
            let time = VirtualTime()
            let store = MemoryQueueStore(time: time.queueTime)
            let all = try requests(3, origin, directory)
            let first = try await list.coordinator(store: store, time: time).download(all)
            #expect(first.doneCount == 2 && Set(first.failures.keys) == [1])
            let second = try await list.coordinator(store: store, time: time).download(all)
            #expect(second.doneCount == 1 && second.skippedCount == 2 && second.isComplete)
            #expect(try await store.snapshot(listing: 0).counts == [:], "a list that is done is forgotten")
        }
    }

    @Test func `a partial file that a stopped worker still holds is waited for`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(600_000)) }, retries: 1) {
            list, origin, directory in
            let time = VirtualTime()
            let store = try await SQLiteQueueStore.open(
                at: directory.appending(path: "queue.db"), time: time.queueTime)
            let all = try requests(1, origin, directory.appending(path: "files", directoryHint: .isDirectory))
            try await FileIO.shared.makeDirectory(at: all[0].directory)
            let held = Gate()
            let holder = Task {
                let stream = try await all[0].partialTarget.openForWriting(existing: .fail, locked: true)
                await held.pass()
                try await stream.discard()
            }
            await held.arrivals(1)
            let summary = try await list.coordinator(store: store, time: time).download(all) { _, event in
                guard case .retrying(_, _, let delay) = event else { return }
                #expect(delay >= .seconds(15), "not before the holder's lease would be over")
                Task {
                    await held.open()
                    _ = try await holder.value
                    time.advance(by: delay)
                }
            }
            #expect(summary.isComplete && summary.retryCount == 1)
            #expect(try names(in: all[0].directory) == ["0"])
            #expect(try Data(contentsOf: all[0].target).elementsEqual(bytes(600_000)))
            try await store.close()
        }
    }

    @Test func `an unfinished download of the queue keeps its file from another URL, and is named`() async throws {
        try await downloading(from: { _ in OriginResponse(body: [1]) }) { list, origin, directory in
            let time = VirtualTime()
            let store = MemoryQueueStore(time: time.queueTime)
            let both = try ["/old", "/new"].map {
                DownloadRequest(try URL(fetchable: origin.url($0)), to: directory, name: "song")
            }
            _ = try await store.enqueue([both[0]], options: EnqueueOptions(batch: "before"))
            let summary = try await list.coordinator(store: store, time: time).download([both[1]])
            let error = try #require(summary.failures[0])
            #expect(error.code == .alreadyQueued)
            #expect("\(error)".contains("/old") && "\(error)".contains("another queue"))
        }
    }
}

/// A store in which another worker does and forgets all enqueued jobs before a worker here gets one.
private func storeOfOthers() -> InterceptedStore {
    InterceptedStore(isShared: true) { store, settlements, claim in
        guard let claim else { return try await store.exchange(settlements, claiming: nil) }
        let others = JobClaim(
            worker: try await store.attach(), count: claim.count, limits: claim.limits, lease: claim.lease)
        let jobs = try await store.exchange([], claiming: others).claimed
        let ended = jobs.map { JobSettlement(lease: $0.lease, outcome: .done(bytes: 1)) }
        _ = try await store.exchange(ended, claiming: nil)
        try await store.prune(olderThan: .zero, keeping: 0)
        return try await store.exchange(settlements, claiming: claim)
    }
}
