import Foundation
import Testing

@testable import SluiceDownloads

@Suite struct `Durations in milliseconds` {
    private static let longest = Int64.max / 4

    @Test(
        arguments: [
            (.zero, 0), (.milliseconds(3), 3), (.nanoseconds(1), 1), (.microseconds(1001), 2),
            (.microseconds(-1500), -1),
            (.seconds(Int64.max), longest), (Duration(attoseconds: .max), longest),
            (Duration(attoseconds: .min), -longest),
        ] as [(Duration, Int64)])
    func `a duration is rounded up and limited`(_ duration: Duration, _ expected: Int64) {
        #expect(duration.milliseconds == expected)
    }
}

@Suite struct `A queue in memory` {
    @Test func `measures delays with its own clock and shows wall-clock times`() async throws {
        let (time, timeOfDay) = (VirtualTime(), VirtualTime())
        let store = MemoryQueueStore(time: time.queueTime, timeOfDay: timeOfDay.queueTime)
        let worker = try await store.attach()
        let claim = JobClaim(worker: worker, count: 1, limits: .none, lease: .seconds(60))
        _ = try await store.enqueue([.named("a")], options: EnqueueOptions())
        let claimed = try await store.takeTurn([], claiming: claim).claimed[0]
        // The time of day is set forward by an hour.
        timeOfDay.advance(by: .seconds(3600))
        #expect(try await store.takeTurn([], claiming: claim).claimed.isEmpty, "no lease has ended")
        let retry = JobSettlement(
            lease: claimed.lease, outcome: .retry(after: .seconds(5), message: "busy"), host: .busy(for: .seconds(5)))
        #expect(try await store.takeTurn([retry], claiming: claim).nextDue == .seconds(5))
        let due = Date(queueTime: timeOfDay.milliseconds + 5000)
        let snapshot = try await store.snapshot(listing: 1)
        #expect(snapshot.waiting[0].notBefore == due && snapshot.hosts[0].notBefore == due)
        #expect(
            try await store.events(after: nil, atMost: 9).last?.time == Date(queueTime: timeOfDay.milliseconds))
        time.advance(by: .seconds(5))
        #expect(try await store.takeTurn([], claiming: claim).claimed.count == 1)
    }

    @Test func `has a clock that starts at the time of day and ignores later clock changes`() {
        let clock = VirtualTime()
        let time = QueueTime.steady(from: 7000, clock)
        #expect(time.now() == 7000)
        clock.advance(by: .milliseconds(250))
        #expect(time.now() == 7250)
    }

    /// A claim finds the next jobs without looking at every host. The model tests check which jobs it finds.
    @Test func `hands out jobs by priority across many hosts, skipping full ones`() async throws {
        let store = MemoryQueueStore()
        let worker = try await store.attach()
        func claim(_ count: Int) async throws -> [String] {
            let claim = JobClaim(
                worker: worker, count: count, limits: .init(total: 100, perHost: 1), lease: .seconds(60))
            return try await store.takeTurn([], claiming: claim).claimed.map(\.request.name)
        }
        _ = try await store.enqueue(
            (0..<300).map { .named("\($0)", host: "h\($0 % 100).example", priority: $0 >= 200 ? 1 : 0) },
            options: EnqueueOptions())
        #expect(try await claim(3) == ["200", "201", "202"])
        #expect(try await store.cancel(.ids([JobID(rawValue: 204)])).stopped.count == 1)
        _ = try await store.prioritize(.ids([JobID(rawValue: 100)]), priority: 2)
        // The line of the cancelled job's host continues with its next job.
        #expect(try await claim(3) == ["99", "204", "205"])
        #expect(try await claim(100).count == 94)
        #expect(try await claim(100) == [])
    }
}
