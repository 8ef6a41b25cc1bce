import Foundation
import GRDB
import HTTPTypes
import SluiceConcurrency
import SluiceDatabase
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `What killed and cancelled tasks leave` {
    /// The second limit puts `c` and the second version of `d` into the index.
    @Test(.timeLimit(.minutes(15)), arguments: [0, 950])
    func `a kill at any moment leaves no wrong bytes, and the next start cleans up`(
        largestInIndex: Int
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { parent in
            let directory = parent.appending(path: "cache")
            let copies = parent.appending(path: "copies")
            try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
            let snapshots = DirectoryCopies(of: directory, in: copies)
            let files = FileIO(calls: snapshots.calls)
            // Room for three entries, so that replacing, evicting and removing all happen.
            let configuration = ResourceCache.Configuration(maximumDiskSize: 5000, maximumDiskEntrySize: 1000)
            try await withCache(
                in: directory,
                ClosureTransport { request, _ in .bytes(pattern(request.url.path == "/c" ? 800 : 1000)) },
                configuration, files: files,
                largestInIndex: largestInIndex
            ) { cache in
                for name in ["a", "b", "c", "d"] {
                    _ = try await cache.data(for: url(name))
                    await cache.backlog.drain()
                }
                try await cache.store(pattern(900), for: url("d"))
                try await cache.remove(url("d"))
            }
            await files.shutdown()
            #expect(snapshots.all.count > (largestInIndex == 0 ? 25 : 18))
            #expect(snapshots.failures.values.isEmpty, "a copy that is missing is the state of nothing")
            for copy in snapshots.all {
                let transport = ClosureTransport { request, _ in .bytes(pattern(request.url.path == "/c" ? 800 : 1000))
                }
                try await withCache(in: copy, transport, configuration, largestInIndex: largestInIndex) { cache in
                    try await expectConsistent(cache)
                    for name in ["a", "b"] { try await expect(pattern(1000), from: cache, url(name)) }
                    try await expect(pattern(800), from: cache, url("c"))
                    #expect(cache.statistics.damaged == 0 && cache.statistics.diskFailures == 0)
                    try await expectConsistent(cache)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(15)), arguments: [0, 950])
    func `a kill while a backlog is being stored leaves no wrong bytes, and loses only what nobody was promised`(
        largestInIndex: Int
    ) async throws {
        @Sendable func body(_ number: Int) -> Data { pattern(number % 2 == 0 ? 800 : 1000, seed: number) }
        let transport = ClosureTransport { request, _ in
            .bytes(body(Int(request.url.lastPathComponent) ?? -1))
        }
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { parent in
            let directory = parent.appending(path: "cache")
            let copies = parent.appending(path: "copies")
            try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
            let snapshots = DirectoryCopies(of: directory, in: copies)
            let files = FileIO(calls: snapshots.calls)
            try await withCache(in: directory, transport, files: files, largestInIndex: largestInIndex) { cache in
                for numbers in [0..<6, 6..<12] {
                    try await withThrowingTaskGroup { group in
                        for number in numbers { group.addTask { _ = try await cache.data(for: url("\(number)")) } }
                        try await group.waitForAll()
                    }
                    await cache.backlog.drain()
                }
            }
            await files.shutdown()
            #expect(snapshots.failures.values.isEmpty, "a copy that is missing is the state of nothing")
            var stored: Set<Int> = []
            for copy in snapshots.all {
                try await withCache(in: copy, ScriptedTransport([:]), largestInIndex: largestInIndex) { cache in
                    try await expectConsistent(cache)
                    var found = 0
                    for number in 0..<12 where try await cache.contains(url("\(number)")) {
                        try await expect(body(number), from: cache, url("\(number)"))
                        found += 1
                    }
                    stored.insert(found)
                    #expect(cache.statistics.damaged == 0 && cache.statistics.diskFailures == 0)
                }
            }
            #expect(stored.contains(0) && stored.contains { $0 >= 6 })
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `a kill during changes to variants leaves no variant with another's bytes`() async throws {
        let languages = ["de", "en", "fr"]
        let transport = ClosureTransport { request, _ in
            let language = request.headerFields[.acceptLanguage] ?? ""
            let whole = pattern(1000, seed: 1 + (languages.firstIndex(of: language) ?? 3))
            var fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language", .eTag: "\"\(language)\""]
            guard let range = request.headerFields[.range] else { return .bytes(whole, fields) }
            let bytes = range == "bytes=0-399" ? 0..<400 : 400..<1000
            fields[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/1000"
            return .response(status: .partialContent, headerFields: fields, body: [whole[bytes]])
        }
        @Sendable func response(
            _ cache: ResourceCache, _ language: String, range: String? = nil,
            mode: ResourceCache.LookupMode = .useCache
        ) async throws -> CachedResponse {
            var request = TransportRequest(url("a"), headerFields: [.acceptLanguage: language])
            request.headerFields[.range] = range
            return try await cache.response(for: request, mode: mode)
        }
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { parent in
            let directory = parent.appending(path: "cache")
            let copies = parent.appending(path: "copies")
            try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
            let snapshots = DirectoryCopies(of: directory, in: copies)
            let files = FileIO(calls: snapshots.calls)
            try await withCache(in: directory, transport, files: files) { cache in
                _ = try await response(cache, "de")
                _ = try await response(cache, "en")
                _ = try await response(cache, "de", mode: .reload)
                _ = try await response(cache, "fr", range: "bytes=0-399")
                _ = try await response(cache, "fr")
                _ = try await cache.response(for: TransportRequest(url("a"), method: .delete))
            }
            await files.shutdown()
            #expect(snapshots.all.count > 20 && snapshots.failures.values.isEmpty)
            for copy in snapshots.all {
                try await withCache(in: copy, transport) { cache in
                    try await expectConsistent(cache)
                    for (index, language) in languages.enumerated() {
                        let response = try await response(cache, language)
                        #expect(response.status == .ok && same(response.body, pattern(1000, seed: 1 + index)))
                    }
                    #expect(cache.statistics.damaged == 0 && cache.statistics.diskFailures == 0)
                    try await expectConsistent(cache, entries: 3)
                }
            }
        }
    }

    @Test func `a live writer's files are kept, and removed once it's dead`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, _ in .bytes(pattern(1000)) }
            let key = ResourceKey(url("a"))
            try await withCache(in: directory, transport) { living in
                let head = StoredResponse.Head(
                    status: 200, fields: [:], length: 1000, requested: living.now(), received: living.now(),
                    policy: living.policy)
                let response = StoredResponse(head: head, body: pattern(1000))
                let digest = await sha256(response.body)
                let disk = try await living.settledDisk
                let inserted = try await disk.makeRoom(for: 1000, [key]) { [slot = disk.slot] in
                    try DiskIndex.insertWriting(
                        response.head, bytes: response.body.count, digest: digest, key: key, writer: slot.number,
                        now: 1, in: $0)
                }.inserted
                let row = try #require(inserted)
                let file = disk.file(row, key)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: false)
                try pattern(1000).write(to: file)

                let number = try await withCache(in: directory, transport) { try await $0.settledDisk.slot.number }
                #expect(number == 1)
                #expect(bodies(in: directory).count == 1)
                let rows = try await living.settledDisk.database.read {
                    try Int.fetchOne($0, sql: "SELECT count(*) FROM entry")
                }
                #expect(rows == 1)

                // As if another writer had been killed while it was writing. The next cache to open removes its row and file.
                try await living.settledDisk.database.write { try $0.execute(sql: "UPDATE entry SET writer = 7") }
                try await withCache(in: directory, transport) { try await expectConsistent($0, entries: 0) }
            }
        }
    }

    /// Cancels a fetch at its n-th step, including the steps of storing it, for each n until the cancellation comes too late.
    @Test(.timeLimit(.minutes(15))) func `cancelling at any moment leaves no file, reservation or row`() async throws {
        var step = 0
        while true {
            step += 1
            let cancelled = step
            let wasReached = Guarded(false)
            let victim = Guarded<Task<Data, any Error>?>(nil)
            let steps = Guarded(0)
            let take: @Sendable () -> Void = {
                let isIt = steps.withLock { steps in
                    steps += 1
                    return steps == cancelled
                }
                guard isIt else { return }
                wasReached.withLock { $0 = true }
                victim.withLock { $0 }?.cancel()
            }
            let real = SystemCalls.system
            let isWatched = Guarded(false)
            var calls = real
            calls.open = { path, flags, mode in
                if isWatched.withLock({ $0 }) { take() }
                return real.open(path, flags, mode)
            }
            calls.write = { descriptor, bytes in
                if isWatched.withLock({ $0 }) { take() }
                return real.write(descriptor, bytes)
            }
            calls.unlink = { path in
                if isWatched.withLock({ $0 }) { take() }
                return real.unlink(path)
            }
            let files = FileIO(calls: calls)
            let gate = Gate()
            let transport = ClosureTransport { request, _ in
                if request.url == url("victim") {
                    await gate.pass()
                    take()
                }
                return .bytes(pattern(1000))
            }
            let configuration = ResourceCache.Configuration(maximumDiskSize: 5000, maximumDiskEntrySize: 1000)
            try await withCache(transport, configuration, files: files) { cache in
                for name in ["a", "b", "c"] { _ = try await cache.data(for: url(name)) }
                isWatched.withLock { $0 = true }
                let task = Task { try await cache.data(for: url("victim")) }
                victim.withLock { $0 = task }
                await gate.open()
                _ = await task.result
                await cache.backlog.drain()
                isWatched.withLock { $0 = false }
                try await expectConsistent(cache)
                #expect(cache.flights.runningCount == 0 && cache.limiter.runningCount == 0)
                // The cache still works.
                try await expect(pattern(1000), from: cache, url("victim"))
            }
            await files.shutdown()
            if !wasReached.withLock({ $0 }) { break }
        }
        #expect(step > 4)
    }
}

