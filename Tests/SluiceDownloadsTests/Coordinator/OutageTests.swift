import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A store that can't be reached` {
    private static let outage = QueueStoreError(.unavailable, subject: "queue", message: "The server is gone.")

    /// A coordinator with one job and a virtual clock.
    private struct Scene: Sendable {
        let coordinator: DownloadCoordinator
        let time: VirtualTime
        let request: DownloadRequest

        init(
            _ list: ListDownloader, _ origin: LoopbackOrigin, _ directory: URL, store: InterceptedStore,
            lease: Duration = .seconds(15)
        ) throws {
            var list = list
            list.configuration.lease = lease
            time = VirtualTime()
            coordinator = list.coordinator(store: store, time: time)
            request = DownloadRequest(try URL(fetchable: origin.url("/song")), to: directory, name: "song")
        }
    }

    @Test func `outcomes are recorded after an outage that causes one warning`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(1000)) }) { list, origin, directory in
            let failures = Monitor(0)
            let store = InterceptedStore(isShared: true) { store, settlements, claim in
                let fails = failures.withState { count in
                    if !settlements.isEmpty { count += 1 }
                    return !settlements.isEmpty && count <= 3
                }
                if fails { throw Self.outage }
                #expect(!settlements.contains { !$0.mayBeRecorded }, "the store is told that it may know the outcome")
                return try await store.takeTurn(settlements, claiming: claim)
            }
            let scene = try Scene(list, origin, directory, store: store, lease: .seconds(1_000_000_000))
            try await scene.coordinator.enqueue([scene.request])
            let (events, warnings) = (Recorder<DownloadEvent>(), Recorder<QueueStoreError.Code>())
            try await withThrowingTaskGroup { group in
                group.addTask {
                    while true {
                        try await scene.time.sleeper(until: .seconds(5))
                        scene.time.advance(by: .seconds(5))
                    }
                }
                try await scene.coordinator.run(until: .whenEmpty) {
                    events.note($0)
                } onWarning: {
                    warnings.note($0.code)
                }
                group.cancelAll()
            }
            #expect(failures.state == 4)
            #expect(warnings.values == [.unavailable])
            #expect(events.values.last?.isEnd == true && events.values.filter(\.isEnd).count == 1)
            #expect(origin.metrics.requests == 1)
            #expect(try await store.store.snapshot(listing: 0).counts == [.done: 1])
        }
    }

    @Test func `a transfer is stopped before its lease ends, and continues after the outage`() async throws {
        let gate = Gate()
        try await downloading { request in
            if request.attempt == 1 { await gate.pass() }
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let isGone = Monitor(true)
            let store = InterceptedStore(isShared: true) { store, settlements, claim in
                if isGone.state, !settlements.isEmpty { throw Self.outage }
                return try await store.takeTurn(settlements, claiming: claim)
            } onRenewal: {
                if isGone.state { throw Self.outage }
            }
            let scene = try Scene(list, origin, directory, store: store)
            try await scene.coordinator.enqueue([scene.request])
            let events = Recorder<DownloadEvent>()
            let isOver = Monitor(false)
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await scene.coordinator.run(until: .whenEmpty) {
                        events.note($0)
                    } onWarning: { _ in
                        // The settlement of the stopped transfer is the first thing that fails.
                        isGone.withState { $0 = false }
                        isOver.withState { $0 = true }
                    }
                }
                await gate.arrivals(1)
                scene.time.advance(by: .seconds(9))
                #expect(!isOver.state)
                scene.time.advance(by: .seconds(1))
                try await isOver.waitUnlessCancelled(where: \.self)
                await gate.open()
                // The backoff before the store is retried.
                try await scene.time.sleeper(until: .milliseconds(100))
                scene.time.advance(by: .milliseconds(100))
                try await group.next()
            }
            #expect(origin.metrics.requests == 2)
            let ends = events.values.filter { if case .released = $0 { true } else { $0.isEnd } }
            #expect(ends.count == 2)
            #expect(try Data(contentsOf: scene.request.target).elementsEqual(bytes(1000)))
        }
    }

    @Test func `a run that ends during an outage throws`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(1000)) }) { list, origin, directory in
            let store = InterceptedStore(isShared: true) { store, settlements, claim in
                if !settlements.isEmpty { throw Self.outage }
                return try await store.takeTurn(settlements, claiming: claim)
            }
            let scene = try Scene(list, origin, directory, store: store)
            try await scene.coordinator.enqueue([scene.request])
            let isReported = Monitor(false)
            let run = Task {
                try await scene.coordinator.run { _ in
                } onWarning: { _ in
                    isReported.withState { $0 = true }
                }
            }
            try await isReported.waitUnlessCancelled(where: \.self)
            run.cancel()
            let error = await #expect(throws: QueueStoreError.self) { try await run.value }
            #expect(error?.code == .unavailable)
        }
    }

    @Test func `a run cancelled after an outage cleans up the downloads it records last`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(600_000)) }) { list, origin, directory in
            let isGone = Monitor(true)
            let store = InterceptedStore(isShared: true) { store, settlements, claim in
                if isGone.state, !settlements.isEmpty { throw Self.outage }
                return try await store.takeTurn(settlements, claiming: claim)
            }
            let scene = try Scene(list, origin, directory, store: store)
            try await scene.coordinator.enqueue([scene.request])
            let events = Recorder<DownloadEvent>()
            let isReported = Monitor(false)
            let run = Task {
                try await scene.coordinator.run {
                    events.note($0)
                } onWarning: { _ in
                    isReported.withState { $0 = true }
                }
            }
            // Time stands still, so that only the end of the run retries the store.
            try await isReported.waitUnlessCancelled(where: \.self)
            isGone.withState { $0 = false }
            run.cancel()
            try await run.value
            #expect(try await store.store.snapshot(listing: 0).counts == [.done: 1])
            #expect(events.values.last?.isEnd == true)
            #expect(try names(in: directory) == ["song"], "no checkpoint is left")
        }
    }

    @Test func `a run uses its part of the queue's rates, and follows their changes`() async throws {
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(10))
        } during: { list, origin, directory in
            let turns = Monitor(0)
            let store = InterceptedStore(isShared: true) {
                // The rates were read before.
                turns.withState { $0 += 1 }
                return try await $0.takeTurn($1, claiming: $2)
            }
            /// Waits for the turn that follows a change.
            func following(_ change: () async throws -> Void) async throws {
                let before = turns.withState { $0 }
                try await change()
                try await turns.waitUnlessCancelled { $0 > before }
            }
            try await store.store.setRates(.init(total: 1_000_000, perHost: 600_000))
            // Another process runs a download.
            let other = try await store.store.attach()
            _ = try await store.store.enqueue([.named("other")], options: EnqueueOptions())
            let claim = JobClaim(worker: other, count: 1, limits: .none, lease: .seconds(3600))
            let claimed = try await store.store.takeTurn([], claiming: claim).claimed[0]

            var list = list
            list.configuration.maximumRatePerHost = 100_000
            let scene = try Scene(list, origin, directory, store: store)
            let bandwidth = scene.coordinator.core.bandwidth
            let run = Task { try await scene.coordinator.run() }
            try await scene.time.sleeper(until: .seconds(1))
            #expect(bandwidth.rates == .init(total: 500_000, perHost: 100_000))
            // Without an announcement, it notices within a second that the other one has ended.
            _ = try await store.store.takeTurn(
                [JobSettlement(lease: claimed.lease, outcome: .done(bytes: 1))], claiming: nil)
            try await following { scene.time.advance(by: .seconds(1)) }
            #expect(bandwidth.rates == .init(total: 1_000_000, perHost: 100_000))
            // Its own coordinator changes the rates at once, and another process announces it.
            try await following { try await scene.coordinator.setQueueRates(.init(total: 5)) }
            #expect(bandwidth.rates == .init(total: 5, perHost: 100_000))
            try await following {
                try await store.store.setRates(.init())
                store.announcements.enqueue(.anything)
            }
            #expect(bandwidth.rates == .init(perHost: 100_000))
            #expect(try await scene.coordinator.queueRates() == .init())
            run.cancel()
            try await run.value
        }
    }

    @Test func `announced jobs start, and announced cancellations stop transfers`() async throws {
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let store = InterceptedStore(isShared: true)
            let scene = try Scene(list, origin, directory, store: store)
            let events = Monitor<[DownloadEvent]>([])
            let run = Task {
                try await scene.coordinator.run { event in events.withState { $0.append(event) } }
            }
            // Time stands still, so that only announcements wake the run.
            try await scene.time.sleeper(until: .seconds(1))
            store.announcements.enqueue(.anything)
            try await scene.time.sleeper(until: .seconds(5))
            let job = try await store.store.enqueue([scene.request], options: EnqueueOptions())[0].id
            store.announcements.enqueue(.jobs)
            await gate.arrivals(1)
            _ = try await store.store.cancel(.ids([job]))
            store.announcements.enqueue(.anything)
            try await events.waitUnlessCancelled(where: { events in
                events.contains { if case .finished(job, .cancelled) = $0 { true } else { false } }
            })
            await gate.open()
            run.cancel()
            try await run.value
        }
    }
}
