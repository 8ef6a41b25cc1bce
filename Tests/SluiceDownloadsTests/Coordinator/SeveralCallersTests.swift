import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A coordinator with several callers` {
    private func requests(
        _ names: [String], _ origin: LoopbackOrigin, _ directory: URL
    ) throws -> [DownloadRequest] {
        try names.map { DownloadRequest(try URL(fetchable: origin.url("/\($0)")), to: directory, name: $0) }
    }

    @Test func `handles concurrent starts, lists and runs under the same limits`() async throws {
        let running = Guarded((now: 0, most: 0))
        try await downloading(
            from: { _ in
                running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                defer { running.withLock { $0.now -= 1 } }
                return OriginResponse(body: bytes(1000))
            }, concurrency: 2
        ) { list, origin, directory in
            let downloads = list.coordinator()
            downloads.start()
            downloads.start()
            let handles = try await downloads.enqueue(try requests(["a", "b", "c"], origin, directory))
            async let first = downloads.download(try requests(["d", "e"], origin, directory))
            async let second = downloads.download(try requests(["f", "g"], origin, directory))
            async let third: Void = downloads.run(until: .whenEmpty)
            for summary in try await [first, second] { #expect(summary.isComplete && summary.doneCount == 2) }
            for handle in handles { #expect(try await handle.result.state == .done) }
            try await third
            let file = try await downloads.download(URL(fetchable: origin.url("/h")), to: directory)
            #expect(file == directory.appending(path: "h"))
            #expect(try names(in: directory) == ["a", "b", "c", "d", "e", "f", "g", "h"])
            #expect(running.withLock { $0.most } <= 2)
            await downloads.stop()
            #expect(downloads.core.current == nil)
        }
    }

    @Test func `stops only what no other caller wants when one leaves, and reports to each caller its batch`()
        async throws
    {
        let gates = ["/a": Gate(), "/b": Gate()]
        try await downloading { request in
            await gates[request.target]?.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            try await downloads.enqueue(try requests(["a"], origin, directory), batch: "A")
            let b = try await downloads.enqueue(try requests(["b"], origin, directory)[0], batch: "B")
            try await downloads.enqueue(try requests(["c"], origin, directory), batch: "C")
            let (heard, heardB) = (Recorder<JobID?>(), Recorder<JobID?>())
            let caller = Task { try await downloads.run(until: .whenBatchIsEmpty("A")) { heard.note($0.download) } }
            let other = Task { try await downloads.run(until: .whenBatchIsEmpty("B")) { heardB.note($0.download) } }
            for gate in gates.values { await gate.arrivals(1) }
            caller.cancel()
            try await caller.value
            // The download of the caller that has left waits again.
            var snapshot = try await downloads.snapshot()
            #expect(snapshot.running.map(\.id) == [b.id])
            #expect(snapshot.count(in: .waiting) == 2)
            for gate in gates.values { await gate.open() }
            try await other.value
            snapshot = try await downloads.snapshot()
            #expect(snapshot.counts == [.done: 1, .waiting: 2])
            #expect(!heard.values.contains(b.id))
            #expect(Set(heardB.values) == [b.id])
        }
    }

    @Test func `lets a caller return once the queue has recorded that its downloads stopped`() async throws {
        let (origin, record) = (Gate(), Gate())
        try await downloading { _ in
            await origin.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, server, directory in
            let store = InterceptedStore(isShared: false) { store, settlements, claim in
                if settlements.contains(where: { $0.outcome == .released }) { await record.pass() }
                return try await store.takeTurn(settlements, claiming: claim)
            }
            let downloads = list.coordinator(store: store)
            try await downloads.enqueue(try requests(["a"], server, directory), batch: "A")
            try await downloads.enqueue(try requests(["b"], server, directory), batch: "B")
            let steps = Recorder<String>()
            let caller = Task {
                try await downloads.run(until: .whenBatchIsEmpty("A"))
                steps.note("left")
            }
            let other = Task { try await downloads.run(until: .whenBatchIsEmpty("B")) }
            await origin.arrivals(2)
            caller.cancel()
            await record.arrivals(1)
            steps.note("recorded")
            await record.open()
            try await caller.value
            #expect(steps.values == ["recorded", "left"])
            #expect(try await downloads.snapshot().counts == [.waiting: 1, .running: 1])
            await origin.open()
            try await other.value
        }
    }

    @Test func `lets a caller return when its batch is empty, while the queue runs for others`() async throws {
        let gate = Gate()
        try await downloading { request in
            if request.target == "/slow" { await gate.pass() }
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            downloads.start()
            let slow = try await downloads.enqueue(try requests(["slow"], origin, directory)[0])
            await gate.arrivals(1)
            let events = Recorder<Int>()
            let summary = try await downloads.download(try requests(["a", "b"], origin, directory)) { index, event in
                if event.isEnd { events.note(index) }
            }
            #expect(summary.results.map(\.file) == ["a", "b"].map { directory.appending(path: $0) })
            #expect(events.values.sorted() == [0, 1])
            #expect(try await downloads.snapshot().running.map(\.id) == [slow.id])
            await gate.open()
            #expect(try await slow.result.state == .done)
            await downloads.stop()
        }
    }

    @Test func `returns from an empty batch while another batch's download fills the limit`()
        async throws
    {
        let gates = ["/a": Gate(), "/b": Gate()]
        try await downloading(
            from: { request in
                await gates[request.target]?.pass()
                return OriginResponse(body: bytes(1000))
            }, concurrency: 1
        ) { list, origin, directory in
            // A caller that joins looks up the batches of running downloads.
            let isLookedUp = Gate()
            await isLookedUp.open()
            let downloads = list.coordinator(store: InterceptedStore(onLookUp: { await isLookedUp.pass() }))
            try await downloads.enqueue(try requests(["a"], origin, directory), batch: "A")
            try await downloads.enqueue(try requests(["b", "b2"], origin, directory), batch: "B")
            let first = Task { try await downloads.run(until: .whenBatchIsEmpty("A")) }
            await gates["/a"]?.arrivals(1)
            let other = Task { try await downloads.run(until: .whenBatchIsEmpty("B")) }
            await isLookedUp.arrivals(1)
            await gates["/a"]?.open()
            await gates["/b"]?.arrivals(1)
            try await first.value
            #expect(try await downloads.snapshot().counts == [.done: 1, .running: 1, .waiting: 1])
            await gates["/b"]?.open()
            try await other.value
        }
    }

    @Test func `releases jobs that a turn claimed for a caller that left during the turn`() async throws {
        let (isClaiming, transfer) = (Gate(), Gate())
        let claims = Guarded(0)
        let store = InterceptedStore(onTurn: { store, settlements, claim in
            if claim?.batch == "A" { await isClaiming.pass() }
            let turn = try await store.takeTurn(settlements, claiming: claim)
            claims.withLock { $0 += turn.claimed.count }
            return turn
        })
        try await downloading { _ in
            await transfer.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let downloads = list.coordinator(store: store)
            let a = try await downloads.enqueue(try requests(["a"], origin, directory)[0], batch: "A")
            try await downloads.enqueue(try requests(["b"], origin, directory), batch: "B")
            let other = Task { try await downloads.run(until: .whenBatchIsEmpty("B")) }
            await transfer.arrivals(1)
            let caller = Task { try await downloads.run(until: .whenBatchIsEmpty("A")) }
            await isClaiming.arrivals(1)
            caller.cancel()
            try await caller.value
            let events = a.events()
            await isClaiming.open()
            for await event in events {
                guard case .released = event else { continue }
                break
            }
            #expect(claims.withLock { $0 } == 2)
            await transfer.open()
            try await other.value
            #expect(try await downloads.snapshot().counts == [.done: 1, .waiting: 1])
        }
    }

    @Test func `starts again after its disk was full, and loses no download`() async throws {
        let isFull = Guarded(true)
        var calls = SystemCalls.system
        calls.write = { isFull.withLock { $0 } ? -Int(ENOSPC) : SystemCalls.system.write($0, $1) }
        calls.writeVector = { isFull.withLock { $0 } ? -Int(ENOSPC) : SystemCalls.system.writeVector($0, $1) }
        let files = FileIO(configuration: .init(), calls: calls)
        try await downloading(from: { _ in OriginResponse(body: bytes(1000)) }, files: files) {
            list, origin, directory in
            let time = VirtualTime()
            let downloads = list.coordinator(time: time)
            downloads.start()
            downloads.start()
            let handles = try await downloads.enqueue(try requests(["a", "b", "c"], origin, directory))
            try await time.sleeper(until: .seconds(1))
            let failure = try #require(downloads.failure as? TransferError)
            #expect(failure.fileError?.code == .noSpace)
            // Others see why the worker is gone.
            let workers = try await downloads.inspect().workers
            #expect(workers.map(\.presence.failure) == [failure.description])
            #expect(workers.map { downloads.responds($0, now: Date()) } == [false])
            #expect(try await downloads.snapshot().counts == [.waiting: 3])
            // It can be stopped and started while it waits.
            await downloads.stop()
            #expect(downloads.failure == nil)
            downloads.start()
            try await time.sleeper(until: .seconds(1))
            isFull.withLock { $0 = false }
            time.advance(by: .seconds(1))
            for handle in handles { #expect(try await handle.result.state == .done) }
            #expect(try await downloads.inspect().workers.map(\.presence.failure) == [nil])
            await downloads.stop()
            #expect(downloads.failure == nil)
        }
        await files.shutdown()
    }

    @Test(arguments: [QueueStoreError.Code.full, .unusable])
    func `starts again after its store has failed, and loses no download`(code: QueueStoreError.Code) async throws {
        let failing = Guarded<QueueStoreError.Code?>(code)
        let store = InterceptedStore(onTurn: { store, settlements, claim in
            if let code = failing.withLock({ $0 }) { throw QueueStoreError(code, subject: "queue.db", message: "No.") }
            return try await store.takeTurn(settlements, claiming: claim)
        })
        try await downloading { _ in
            OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let time = VirtualTime()
            let downloads = list.coordinator(store: store, time: time)
            downloads.start()
            let handle = try await downloads.enqueue(try requests(["a"], origin, directory)[0])
            // The first pause is a second, the next one two.
            for pause in [1, 2] {
                try await time.sleeper(until: .seconds(pause))
                #expect((downloads.failure as? QueueStoreError)?.code == code)
                if pause == 2 { failing.withLock { $0 = nil } }
                time.advance(by: .seconds(pause))
            }
            #expect(try await handle.result.state == .done)
            #expect(downloads.failure == nil)
            // It can be stopped and started any number of times.
            await downloads.stop()
            await downloads.stop()
            let next = try await downloads.enqueue(try requests(["b"], origin, directory)[0])
            downloads.start()
            #expect(try await next.result.state == .done)
            await downloads.stop()
        }
    }

    @Test func `throws an error that ends the engine in every caller, and can run again`() async throws {
        let failing = Guarded(false)
        let store = InterceptedStore(onTurn: { store, settlements, claim in
            if failing.withLock({ $0 }) { throw QueueStoreError(.unusable, subject: "queue.db", message: "No.") }
            return try await store.takeTurn(settlements, claiming: claim)
        })
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let downloads = list.coordinator(store: store)
            let run = Task { try await downloads.run() }
            let listing = Task { try await downloads.download(try requests(["a"], origin, directory)) }
            await gate.arrivals(1)
            failing.withLock { $0 = true }
            await gate.open()
            await #expect(throws: QueueStoreError.self) { try await run.value }
            await #expect(throws: QueueStoreError.self) { try await listing.value }
            failing.withLock { $0 = false }
            let summary = try await downloads.download(try requests(["a"], origin, directory))
            #expect(summary.isComplete)
        }
    }

    @Test func `ends every run and wait when it's closed`() async throws {
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            downloads.start()
            let run = Task { try await downloads.run() }
            let listing = Task { try await downloads.download(try requests(["a", "b"], origin, directory)) }
            let single = Task { try await downloads.download(try URL(fetchable: origin.url("/c")), to: directory) }
            await gate.arrivals(3)
            try await downloads.close()
            try await run.value
            let closed = await #expect(throws: QueueStoreError.self) { try await single.value }
            #expect(closed?.code == .closed)
            let summary = try await listing.value
            #expect(summary.unfinishedCount == 2 && summary.results.allSatisfy(\.isUnfinished))
            await gate.open()
            // Nothing traps afterwards.
            downloads.start()
            #expect((downloads.failure as? QueueStoreError)?.code == .closed)
            await downloads.stop()
            await #expect(throws: QueueStoreError.self) { try await downloads.run() }
            await #expect(throws: QueueStoreError.self) {
                try await downloads.enqueue(try requests(["a"], origin, directory))
            }
        }
    }

    @Test func `stops when its last reference is released, and another one resumes its downloads`() async throws {
        let isFirst = Guarded(true)
        try await downloading { request in
            let stalls = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            guard stalls else { return .file(bytes(900_000), etag: "\"1\"", request: request) }
            return .file(bytes(900_000), etag: "\"1\"", request: request, sending: 300_000)
        } during: { list, origin, directory in
            let file = directory.appending(path: "queue.db")
            weak var released: DownloadCoordinator?
            do {
                let downloads = DownloadCoordinator(
                    store: .sqlite(at: file), transport: list.transport, configuration: list.configuration)
                released = downloads
                downloads.start()
                let handle = try await downloads.enqueue(
                    DownloadRequest(try URL(fetchable: origin.url("/song")), to: directory))
                for await event in handle.events() {
                    if case .received = event { break }
                }
            }
            #expect(released == nil)
            let downloads = DownloadCoordinator(
                store: .sqlite(at: file), transport: list.transport, configuration: list.configuration)
            downloads.start()
            let handle = try await downloads.enqueue(
                DownloadRequest(try URL(fetchable: origin.url("/song")), to: directory))
            #expect(try await handle.result.fileSize == 900_000)
            await downloads.stop()
            try await downloads.close()
        }
    }

    @Test func `accepts closures with several statements to resolve identifiers`() async throws {
        try await downloading { _ in
            OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let urls = DownloadCoordinator(
                transport: list.transport,
                resolve: { id, user in
                    let path = "/\(id)?user=\(user ?? "")"
                    return try URL(fetchable: origin.url(path))
                })
            let resolutions = DownloadCoordinator(
                transport: list.transport,
                resolve: { id, _ in
                    let url = try URL(fetchable: origin.url("/\(id)"))
                    return DownloadResolution(url: url, headerFields: [.authorization: "token"])
                })
            for (index, downloads) in [urls, resolutions].enumerated() {
                downloads.start()
                // Neither a name nor a host is needed.
                let handle = try await downloads.enqueue(
                    DownloadRequest(resolving: "song/\(index)", to: directory, user: "me"))
                #expect(try await handle.file == directory.appending(path: "song%2F\(index)"))
                await downloads.stop()
            }
            #expect(try names(in: directory) == ["song%2F0", "song%2F1"])
        }
    }
}

extension DownloadSummary.Result {
    fileprivate var file: URL? {
        if case .done(let file) = self { file } else { nil }
    }

    fileprivate var isUnfinished: Bool {
        if case .unfinished = self { true } else { false }
    }
}
