import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import Synchronization
import Testing
import TestSupport

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `The coordinator` {
    /// A response that starts, and then stalls until the test is over.
    @Sendable private static func stall(_ request: OriginRequest) async -> OriginResponse {
        OriginResponse(announcedLength: 900_000, steps: [.send(bytes(300_000)), .stall])
    }

    private func requests(_ count: Int, _ origin: LoopbackOrigin, _ directory: URL, user: String? = nil) throws
        -> [DownloadRequest]
    {
        try (0..<count).map {
            DownloadRequest(
                try URL(fetchable: origin.url("/\($0)")), to: directory, name: "\($0)", user: user)
        }
    }

    /// Runs the coordinator while `body` runs.
    private func running(
        _ downloads: DownloadCoordinator, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in },
        during body: () async throws -> Void
    ) async throws {
        let run = Task { try await downloads.run(onEvent: onEvent) }
        let result = await Result { try await body() }
        run.cancel()
        try await run.value
        try result.get()
    }

    @Test func `enqueue during a run starts the job, and its handle gets the events and the result`() async throws {
        let gates = (0..<3).map { _ in Gate() }
        try await downloading { request in
            await gates[request.target == "/0" ? 0 : request.target == "/1" ? 1 : 2].pass()
            return OriginResponse(body: bytes(400_000))
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            try await running(downloads) {
                for round in 0..<3 {
                    let request = DownloadRequest(try URL(fetchable: origin.url("/\(round)")), to: directory)
                    let handle = try await downloads.enqueue([request])[0]
                    var last: Int64 = 0
                    var outcome: DownloadEvent.Outcome?
                    let events = handle.events()
                    await gates[round].open()
                    for await event in events {
                        if case .received(_, let bytes) = event { last = bytes }
                        if case .finished(_, let end) = event { outcome = end }
                    }
                    guard case .done(400_000) = outcome else {
                        return #expect(Bool(false), "\(String(describing: outcome))")
                    }
                    #expect(last == 400_000)
                    let result = try await handle.result
                    #expect(result.state == .done && result.fileSize == 400_000)
                }
            }
            #expect(try names(in: directory) == ["0", "1", "2"])
        }
    }

    @Test func `cancelling everything returns after the last write and leaves no partial file`() async throws {
        try await downloading(from: Self.stall) { list, origin, directory in
            let downloads = list.coordinator()
            let arrived = Gate()
            try await running(downloads) { event in
                if case .received(_, 300_000...) = event { Task { await arrived.pass() } }
            } during: {
                let handles = try await downloads.enqueue(try requests(20, origin, directory))
                await arrived.arrivals(4)
                try await downloads.cancel(.all)
                let snapshot = try await downloads.snapshot()
                #expect(snapshot.openCount == 0 && snapshot.count(in: .cancelled) == 20)
                #expect(try names(in: directory) == [])
                for handle in handles { #expect(try await handle.result.state == .cancelled) }
                // The queue continues.
                try await downloads.enqueue([try requests(1, origin, directory)[0]])
                for try await snapshot in downloads.snapshots() where snapshot.count(in: .running) > 0 { break }
                try await downloads.cancel(.all)
                #expect(try names(in: directory) == [])
            }
            await arrived.open()
        }
    }

    @Test func `a run that is cancelled while it opens its queue returns`() async throws {
        try await withQueueFile { file in
            for _ in 0..<20 {
                let downloads = DownloadCoordinator(
                    store: .sqlite(at: file), transport: ScriptedTransport([:]))
                let run = Task { try await downloads.run() }
                await Task.yield()
                run.cancel()
                try await run.value
                try await downloads.close()
            }
        }
    }

    @Test func `retry during a run downloads a failed job again, and a removed job has no result`() async throws {
        let isThere = Guarded(false)
        try await downloading { _ in
            isThere.withLock { $0 } ? OriginResponse(body: bytes(1000)) : OriginResponse(status: 404)
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            try await running(downloads) {
                let handles = try await downloads.enqueue(try requests(2, origin, directory))
                for handle in handles {
                    let error = await #expect(throws: TransferError.self) { try await handle.result }
                    #expect(error?.status == 404)
                }
                isThere.withLock { $0 = true }
                #expect(try await downloads.retry(.ids([handles[0].id])).changedCount == 1)
                #expect(try await handles[0].result.fileSize == 1000)
                #expect(try await downloads.remove(.state(.failed)).changedCount == 1)
                let error = await #expect(throws: QueueStoreError.self) { try await handles[1].result }
                #expect(error?.code == .removed)
            }
            #expect(try names(in: directory) == ["0"])
        }
    }

    @Test func `cancelling a batch keeps jobs that another batch shares`() async throws {
        try await downloading(from: Self.stall) { list, origin, directory in
            let downloads = list.coordinator()
            let all = try requests(6, origin, directory)
            try await downloads.enqueue(Array(all[0..<4]), batch: "one")
            try await downloads.enqueue(Array(all[2..<6]), batch: "other")
            try await downloads.cancel(.batch("one"))
            #expect(try await downloads.snapshot().waiting.map(\.request.name) == ["2", "3", "4", "5"])
            try await downloads.cancel(.batch("other"))
            #expect(try await downloads.snapshot().count(in: .cancelled) == 6)
        }
    }

    @Test func `snapshots show running jobs with progress, waiting jobs in order, and ended jobs`() async throws {
        let gate = Gate()
        try await downloading(
            from: { _ in
                await gate.pass()
                return OriginResponse(body: bytes(500_000))
            }, concurrency: 2
        ) { list, origin, directory in
            let downloads = list.coordinator()
            try await running(downloads) {
                var all = try requests(5, origin, directory)
                all[4].priority = 9
                try await downloads.enqueue(Array(all[0..<2]))
                await gate.arrivals(2)
                try await downloads.enqueue(Array(all[2...]))
                var seen: [String] = []
                for try await snapshot in downloads.snapshots() {
                    if seen.isEmpty {
                        #expect(snapshot.running.map(\.download.request.name) == ["0", "1"])
                        #expect(snapshot.waiting.map(\.request.name) == ["4", "2", "3"])
                        await gate.open()
                    }
                    seen.append("\(snapshot.openCount)")
                    if snapshot.openCount == 0 {
                        #expect(snapshot.count(in: .done) == 5)
                        break
                    }
                }
                #expect(seen.first == "5" && seen.last == "0")
            }
        }
    }

    @Test func `a stopped run releases its jobs, and another run continues without repeating done ones`()
        async throws
    {
        let stalls = Guarded(true)
        try await downloading(
            from: { request in
                stalls.withLock { $0 } && request.target != "/0" && request.target != "/1"
                    ? await Self.stall(request) : OriginResponse(body: bytes(900_000))
            }
        ) { list, origin, directory in
            let file = directory.appending(path: "queue.db")
            let files = directory.appending(path: "files", directoryHint: .isDirectory)
            let all = try requests(8, origin, files)
            let arrived = Gate()

            let time = VirtualTime()
            let first = try await SQLiteQueueStore.open(at: file, time: time.queueTime)
            let run = Task {
                try await list.coordinator(store: first, time: time).download(all) { _, event in
                    if case .received(_, 300_000) = event { Task { await arrived.pass() } }
                }
            }
            await arrived.arrivals(4)
            run.cancel()
            let stopped = try await run.value
            await arrived.open()
            #expect(stopped.doneCount == 2 && stopped.unfinishedCount == 6)
            #expect(try await first.snapshot(listing: 0).counts == [.done: 2, .waiting: 6])
            try await first.close()

            stalls.withLock { $0 = false }
            let second = try await SQLiteQueueStore.open(at: file, time: time.queueTime)
            let summary = try await list.coordinator(store: second, time: time).download(all)
            #expect(summary.doneCount == 6 && summary.skippedCount == 2 && summary.isComplete)
            #expect(try await second.snapshot(listing: 0).counts == [:], "a list that is done is forgotten")
            try await second.close()
            #expect(origin.metrics.requestsByTarget["/0"] == 1 && origin.metrics.requestsByTarget["/1"] == 1)
            #expect(try names(in: files) == (0..<8).map(String.init))
            for name in try names(in: files) {
                #expect(try Data(contentsOf: files.appending(path: name)).elementsEqual(bytes(900_000)))
            }
        }
    }

    @Test func `a job that waits for its next attempt lets other jobs run`() async throws {
        try await downloading(
            from: { request in
                request.target == "/0" && request.attempt < 3 ? OriginResponse(status: 503) : OriginResponse(body: [1])
            }, concurrency: 1
        ) { list, origin, directory in
            let order = Recorder<String>()
            let summary = try await list.run(try requests(4, origin, directory)) { index, event in
                if case .finished = event { order.note("\(index)") }
            }
            #expect(summary.doneCount == 4 && summary.retryCount == 2)
            #expect(order.values.first != "0")
        }
    }

    @Test func `header fields are requested for each attempt, sent, and not stored`() async throws {
        let seen = Recorder<String>()
        try await downloading(
            from: { request in
                seen.note(request.headerFields[.authorization] ?? "none")
                return request.attempt == 1 ? OriginResponse(status: 503) : OriginResponse(body: [1])
            }
        ) { list, origin, directory in
            let number = Guarded(0)
            var list = list
            list.configuration.headerFields = { request in
                number.withLock { number in
                    number += 1
                    return [.authorization: "Bearer \(request.user ?? "") \(number)"]
                }
            }
            let summary = try await list.run(try requests(1, origin, directory, user: "ann"))
            #expect(summary.doneCount == 1)
            #expect(seen.values == ["Bearer ann 1", "Bearer ann 2"])
        }
    }

    @Test func `if the provider of header fields throws, the job fails`() async throws {
        struct NoToken: Error {}
        try await downloading(from: { _ in OriginResponse(body: [1]) }) { list, origin, directory in
            var list = list
            list.configuration.headerFields = { _ in throw NoToken() }
            let summary = try await list.run(try requests(1, origin, directory))
            guard summary.failures[0]?.code == .headerFieldsFailed else { return #expect(Bool(false)) }
            #expect(origin.metrics.requests == 0)
        }
    }

    @Test func `a store error ends the run after its transfers have stopped`() async throws {
        try await downloading(from: Self.stall) { list, origin, directory in
            let (store, fails) = storeThatFails()
            let downloads = list.coordinator(store: store)
            try await downloads.enqueue(try requests(6, origin, directory))
            let arrived = Gate()
            let run = Task {
                try await downloads.run { event in
                    if case .received(_, 300_000) = event { Task { await arrived.pass() } }
                }
            }
            await arrived.arrivals(4)
            fails.flag.store(true, ordering: .relaxed)
            _ = try? await downloads.cancel(.all)
            try await downloads.enqueue([])
            await #expect(throws: QueueStoreError.self) { try await run.value }
            await arrived.open()
            fails.flag.store(false, ordering: .relaxed)
            // Once the store works again, another run finishes the rest.
            #expect(try await downloads.snapshot().count(in: .running) == 0)
        }
    }

    @Test(arguments: [100, 600_000]) func `a full disk ends the run but fails no job, and the next run completes them`(
        size: Int
    ) async throws {
        let isFull = Atomic(true)
        var calls = SystemCalls.system
        calls.write = { isFull.load(ordering: .relaxed) ? -Int(ENOSPC) : SystemCalls.system.write($0, $1) }
        calls.writeVector = { isFull.load(ordering: .relaxed) ? -Int(ENOSPC) : SystemCalls.system.writeVector($0, $1) }
        let files = FileIO(configuration: .init(), calls: calls)
        try await downloading(from: { _ in OriginResponse(body: bytes(size)) }, files: files) {
            list, origin, directory in
            let time = VirtualTime()
            let store = MemoryQueueStore(time: time.queueTime)
            let all = try requests(6, origin, directory)
            let error = await #expect(throws: TransferError.self) {
                _ = try await list.coordinator(store: store, time: time).download(all)
            }
            guard let failure = error?.fileError else { return #expect(Bool(false)) }
            #expect(failure.code == .noSpace)
            #expect(try await store.snapshot(listing: 0).counts == [.waiting: 6])
            #expect(try names(in: directory) == [])
            isFull.store(false, ordering: .relaxed)
            let summary = try await list.coordinator(store: store, time: time).download(all)
            #expect(summary.doneCount == 6 && summary.isComplete)
        }
        await files.shutdown()
    }

    @Test func `callers with overlapping lists share the work, and each gets its whole result`() async throws {
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(3000))
        } during: { list, origin, directory in
            let all = try requests(40, origin, directory)
            let file = directory.appending(path: "queue.db")
            let lists = [all, all, Array(all[20...])]
            async let held: Void = expect(4, heldAt: gate, by: origin)
            try await withThrowingTaskGroup(of: DownloadSummary.self) { group in
                for requests in lists {
                    let store = try await SQLiteQueueStore.open(at: file)
                    group.addTask {
                        let coordinator = DownloadCoordinator(
                            store: DownloadStore(store), transport: list.transport,
                            limits: .init(total: 4, perHost: nil),
                            configuration: .init(durability: .none, lease: .seconds(3600)))
                        let summary = try await coordinator.download(requests)
                        try await store.close()
                        return summary
                    }
                }
                for try await summary in group {
                    #expect(summary.isComplete, "\(summary)")
                    #expect([20, 40].contains(summary.doneCount + summary.skippedCount))
                }
            }
            try await held
            #expect(origin.metrics.requests == 40)
        }
    }

    @Test func `a job's events end even if it ended before anyone listened`() async throws {
        try await downloading(from: { _ in OriginResponse(body: [1]) }) { list, origin, directory in
            let downloads = list.coordinator()
            let handle = try await downloads.enqueue(try requests(1, origin, directory))[0]
            try await downloads.run(until: .whenEmpty)
            for await _ in handle.events() { Issue.record("nothing happens any more") }
            #expect(try await handle.result.state == .done)
            // A request that wasn't added has no events, and its result throws.
            try await downloads.enqueue(try requests(2, origin, directory.appending(path: "x")))
            var other = try requests(1, origin, directory.appending(path: "x"))[0]
            other.url = try URL(fetchable: origin.url("/other"))
            let refused = try await downloads.enqueue([other])[0]
            for await _ in refused.events() { Issue.record("it was not taken in") }
            await #expect(throws: TransferError.self) { try await refused.result }
        }
    }

    @Test func `a failed run cancels the body of withRun`() async throws {
        let (store, fails) = storeThatFails()
        fails.flag.store(true, ordering: .relaxed)
        let list = ListDownloader(transport: ScriptedTransport([:]))
        let downloads = list.coordinator(store: store)
        await #expect(throws: QueueStoreError.self) {
            try await downloads.withRun { downloads in
                for try await _ in downloads.snapshots() {}
            }
        }
        fails.flag.store(false, ordering: .relaxed)
        #expect(try await downloads.withRun { _ in 42 } == 42)
    }

    @Test func `a request enqueued while its cancelled download is stopping has its own outcome`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let stopping = Gate()
            let transport = SilentTransport { await stopping.pass() }
            let downloads = ListDownloader(transport: transport, limits: DownloadCoordinator.Limits(total: 1))
                .coordinator()
            let request = DownloadRequest(URL(string: "http://a.example/a")!, to: directory, user: "ann")
            try await running(downloads) {
                let first = try await downloads.enqueue([request])[0]
                try await transport.state.waitUnlessCancelled(where: { $0 == .silent })
                let cancelling = Task { try await downloads.cancel(.all) }
                await stopping.arrivals(1)
                var other = request
                other.user = "ben"
                let second = try await downloads.enqueue([other])[0]
                #expect(second.id == first.id)
                let (firstEvents, secondEvents) = (first.events(), second.events())
                let ends = Task {
                    var ends: [DownloadEvent.Outcome] = []
                    for await event in secondEvents {
                        if case .finished(_, let outcome) = event { ends.append(outcome) }
                    }
                    return ends
                }
                await stopping.open()
                _ = try await cancelling.value
                let outcomes = await ends.value
                guard case .done = outcomes.first else { return #expect(Bool(false), "\(outcomes)") }
                #expect(try await second.result.state == .done)
                // The cancelled request doesn't end as done.
                for await event in firstEvents {
                    guard case .finished(_, .done) = event else { continue }
                    Issue.record("It was cancelled.")
                }
                #expect(try await first.result.state == .cancelled)
            }
        }
    }

    @Test func `a handle keeps its result after the same request is enqueued again`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(1000)) }, existing: .replace) {
            list, origin, directory in
            let downloads = list.coordinator()
            let request = try requests(1, origin, directory)
            let first = try await downloads.enqueue(request)[0]
            try await downloads.run(until: .whenEmpty)
            let second = try await downloads.enqueue(request, keepsFinished: false)[0]
            #expect(second.id != first.id)
            let result = try await first.result
            #expect(result.id == first.id && result.state == .done && result.fileSize == 1000)
            // The same goes for a download that was cancelled before it ran.
            try await downloads.cancel(.all)
            let third = try await downloads.enqueue(request)[0]
            #expect(try await second.result.state == .cancelled)
            // A removed download still has no result.
            try await downloads.run(until: .whenEmpty)
            try await downloads.remove(.all)
            let error = await #expect(throws: QueueStoreError.self) { try await third.result }
            #expect(error?.code == .removed)
        }
    }

    @Test func `a job with a lost lease is stopped and its outcome isn't recorded`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            // Given a transfer whose lease has expired by the store's clock; the coordinator's clock stands still
            let (time, storeTime) = (VirtualTime(), VirtualTime())
            let store = InterceptedStore(isShared: true, store: MemoryQueueStore(time: storeTime.queueTime))
            let transport = SilentTransport()
            let list = ListDownloader(transport: transport, limits: DownloadCoordinator.Limits(total: 1))
            let downloads = list.coordinator(store: store, time: time)
            let ends = Recorder<DownloadEvent>()
            let request = DownloadRequest(URL(string: "http://a.example/a")!, to: directory)
            try await running(downloads) { event in
                switch event {
                case .finished, .paused, .released, .retrying: ends.note(event)
                case .started, .responded, .received, .failedOver, .mirrorRejected, .named: break
                }
            } during: {
                let handle = try await downloads.enqueue([request])[0]
                try await transport.state.waitUnlessCancelled(where: { $0 == .silent })
                storeTime.advance(by: .seconds(16))
                // When another worker takes the job over, and the coordinator renews its leases
                let other = try await store.attach()
                let claim = JobClaim(worker: other, count: 1, limits: .init(), lease: .seconds(1000))
                let job = try #require(try await store.takeTurn([], claiming: claim).claimed.first)
                #expect(job.lease.job == handle.id && job.mayBePublished)
                try await time.sleeper(until: .seconds(5))
                time.advance(by: .seconds(6))
                try await transport.state.waitUnlessCancelled(where: { $0 == .stopped })
                // Then the new holder's outcome counts
                let done = JobSettlement(lease: job.lease, outcome: .done(bytes: 1))
                #expect(try await store.takeTurn([done], claiming: nil).refused.isEmpty)
                #expect(try await handle.result.fileSize == 1)
            }
            // It no longer runs here.
            guard case .released = ends.values.first, ends.values.count == 1 else { return #expect(Bool(false)) }
        }
    }
    @Test func `the progress of a download ends with the size of its file`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(300_000)) }) { list, origin, directory in
            let downloads = list.coordinator()
            let request = DownloadRequest(try URL(fetchable: origin.url("/a")), to: directory)
            try await running(downloads) {
                let handle = try await downloads.enqueue(request)
                var seen: [DownloadProgress] = []
                for await progress in handle.progress() { seen.append(progress) }
                #expect(seen.last == DownloadProgress(receivedBytes: 300_000, totalBytes: 300_000))
                #expect(seen.allSatisfy { $0.totalBytes == 300_000 })
                #expect(seen.map(\.receivedBytes) == seen.map(\.receivedBytes).sorted())
                for await _ in handle.progress() { Issue.record("a download that has ended makes no progress") }
            }
        }
    }

    @Test func `progress that is requested during a transfer begins with the transfer's progress`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let transport = SilentTransport()
            let downloads = ListDownloader(transport: transport).coordinator()
            let request = DownloadRequest(URL(string: "http://a.example/a")!, to: directory)
            try await running(downloads) {
                let handle = try await downloads.enqueue(request)
                try await transport.state.waitUnlessCancelled(where: { $0 == .silent })
                var progress = handle.progress().makeAsyncIterator()
                #expect(await progress.next(isolation: nil)?.totalBytes == 900_000)
            }
        }
    }

    @Test func `a job whose lease ran out continues when its worker claims it again`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            // Given a transfer with a lease that has run out by the store's clock
            let (time, storeTime) = (VirtualTime(), VirtualTime())
            let store = InterceptedStore(isShared: true, store: MemoryQueueStore(time: storeTime.queueTime))
            let transport = SilentTransport()
            let list = ListDownloader(transport: transport, limits: DownloadCoordinator.Limits(total: 2))
            let downloads = list.coordinator(store: store, time: time)
            let attempts = Recorder<String>()
            let request = DownloadRequest(URL(string: "http://a.example/a")!, to: directory)
            try await running(downloads) { event in
                switch event {
                case .started: attempts.note("started")
                case .released: attempts.note("released")
                case .finished(_, .done(let bytes)): attempts.note("done \(bytes)")
                default: if event.isEnd { attempts.note("\(event)") }
                }
            } during: {
                let handle = try await downloads.enqueue([request])[0]
                try await transport.state.waitUnlessCancelled(where: { $0 == .silent })
                storeTime.advance(by: .seconds(16))
                // When the worker looks for jobs before it renews its leases
                try await time.sleeper(until: .seconds(1))
                time.advance(by: .seconds(1))
                // Then the new attempt begins where the first one has stopped
                #expect(try await handle.result.fileSize == 1000)
            }
            #expect(attempts.values == ["started", "released", "started", "done 1000"])
        }
    }
}