// MARK: - Processes

/// Processes that use one directory concurrently, and are killed. `SLUICE_CACHE_ROUNDS` is the number of rounds, each with its own seeds.
@Suite(.serialized) struct `Eight processes on one cache` {
    private static let rounds =
        ProcessInfo.processInfo.environment["SLUICE_CACHE_ROUNDS"].flatMap { Int($0) } ?? 1
    private static let limit = 60_000

    /// A running `CacheWorker`.
    private struct Worker: Sendable {
        private let process = Process()
        private let ended: Condition
        private let output = Pipe()
        private let errors = Pipe()

        init(in directory: URL, requests: Int, seed: Int) throws {
            let (ended, end) = Condition.makeCondition()
            self.ended = ended
            process.executableURL = try builtProgram("CacheWorker")
            process.arguments = [
                "--directory", directory.path, "--limit", "\(limit)", "--urls", "60", "--requests", "\(requests)",
                "--seed", "\(seed)",
            ]
            process.standardOutput = output
            process.standardError = errors
            process.terminationHandler = { _ in end.signal() }
            try process.run()
        }

        /// Waits until the worker has made this many requests, and kills it with SIGKILL.
        func kill(after requests: Int) async throws {
            var left = requests
            while left > 0 {
                let descriptor = output.fileHandleForReading.fileDescriptor
                let dots = try await FileIO.shared.read(upToCount: left, descriptor: descriptor, name: "worker")
                if dots.isEmpty { break }
                left -= dots.count
            }
            _ = Foundation.kill(process.processIdentifier, SIGKILL)
        }

