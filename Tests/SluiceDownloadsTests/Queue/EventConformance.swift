import Foundation
import SluiceDownloads
import Testing

@Suite struct `Events of a store` {
    private static func texts(_ events: [QueueEvent]) -> [String] {
        events.map { event in
            let parts: [String?] = [
                "\(event.id)", "\(event.kind)", event.user, event.batch, event.bytes.map { "\($0)" }, event.message,
            ]
            return parts.compactMap(\.self).joined(separator: " ")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `every change of a job is an event, in the order of the changes`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let store = fixture.store
            #expect(try await store.snapshot(listing: 0).cursor.rawValue == 0)
            let id = try await fixture.add("song", user: "ann", batch: "list")
            try await fixture.add("song", user: "ben")
            try await fixture.settle(try await fixture.claim()[0], .retry(after: .zero, message: "slow"))
            _ = try await store.cancel(.user("ann"))
            _ = try await store.pause(.all)
            _ = try await store.resume(.all)
            try await fixture.settle(try await fixture.claim()[0], .failed(message: "gone"))
            _ = try await store.retry(.all)
            try await fixture.settle(try await fixture.claim()[0], .released)
            try await fixture.settle(try await fixture.claim()[0], .done(bytes: 7))
            _ = try await store.remove(.all)
            let events = try await store.events(after: nil, atMost: 100)
            #expect(
                Self.texts(events) == [
                    "1 added ann list", "2 joined ben", "3 started ann", "4 retrying slow", "5 left ann list",
                    "6 paused",
                    "7 resumed", "8 started ben", "9 failed gone", "10 retried", "11 started ben", "12 released",
                    "13 started ben", "14 done 7", "15 removed",
                ])
            #expect(
                events.allSatisfy {
                    $0.job == id && $0.time.timeIntervalSince1970 == Double(fixture.time.milliseconds) / 1000
                })
            #expect(try await store.snapshot(listing: 0).cursor.rawValue == 15)
            #expect(try await store.events(after: 3, atMost: 2) == Array(events[3..<5]))
            #expect(try await store.events(after: 15, atMost: 2) == [])
            #expect(try await store.events(after: 99, atMost: 2) == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `after many events the oldest are gone, and a cursor before them is an error`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let store = fixture.store
            for start in stride(from: 0, to: 110_000, by: 10_000) {
                let requests = (start..<start + 10_000).map { DownloadRequest.named("\($0)") }
                _ = try await store.enqueue(requests, options: .init())
            }
            try await store.prune(olderThan: .seconds(1), keeping: 10)
            let kept = try await store.events(after: nil, atMost: 200_000)
            #expect(kept.count >= 10_000 && kept.last?.id.rawValue == 110_000)
            let first = try #require(kept.first?.id.rawValue)
            #expect(first > 1)
            #expect(try await store.events(after: first - 1, atMost: 1) == [kept[0]])
            let error = await #expect(throws: QueueStoreError.self) {
                try await store.events(after: first - 2, atMost: 1)
            }
            #expect(error?.code == .eventsRemoved && error?.remedy != nil)
        }
    }
}