/// Answers one request with the start of a body, and then sends nothing until the reader is cancelled.
private final class SilentTransport: Transport, ResponseBodySource {
    enum State { case asked, sent, silent, stopped }

    /// Silent once the reader has the first bytes and waits for more. A reader that is cancelled earlier would never wait.
    let state = Monitor(State.asked)
    /// Called before a cancelled reader gets the error.
    private let onStop: @Sendable () async -> Void

    init(onStop: @escaping @Sendable () async -> Void = {}) { self.onStop = onStop }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        if state.state == .stopped {
            return try await ScriptedTransport([request.url: [.response(body: [Data(bytes(1000))])]]).open(request)
        }
        return TransportResponse(
            status: .ok, headerFields: [.contentLength: "900000"], url: request.url, body: ResponseBody(self))
    }

    func nextBatch() async throws -> [Data]? {
        let isFirst = state.withState { state in
            defer { state = state == .asked ? .sent : .silent }
            return state == .asked
        }
        if isFirst { return [Data(bytes(300_000))] }
        do {
            try await state.waitUnlessCancelled(where: { _ in false })
        } catch {
            await onStop()
            state.withState { $0 = .stopped }
            throw error
        }
        return nil
    }
}

/// A store whose turns fail while the flag is set.
private func storeThatFails() -> (store: InterceptedStore, fails: Flag) {
    let fails = Flag()
    let store = InterceptedStore { store, settlements, claim in
        if fails.flag.load(ordering: .relaxed) {
            throw QueueStoreError(.full, subject: "queue", message: "The disk is full.")
        }
        return try await store.takeTurn(settlements, claiming: claim)
    }
    return (store, fails)
}

private final class Flag: Sendable {
    let flag = Atomic(false)
}