        /// Waits for the worker to exit. Returns whether it was killed, its exit status, and what it wrote to standard error.
        func end() async throws -> (wasKilled: Bool, status: Int32, errors: String) {
            await withTaskCancellationHandler {
                _ = await ended.wait()
            } onCancel: {
                _ = Foundation.kill(process.processIdentifier, SIGKILL)
            }
            let text = try await FileIO.shared.readToEnd(
                descriptor: errors.fileHandleForReading.fileDescriptor, name: "worker", maximumSize: 1 << 20)
            withExtendedLifetime(errors) {}
            return (
                process.terminationReason == .uncaughtSignal, process.terminationStatus,
                String(decoding: text, as: UTF8.self)
            )
        }
    }

    /// Opens the directory like the next process would, and expects that files and rows agree and that nothing is damaged.
    private func check(_ directory: URL, _ comment: Comment) async throws {
        try await withCache(in: directory, ScriptedTransport([:])) { cache in
            try await expectConsistent(cache)
            let used = try await cache.settledDisk.database.read { try DiskIndex.usedBytes(in: $0) }
            #expect(used <= Self.limit && used > 0, comment)
            let hidden = try FileManager.default.subpathsOfDirectory(atPath: directory.path).filter {
                $0.hasSuffix(".part")
            }
            #expect(hidden.isEmpty, comment)
        }
        let problems = Recorder<String>()
        try await CacheDirectory.withDirectory(at: directory) {
            _ = try await $0.verify(isRepairing: false) {
                problems.note("\($0.kind.rawValue): \($0.url ?? $0.file.lastPathComponent)")
            }
        }
        #expect(problems.values == [], comment)
    }

    @Test(.timeLimit(.minutes(60)))
    func `get the right bytes, share one limit, and leave a file for each row`() async throws {
        for round in 0..<Self.rounds {
            try await withDirectory { directory in
                let workers = try (0..<8).map { try Worker(in: directory, requests: 60, seed: round &* 8 &+ $0) }
                for worker in workers {
                    let end = try await worker.end()
                    #expect(!end.wasKilled && end.status == 0, "round \(round): \(end.errors)")
                }
                try await check(directory, "round \(round)")
            }
        }
    }

    @Test(.timeLimit(.minutes(60)))
    func `leave nothing behind when killed at any moment`() async throws {
        var random = SeededRandom(seed: 7)
        var kills = 0
        for round in 0..<Self.rounds {
            try await withDirectory { directory in
                for generation in 0..<3 {
                    // Three workers are killed, each with four requests running. The last one keeps using the directory.
                    let workers = try (0..<4).map {
                        try Worker(
                            in: directory, requests: $0 == 3 ? 40 : 10_000, seed: (round &* 3 &+ generation) &* 4 &+ $0)
                    }
                    for worker in workers.dropLast() {
                        try await worker.kill(after: .random(in: 0...30, using: &random))
                    }
                    for worker in workers.dropLast() {
                        let end = try await worker.end()
                        #expect(end.wasKilled, "\(end.errors)")
                        kills += 1
                    }
                    let end = try await workers[3].end()
                    #expect(!end.wasKilled && end.status == 0, "round \(round): \(end.errors)")
                    try await check(directory, "round \(round), generation \(generation)")
                }
            }
        }
        #expect(kills == Self.rounds * 9)
    }
}
