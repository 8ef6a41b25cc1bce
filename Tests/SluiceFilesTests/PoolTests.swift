import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

struct `The queue of jobs` {
    @Test func `the queue agrees with a plain list over random operations, and keeps few numbers of removed jobs`() {
        var random = SeededRandom(seed: 42)
        for _ in 0..<200 {
            var queue = JobQueue<String>()
            var model: [(id: UInt64, element: String)] = []
            var next: UInt64 = 0
            for _ in 0..<300 {
                switch random.next() % 4 {
                case 0, 1:
                    queue.append("\(next)", id: next)
                    model.append((next, "\(next)"))
                    next += 1
                case 2:
                    #expect(queue.removeFirst() == (model.isEmpty ? nil : model.removeFirst().element))
                default:
                    let id = next == 0 ? 0 : random.next() % next
                    let index = model.firstIndex { $0.id == id }
                    #expect(queue.remove(id: id) == index.map { model.remove(at: $0).element })
                }
                #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
                #expect(queue.storedNumbers <= 2 * model.count + 17)
            }
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `The worker pool` {
    @Test func `threads start with the first job and stay below their limit`() async throws {
        try await withIO(concurrency: 3) { io, directory in
            #expect(io.statistics.threadCount == 0)
            _ = try await io.status(of: directory)
            #expect(io.statistics.threadCount == 1)
            await withTaskGroup { group in
                for _ in 0..<200 { group.addTask { _ = try? await io.status(of: directory) } }
            }
            #expect((1...3).contains(io.statistics.threadCount))
            #expect(io.statistics.finishedCount == 201)
        }
    }

    @Test func `sixty-four stuck files block the pool's threads but no cooperative thread`() async throws {
        let gate = ThreadGate()
        try await withIO(concurrency: 4, calls: gate.beforeOpen()) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5).write(to: url)
            let stuck = (0..<64).map { _ in Task { try await Data(asyncContentsOf: url, using: io) } }
            await gate.waitForThreads(4)
            try await io.waitForStatistics { $0.waitingCount >= 60 }
            // All other tasks continue, although there are many more of them than cooperative threads.
            let beats = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<64 {
                    group.addTask {
                        await suspend(times: 100)
                        return 100
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(beats == 6400)
            // Another engine has separate threads.
            try await withIO { other, _ in
                let read = try await Data(asyncContentsOf: url, using: other)
                #expect(read == pattern(5))
            }
            #expect(io.statistics.runningCount == 4)
            #expect(io.statistics.finishedCount == 0)
            gate.open()
            for task in stuck { #expect(try await task.value == pattern(5)) }
        }
    }

    @Test func `work that the main actor starts runs on a worker`() async throws {
        let threads = Guarded<Set<String>>([])
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            threads.withLock { _ = $0.insert(nameOfThisThread()) }
            return SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(calls: calls) { io, directory in
            try await Task { @MainActor in
                let url = directory.appending(path: "file")
                try await pattern(5).asyncWrite(to: url, using: io)
                #expect(try await Data(asyncContentsOf: url, using: io) == pattern(5))
                MainActor.assertIsolated()
            }.value
            #expect(threads.withLock { $0 } == ["sluice-files"])
        }
    }

    @Test func `a shutdown finishes submitted jobs and refuses later ones`() async throws {
        let gate = ThreadGate()
        try await withIO(concurrency: 1, calls: gate.beforeOpen()) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5).write(to: url)
            let submitted = (0..<3).map { _ in Task { try await Data(asyncContentsOf: url, using: io) } }
            await gate.waitForThreads(1)
            try await io.waitForStatistics { $0.waitingCount >= 2 }
            let ending = Task { await io.shutdown() }
            gate.open()
            await ending.value
            for task in submitted { #expect(try await task.value == pattern(5)) }
            await expectFileError(.shutDown) { try await Data(asyncContentsOf: url, using: io) }
            await io.shutdown()
        }
    }

    @Test func `a stream that outlives the shutdown can still be closed`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let closed = try await url.openForWriting(using: io)
            let dropped = try await url.openForWriting(using: io)
            await io.shutdown()
            do {
                try await closed.write(pattern(1))
                Issue.record("nothing was thrown")
            } catch let error as FileError {
                #expect(error.code == .shutDown)
            }
            try await closed.close()
            _ = consume dropped
        }
    }

    @Test(.timeLimit(.minutes(15))) func `releasing an engine ends its threads and closes its descriptors`()
        async throws
    {
        /// Deallocated with the calls, as soon as neither the engine nor any of its threads has them.
        final class Closes: Sendable {
            let ends: AsyncStream<CInt>.Continuation
            init(_ ends: AsyncStream<CInt>.Continuation) { self.ends = ends }
            deinit { ends.finish() }
        }
        let closed = AsyncStream.makeStream(of: CInt.self)
        try await FileIO.shared.withTemporaryDirectory { directory in
            weak var weakly: FileIO?
            do {
                let closes = Closes(closed.continuation)
                var calls = SystemCalls.system
                calls.close = { descriptor in
                    defer { closes.ends.yield(descriptor) }
                    return SystemCalls.system.close(descriptor)
                }
                let io = FileIO(configuration: .init(concurrency: 2), calls: calls)
                weakly = io
                _ = try await directory.appending(path: "file").openForWriting(using: io)
            }
            #expect(await closed.stream.reduce(into: []) { $0.append($1) }.count == 1)
            #expect(weakly == nil)
        }
    }

    // MARK: No threads

    @Test func `without threads, an operation fails with a remedy`() async throws {
        var calls = SystemCalls.system
        calls.startThread = { _, _ in -EAGAIN }
        try await withIO(calls: calls) { io, directory in
            for _ in 0..<3 {
                let error = await expectFileError(.exhausted) { try await io.status(of: directory) }
                #expect(error?.systemError == EAGAIN && error?.remedy?.contains("threads") == true)
            }
            #expect(io.statistics.threadCount == 0)
        }
    }

    @Test func `a thread that doesn't start leaves its job to the others`() async throws {
        let starts = Guarded(0)
        let gate = ThreadGate()
        var calls = gate.beforeOpen()
        calls.startThread = { stackSize, body in
            let isFirst = starts.withLock { starts in
                starts += 1
                return starts == 1
            }
            return isFirst ? SystemCalls.system.startThread(stackSize, body) : -EAGAIN
        }
        try await withIO(concurrency: 4, calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5).write(to: url)
            let first = Task { try await Data(asyncContentsOf: url, using: io) }
            await gate.waitForThreads(1)
            let more = (0..<3).map { _ in Task { try await Data(asyncContentsOf: url, using: io) } }
            try await io.waitForStatistics { $0.waitingCount >= 3 }
            gate.open()
            for task in [first] + more { #expect(try await task.value == pattern(5)) }
            #expect(starts.withLock { $0 } == 4)
        }
    }

    @Test func `without threads, a stream is still closed`() async throws {
        let hasThreads = Guarded(true)
        var calls = SystemCalls.system
        calls.startThread = { stackSize, body in
            hasThreads.withLock { $0 } ? SystemCalls.system.startThread(stackSize, body) : -EAGAIN
        }
        try await withIO(calls: calls) { io, directory in
            let part = directory.appending(path: "part")
            let closed = try await part.openForWriting(using: io)
            let dropped = try await part.openForWriting(using: io)
            await io.shutdown()
            hasThreads.withLock { $0 = false }
            let finished = io.statistics.finishedCount
            try await closed.close()
            _ = consume dropped
            #expect(io.statistics.openCount == 0)
            #expect(io.statistics.finishedCount == finished + 2)
        }
    }

    @Test func `a shutdown returns even if it waits for a thread that doesn't start`() async throws {
        let executor = ManualExecutor()
        let engine = Guarded<FileIO?>(nil)
        let log = CallLog()
        var calls = SystemCalls.system
        calls.startThread = { _, _ in
            // The job is in the queue. Now another task shuts down the engine.
            if let io = engine.withLock({ $0.take() }) {
                _ = executor.spawn {
                    await io.shutdown()
                    log.add("ended")
                }
                executor.runUntilIdle()
            }
            return -EAGAIN
        }
        let io = FileIO(calls: calls)
        engine.withLock { $0 = io }
        await expectFileError(.exhausted) { try await io.status(of: URL(filePath: "/")) }
        // Nothing waits for the thread anymore, so the shutdown can continue.
        executor.runUntilIdle()
        #expect(log.all == ["ended"])
        #expect(io.statistics.threadCount == 0)
    }

    @Test(arguments: [Int.min, 0, 1, 48 << 10])
    func `a stack size that is too small is increased`(size: Int) async throws {
        let io = FileIO(configuration: .init(concurrency: 1, stackSize: size))
        try await io.withTemporaryDirectory { directory in
            try await pattern(1).asyncWrite(to: directory.appending(path: "file"), using: io)
            #expect(try await io.entries(of: directory).count == 1)
            let (tree, copy) = (directory.appending(path: "tree"), directory.appending(path: "copy"))
            try await io.createDirectory(at: tree.appending(path: "a/b/c"))
            try await io.copyTree(tree, to: copy, options: .init(attributes: .allButOwner))
            for try await _ in io.walk(copy) {}
            try await io.removeTree(copy)
        }
        await io.shutdown()
    }
}

// MARK: - Other work continues

/// Proves that no thread blocks, neither in the cooperative pool nor in the engine.
@Suite(.timeLimit(.minutes(15))) struct `Heartbeats` {
    /// Reads a file repeatedly while a task counts heartbeats, and expects both to finish.
    private static func expectLife(_ io: FileIO, _ directory: URL) async throws {
        let file = directory.appending(path: "file")
        try await pattern(100_000).asyncWrite(to: file, options: .init(durability: .none), using: io)
        async let beats = Task {
            // Each beat needs a thread of the cooperative pool.
            await suspend(times: 100)
            return 100
        }.value
        for _ in 0..<30 {
            let read = try await Data(asyncContentsOf: file, using: io)
            #expect(same(read, pattern(100_000)))
        }
        #expect(await beats == 100)
    }

    // In a child process: it takes hundreds of descriptors.
    @Test func `while 128 FIFOs wait for their other side, files are read and the heart beats`() async {
        await #expect(processExitsWith: .success) {
            try await withIO(concurrency: 2) { io, directory in
                let reading = (0..<64).map { makeFIFO(directory, "r\($0)") }
                let opening = (0..<64).map { makeFIFO(directory, "w\($0)") }
                let reads = reading.map { url in Task { try await Data(asyncContentsOf: url, using: io) } }
                let opens = opening.map { url in
                    Task { try await url.withFileForWriting(using: io) { try await $0.write(pattern(1)) } }
                }
                try await io.waitForStatistics { $0.readinessWaitingCount >= 64 }
                try await Self.expectLife(io, directory)
                #expect(io.statistics.readinessWaitingCount == 64)
                for task in reads { task.cancel() }
                for task in opens { task.cancel() }
                for task in reads { await #expect(throws: CancellationError.self) { try await task.value } }
                for task in opens { await #expect(throws: CancellationError.self) { try await task.value } }
                // The lane's own descriptors.
                #expect(io.statistics.openCount == 2 && io.statistics.readinessWaitingCount == 0)
            }
        }
    }

    // In a child process: it takes hundreds of descriptors.
    @Test func `while handles of pipes, sockets and terminals are silent, files are read and the heart beats`() async {
        await #expect(processExitsWith: .success) {
            try await withIO(concurrency: 2) { io, directory in
                let pipes = (0..<64).map { _ in TestPipe() }
                let ends = (0..<64).map { _ in Ends.sockets() } + (0..<16).map { _ in Ends.terminal() }
                defer { for end in ends { end.close() } }
                let silent = pipes.map(\.reading) + ends.map(\.ours)
                let reads = silent.map { descriptor in
                    Task {
                        for try await _ in FileHandle(fileDescriptor: descriptor).chunks(using: io) { return false }
                        return true
                    }
                }
                // No program reads what is written to these.
                let full = pipes.map(\.writing).prefix(0) + ends.map(\.theirs)
                let writes = full.prefix(64).map { descriptor in
                    Task { try await FileHandle(fileDescriptor: descriptor).asyncWrite(pattern(1_000_000), using: io) }
                }
                for task in reads.dropFirst(64).prefix(64) { _ = try await task.value }
                try await io.waitForStatistics { $0.readinessWaitingCount >= 64 + 16 + 64 }
                try await Self.expectLife(io, directory)
                for task in reads { task.cancel() }
                for task in writes { task.cancel() }
                for task in reads { _ = await task.result }
                for task in writes { await expectFileError(.cancelled) { try await task.value } }
                #expect(io.statistics.readinessWaitingCount == 0)
            }
        }
    }

    @Test func `a slow disk doesn't block open FIFOs, and they don't block the disk`() async throws {
        let gate = ThreadGate()
        var calls = SystemCalls.system
        calls.inline.read = { _, _, _ in -Int(EAGAIN) }
        calls.read = { descriptor, buffer in
            gate.pass()
            return SystemCalls.system.read(descriptor, buffer)
        }
        try await withIO(concurrency: 2, calls: calls) { io, directory in
            let url = makeFIFO(directory)
            let file = directory.appending(path: "file")
            try pattern(10_000).write(to: file)
            let reader = try await url.openForReading(using: io)
            let writer = try await url.openForWriting(using: io)
            let stuck = (0..<8).map { _ in Task { try await Data(asyncContentsOf: file, using: io) } }
            await gate.waitForThreads(2)
            try await io.waitForStatistics { $0.waitingCount >= 6 }
            // Both threads are stuck, but a FIFO can still be read, written and closed.
            for round in 0..<50 {
                try await writer.write(pattern(1000, seed: UInt8(round)))
                let read = try await reader.read(upToCount: 1000)
                #expect(same(read, pattern(1000, seed: UInt8(round))))
            }
            let pipe = TestPipe()
            async let piped = io.readToEnd(descriptor: pipe.reading, name: "pipe")
            try await io.write(pattern(300_000), descriptor: pipe.writing, name: "pipe")
            pipe.closeWriting()
            #expect(same(try await piped, pattern(300_000)))
            try await writer.close()
            let rest = try await reader.readToEnd()
            #expect(rest.isEmpty)
            try await reader.close()
            #expect(io.statistics.runningCount == 2 && io.statistics.waitingCount == 6)
            gate.open()
            for task in stuck {
                let read = try await task.value
                #expect(same(read, pattern(10_000)))
            }
        }
    }
}
