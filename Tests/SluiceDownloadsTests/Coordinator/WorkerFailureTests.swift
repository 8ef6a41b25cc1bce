import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import Synchronization
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `A worker that can't work` {
    private static let ok = AnsweringTransport { _, _ in (.ok, [:]) }

    private func list(_ base: URL, files: FileIO = .shared, total: Int = 2) -> ListDownloader {
        var list = ListDownloader(transport: Self.ok, limits: .init(total: total, perHost: nil), files: files)
        list.configuration.directory = base
        list.configuration.retries = .never
        return list
    }

    private func requests(_ count: Int, below path: String = "", prefix: String = "") -> [DownloadRequest] {
        (0..<count).map {
            try! DownloadRequest(URL(string: "https://a.example/\(prefix)\($0)")!, below: path, name: "\(prefix)\($0)")
        }
    }

    @Test(arguments: [EDQUOT, ENOSPC, EMFILE, ENFILE, ENOMEM])
    func `ends its run and fails no download when the disk or the process is out of space`(number: Int32) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let isBroken = Atomic(true)
            var calls = SystemCalls.system
            calls.write = {
                isBroken.load(ordering: .relaxed) ? -Int(number) : SystemCalls.system.write($0, $1)
            }
            let files = FileIO(configuration: .init(), calls: calls)
            let downloads = list(directory, files: files).coordinator()
            try await downloads.enqueue(requests(6))
            let error = await #expect(throws: TransferError.self) { try await downloads.run(until: .whenEmpty) }
            #expect(error?.fileError?.systemError == number)
            #expect(try await downloads.snapshot().counts == [.waiting: 6])
            #expect(try await downloads.snapshot().waiting.allSatisfy { $0.failureCount == 0 })
            isBroken.store(false, ordering: .relaxed)
            try await downloads.run(until: .whenEmpty)
            #expect(try await downloads.snapshot().counts == [.done: 6])
            await files.shutdown()
        }
    }

    @Test(arguments: [EROFS, EACCES])
    func `ends its run and fails no download when its own directory isn't writable`(number: Int32) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            var calls = SystemCalls.system
            calls.open = { $2 == 0 ? SystemCalls.system.open($0, $1, $2) : -number }
            let files = FileIO(configuration: .init(), calls: calls)
            let downloads = list(directory, files: files).coordinator()
            try await downloads.enqueue(requests(6))
            let error = await #expect(throws: TransferError.self) { try await downloads.run(until: .whenEmpty) }
            #expect(error?.fileError?.systemError == number)
            #expect("\(try #require(error))".contains("'\(directory.path)"), "names the directory, and says what to do")
            #expect(try await downloads.snapshot().counts == [.waiting: 6])
            await files.shutdown()
        }
    }

    @Test func `fails no download that is checking the directory when its run stops`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let refusals = Atomic(0)
            let isStopped = Monitor(false)
            let hasEnded = Monitor(false)
            let run = Monitor<Task<Void, any Error>?>(nil)
            let engine = Monitor<FileIO?>(nil)
            /// Blocks the only thread of the engine.
            @Sendable func spin(until condition: () -> Bool) {
                let deadline = ContinuousClock.now + .seconds(600)
                while !condition(), ContinuousClock.now < deadline { usleep(1_000) }
            }
            @Sendable func isOtherWaiting() -> Bool { engine.state?.statistics.waitingCount ?? 0 > 0 }
            var calls = SystemCalls.system
            calls.open = {
                guard $2 != 0 else { return SystemCalls.system.open($0, $1, $2) }
                if refusals.add(1, ordering: .relaxed).newValue == 1 { spin(until: isOtherWaiting) }
                return -EROFS
            }
            calls.createDirectory = { path, mode in
                // The other attempt was refused, too, and is waiting to check the directory. It ends without the check.
                if refusals.load(ordering: .relaxed) == 2, !isStopped.state {
                    isStopped.withState { $0 = true }
                    spin(until: isOtherWaiting)
                    run.withState { $0?.cancel() }
                    spin { hasEnded.state }
                }
                return SystemCalls.system.createDirectory(path, mode)
            }
            let files = FileIO(configuration: .init(concurrency: 1), calls: calls)
            engine.withState { $0 = files }
            let downloads = list(directory, files: files).coordinator()
            try await downloads.enqueue(requests(2))
            let task = Task {
                try await run.waitUnlessCancelled(where: { $0 != nil })
                try await downloads.run(until: .whenEmpty) { event in
                    switch event {
                    case .released, .finished: hasEnded.withState { $0 = true }
                    default: break
                    }
                }
            }
            run.withState { $0 = task }
            _ = await task.result
            #expect(isStopped.state && hasEnded.state)
            #expect(try await downloads.snapshot().counts == [.waiting: 2])
            engine.withState { $0 = nil }
            await files.shutdown()
        }
    }

    @Test func `ends its run when its own directory can't be created`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try Data().write(to: directory.appending(path: "file"))
            let base = directory.appending(path: "file/music", directoryHint: .isDirectory)
            let downloads = list(base).coordinator()
            try await downloads.enqueue(requests(3) + requests(3, below: "playlists/7"))
            let error = await #expect(throws: TransferError.self) { try await downloads.run(until: .whenEmpty) }
            #expect(error?.fileError?.code == .notDirectory)
            #expect("\(try #require(error))".contains("/file'"))
            #expect(try await downloads.snapshot().counts == [.waiting: 6])
        }
    }

    @Test func `fails only the download whose directory is unusable, and continues`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try Data().write(to: directory.appending(path: "occupied"))
            let downloads = list(directory).coordinator()
            let elsewhere = directory.appending(path: "occupied/x", directoryHint: .isDirectory)
            try await downloads.enqueue(
                requests(1, below: "occupied", prefix: "below") + requests(2)
                    + [DownloadRequest(URL(string: "https://a.example/absolute")!, to: elsewhere)])
            try await downloads.run(until: .whenEmpty)
            #expect(try await downloads.snapshot().counts == [.done: 2, .failed: 2])
        }
    }

    @Test func `retries a directory that couldn't be created before`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let occupied = directory.appending(path: "occupied")
            try Data().write(to: occupied)
            let downloads = list(directory).coordinator()
            let run = Task { try await downloads.run() }
            let handle = try await downloads.enqueue(requests(1, below: "occupied"))[0]
            await #expect(throws: TransferError.self) { try await handle.result }
            try FileManager.default.removeItem(at: occupied)
            try await downloads.retry(.all)
            #expect(try await handle.result.state == .done)
            run.cancel()
            try await run.value
        }
    }

    @Test func `recreates a directory that was removed during the run or a download`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let gone = directory.appending(path: "music")
            let isLast = Atomic(false)
            let transport = AnsweringTransport { request, number in
                if request.url.path() == "/meanwhile0", !isLast.exchange(true, ordering: .relaxed) {
                    try FileManager.default.removeItem(at: gone)
                }
                return (.ok, [:])
            }
            var list = ListDownloader(transport: transport, limits: .init(total: 1))
            list.configuration.directory = directory
            list.configuration.retries = .never
            let downloads = list.coordinator()
            let run = Task { try await downloads.run() }
            let first = try await downloads.enqueue(requests(1, below: "music"))[0]
            #expect(try await first.result.state == .done)
            try FileManager.default.removeItem(at: gone)
            let second = try await downloads.enqueue(requests(1, below: "music", prefix: "later"))[0]
            #expect(try await second.result.state == .done)
            let third = try await downloads.enqueue(requests(1, below: "music", prefix: "meanwhile"))[0]
            #expect(try await third.result.state == .done)
            run.cancel()
            try await run.value
            #expect(try names(in: gone) == ["meanwhile0"])
        }
    }

    @Test func `waits for the network, without blaming a host or using up attempts`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let time = VirtualTime()
            let transport = AnsweringTransport { request, number in
                if number <= 30 { throw TransferError(.hostNotFound, url: request.url) }
                return (.ok, [:])
            }
            var list = ListDownloader(transport: transport, limits: .init(total: 4, perHost: nil))
            list.configuration.circuitBreaker = .init(maximumFailures: 2, pause: .seconds(30))
            list.configuration.retries = RetryPolicy(maximumRetries: 1)
            let store = MemoryQueueStore(time: time.queueTime)
            let downloads = list.coordinator(store: store, time: time)
            try await downloads.enqueue(
                (0..<40).map {
                    DownloadRequest(URL(string: "https://h\($0 % 4).example/\($0)")!, to: directory)
                })
            let blamed = Recorder<[String]>()
            try await withRunningClock(time, step: .seconds(30)) {
                try await downloads.run(until: .whenEmpty) { event in
                    guard case .retrying = event else { return }
                    Task { blamed.note(try await store.snapshot(listing: 0).hosts.map(\.name)) }
                }
            }
            #expect(try await downloads.snapshot().counts == [.done: 40])
            #expect(blamed.values.joined().isEmpty)
            #expect(transport.count.withLock { $0 } == 70)
        }
    }

    @Test(arguments: [StoreKind.memory, .sqlite])
    func `reaches other hosts even if the first jobs' hosts are silent`(_ kind: StoreKind)
        async throws
    {
        try await StoreFixture.with(kind) { fixture in
            try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
                let time = fixture.time
                let transport = AnsweringTransport { request, _ in
                    if request.url.host() != "c.example" { throw TransferError(.hostNotFound, url: request.url) }
                    return (.ok, [:])
                }
                var list = ListDownloader(transport: transport, limits: .init(total: 1, perHost: nil))
                list.configuration.circuitBreaker = .init()
                let downloads = list.coordinator(store: fixture.store, time: time)
                let handles = try await downloads.enqueue(
                    ["a", "a", "b", "b", "c", "c"].enumerated().map { index, host in
                        DownloadRequest(URL(string: "https://\(host).example/\(index)")!, to: directory)
                    })
                let run = Task { try await withRunningClock(time, step: .seconds(30)) { try await downloads.run() } }
                #expect(try await handles[4].result.state == .done)
                #expect(try await handles[5].result.state == .done)
                run.cancel()
                try await run.value
            }
        }
    }

    /// The application's code threw this because a task of its own was cancelled. A job that went back to waiting would be retried forever.
    @Test(arguments: ["resolve", "headerFields", "transport"])
    func `fails the download and continues if user code throws CancellationError`(source: String) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let transport = AnsweringTransport { _, _ in
                if source == "transport" { throw CancellationError() }
                return (.ok, [:])
            }
            var list = ListDownloader(transport: transport)
            list.configuration.retries = .never
            if source == "headerFields" { list.configuration.headerFields = { _ in throw CancellationError() } }
            list.resolve = { _, _ in
                if source == "resolve" { throw CancellationError() }
                return DownloadResolution(url: URL(string: "https://a.example/a")!)
            }
            let downloads = list.coordinator()
            try await downloads.enqueue([
                DownloadRequest(resolving: "a", host: "a.example", to: directory, name: "a")
            ])
            let attempts = Recorder<Int>()
            let run = Task {
                try await downloads.run(until: .whenEmpty) {
                    guard case .started(_, let number) = $0 else { return }
                    attempts.note(number)
                    if attempts.values.count == 3 { withUnsafeCurrentTask { $0?.cancel() } }
                }
            }
            try await run.value
            #expect(attempts.values == [1])
            #expect(try await downloads.snapshot().counts == [.failed: 1])
        }
    }

    @Test func `ends its run and fails no download when its transport is shut down`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let transport = HTTPTransport()
            await transport.shutdown()
            var list = ListDownloader(transport: transport)
            list.configuration.retries = .never
            let downloads = list.coordinator()
            try await downloads.enqueue(
                (0..<6).map { DownloadRequest(URL(string: "http://127.0.0.1/\($0)")!, to: directory) })
            let error = await #expect(throws: TransferError.self) { try await downloads.run(until: .whenEmpty) }
            #expect(error?.code == .shutDown)
            #expect(try await downloads.snapshot().counts == [.waiting: 6])
        }
    }

    /// A hanging file system, such as a network mount whose server is gone.
    @Test func `continues other downloads while one download's directory hangs`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let (isReached, isReleased) = (Gate(), DispatchSemaphore(value: 0))
            var calls = SystemCalls.system
            calls.createDirectory = { path, mode in
                if String(cString: path).hasSuffix("hung") {
                    Task { await isReached.pass() }
                    isReleased.wait()
                }
                return SystemCalls.system.createDirectory(path, mode)
            }
            let files = FileIO(configuration: .init(), calls: calls)
            let downloads = list(directory, files: files).coordinator()
            let run = Task { try await downloads.run() }
            let hung = try await downloads.enqueue(requests(1, below: "hung"))[0]
            await isReached.arrivals(1)
            let other = try await downloads.enqueue(requests(1, below: "other"))[0]
            #expect(try await other.result.state == .done)
            isReleased.signal()
            await isReached.open()
            #expect(try await hung.result.state == .done)
            run.cancel()
            try await run.value
            await files.shutdown()
        }
    }

    /// After the machine was suspended or its clock was set, a store that isn't shared doesn't take back its jobs.
    @Test func `keeps its jobs in an in-memory queue, however long it was suspended`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let storeTime = VirtualTime()
            let gate = Gate()
            let transport = AnsweringTransport { request, _ in
                if request.url.path() == "/slow" { await gate.pass() }
                return (.ok, [:])
            }
            let list = ListDownloader(transport: transport, limits: .init(total: 3))
            let downloads = list.coordinator(store: MemoryQueueStore(time: storeTime.queueTime))
            let starts = Recorder<JobID>()
            let run = Task {
                try await downloads.run { if case .started(let job, _) = $0 { starts.note(job) } }
            }
            let slow = try await downloads.enqueue([
                DownloadRequest(URL(string: "https://a.example/slow")!, to: directory)
            ])[0]
            await gate.arrivals(1)
            storeTime.advance(by: .seconds(3600))
            let other = try await downloads.enqueue([
                DownloadRequest(URL(string: "https://a.example/other")!, to: directory)
            ])[0]
            #expect(try await other.result.state == .done)
            await gate.open()
            #expect(try await slow.result.state == .done)
            #expect(starts.values == [slow.id, other.id])
            run.cancel()
            try await run.value
        }
    }

    @Test(arguments: [Int.max, -7]) func `survives a damaged failure count`(failures: Int) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let store = InterceptedStore { store, settlements, claim in
                var turn = try await store.takeTurn(settlements, claiming: claim)
                for index in turn.claimed.indices { turn.claimed[index].failures = failures }
                return turn
            }
            var list = ListDownloader(transport: AnsweringTransport { _, _ in (.serviceUnavailable, [:]) })
            list.configuration.retries = .never
            let downloads = list.coordinator(store: store)
            try await downloads.enqueue([DownloadRequest(URL(string: "https://a.example/a")!, to: directory)])
            try await downloads.run(until: .whenEmpty)
            #expect(try await downloads.snapshot().counts == [.failed: 1])
        }
    }

    @Test func `waits for a partial file that is locked, and loses no attempt`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(600_000)) }, retries: 0) {
            list, origin, directory in
            let time = VirtualTime()
            let downloads = list.coordinator(time: time)
            let request = DownloadRequest(try URL(fetchable: origin.url("/song")), to: directory)
            let stream = try await request.partialTarget.openForWriting(existing: .fail, locked: true)
            let handle = try await downloads.enqueue([request])[0]
            let waits = Monitor(0)
            let run = Task {
                try await downloads.run(until: .whenEmpty) {
                    if case .retrying = $0 { waits.withState { $0 += 1 } }
                }
            }
            try await waits.waitUnlessCancelled(where: { $0 == 1 })
            try await stream.discard()
            try await withRunningClock(time, step: .seconds(30)) { try await run.value }
            let result = try await handle.result
            #expect(result.state == .done && result.failureCount == 0)
        }
    }
}
