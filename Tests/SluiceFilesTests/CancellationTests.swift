import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct Cancellation {
    @Test func `a cancelled task starts no operation`() async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let url = directory.appending(path: "file")
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await #expect(throws: CancellationError.self) { try await Data(asyncContentsOf: url, using: io) }
                await #expect(throws: CancellationError.self) { try await pattern(1).asyncWrite(to: url, using: io) }
                await #expect(throws: CancellationError.self) { try await url.withFileForWriting(using: io) { _ in } }
                await #expect(throws: CancellationError.self) { try await io.removeTree(directory) }
            }
            await task.value
            #expect(log.all == [])
        }
    }

    @Test func `a cancelled waiting job leaves the queue immediately, while the thread is still blocked`() async throws
    {
        let gate = ThreadGate()
        try await withIO(concurrency: 1, calls: gate.beforeOpen()) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5).write(to: url)
            let first = Task { try await Data(asyncContentsOf: url, using: io) }
            await gate.waitForThreads(1)
            let waiting = (0..<50).map { _ in Task { try await Data(asyncContentsOf: url, using: io) } }
            let last = Task { try await Data(asyncContentsOf: url, using: io) }
            try await io.waitForStatistics { $0.waitingCount >= 51 }
            for task in waiting { task.cancel() }
            for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
            #expect(io.statistics.waitingCount == 1)
            #expect(io.statistics.runningCount == 1)
            #expect(io.statistics.withdrawnCount == 50)
            gate.open()
            #expect(try await first.value == pattern(5))
            #expect(try await last.value == pattern(5))
        }
    }

    @Test func `a job that has started is awaited, and its result takes precedence over the cancellation`() async throws
    {
        let gate = ThreadGate()
        try await withIO(concurrency: 1, calls: gate.beforeOpen()) { io, directory in
            let url = directory.appending(path: "file")
            let write = Task { try await pattern(5).asyncWrite(to: url, using: io) }
            await gate.waitForThreads(1)
            write.cancel()
            gate.open()
            try await write.value
            #expect(same(contents(of: url), pattern(5)))
        }
    }

    @Test func `an open that is cancelled while it runs returns the stream or leaks nothing`() async throws {
        let gate = ThreadGate()
        try await withIO(concurrency: 1, calls: gate.beforeOpen()) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5).write(to: url)
            let open = Task {
                let stream = try await url.openForReading(using: io)
                try await stream.close()
            }
            await gate.waitForThreads(1)
            open.cancel()
            gate.open()
            try await open.value
        }
    }

    @Test func `a long read stops between two system calls`() async throws {
        let reads = Guarded(0)
        let task = Guarded<Task<Data, any Error>?>(nil)
        let gate = ThreadGate()
        var calls = SystemCalls.system
        calls.read = { descriptor, buffer in
            if reads.withLock({
                $0 += 1; return $0
            }) == 3 {
                gate.pass()
                task.withLock { $0 }?.cancel()
            }
            return SystemCalls.system.read(descriptor, buffer)
        }
        try await withIO(calls: calls) { io, _ in
            let read = Task { try await Data(asyncContentsOf: URL(filePath: "/dev/zero"), using: io) }
            await gate.waitForThreads(1)
            task.withLock { $0 = read }
            gate.open()
            await #expect(throws: CancellationError.self) { try await read.value }
            #expect(reads.withLock { $0 } == 3)
        }
    }

    @Test func `close, discard and the cleanup of publish run even if the task is cancelled`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "part")
            let task = Task {
                let closed = try await part.openForWriting(locked: true, using: io)
                withUnsafeCurrentTask { $0?.cancel() }
                try await closed.close()
            }
            try await task.value
            #expect(io.statistics.openCount == 0)

            let discarding = Task {
                let stream = try await part.openForWriting(locked: true, using: io)
                withUnsafeCurrentTask { $0?.cancel() }
                try await stream.discard()
            }
            try await discarding.value
            #expect(io.statistics.openCount == 0)
            #expect(names(in: directory) == [])

            let publishing = Task {
                let stream = try await part.openForWriting(locked: true, using: io)
                withUnsafeCurrentTask { $0?.cancel() }
                try await stream.publish(as: directory.appending(path: "whole"), existing: .replace)
            }
            await #expect(throws: CancellationError.self) { try await publishing.value }
            #expect(io.statistics.openCount == 0)
            #expect(names(in: directory) == ["part"])
        }
    }

    @Test func `a storm of cancellations leaves every count at zero`() async throws {
        try await withIO(concurrency: 3) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            var ended = 0
            // In waves, so that a third of the tasks has a file open.
            for wave in 0..<4 {
                ended += await withTaskGroup(of: Bool.self) { group in
                    for index in (wave * 250)..<(wave * 250 + 250) {
                        group.addTask {
                            let task = Task {
                                switch index % 3 {
                                case 0:
                                    _ = try await url.withFileForReading(using: io) { try await $0.readToEnd().count }
                                case 1: _ = try await Data(asyncContentsOf: url, using: io).count
                                default:
                                    try await pattern(10).asyncWrite(
                                        to: directory.appending(path: "\(index)"), options: .init(durability: .none),
                                        using: io
                                    )
                                }
                            }
                            await suspend(times: index % 7)
                            task.cancel()
                            switch await task.result {
                            case .success: return true
                            case .failure(let error): return error is CancellationError
                            }
                        }
                    }
                    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
            }
            #expect(ended == 1000)
            #expect(names(in: directory).filter { $0.hasPrefix(".") } == [])
        }
    }
}

// MARK: - Uninterrupted

@Suite(.timeLimit(.minutes(15))) struct Uninterrupted {
    /// Runs `body` in a task that is cancelled before it begins.
    private func cancelled<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
        try await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await body()
        }.value
    }

    @Test func `a cancelled task can save its state with uninterrupted, and otherwise gets CancellationError`()
        async throws
    {
        try await withIO { io, directory in
            let state = directory.appending(path: "state")
            await #expect(throws: CancellationError.self) {
                try await cancelled { try await pattern(100).asyncWrite(to: state, using: io) }
            }
            #expect(names(in: directory) == [])
            try await cancelled {
                try await FileIO.uninterrupted { try await pattern(100).asyncWrite(to: state, using: io) }
                #expect(Task.isCancelled)
            }
            #expect(same(contents(of: state), pattern(100)))
        }
    }

    @Test func `a cancelled task finishes renames, removals, copies, reads and writes`() async throws {
        try await withIO { io, directory in
            let (a, b, c) = (
                directory.appending(path: "a"), directory.appending(path: "b"), directory.appending(path: "c")
            )
            try pattern(3000).write(to: a)
            try await cancelled {
                try await FileIO.uninterrupted {
                    try await io.rename(a, to: b)
                    try await io.copy(b, to: a)
                    try await io.remove(b)
                    let whole = try await Data(asyncContentsOf: a, using: io).count
                    let (start, rest) = try await a.withFileForReading(using: io) { file in
                        (try await file.read(upToCount: 100).count, try await file.readToEnd().count)
                    }
                    let end = try await a.withRandomAccessFile(using: io) { file in
                        try await file.read(at: 2990, upToCount: 100).count
                    }
                    let counts: [Int] = [whole, start, rest, end]
                    #expect(counts == [3000, 100, 2900, 10])
                    try await c.withFileForWriting(using: io) { try await $0.write(pattern(5)) }
                }
            }
            #expect(names(in: directory) == ["a", "c"])
        }
    }

    @Test func `a cancelled task can write to an open file but not to a pipe`() async throws {
        try await withIO { io, directory in
            let log = directory.appending(path: "log")
            try Data().write(to: log)
            let (handle, pipe) = (try FileHandle(forWritingTo: log), Pipe())
            try await cancelled {
                await #expect(throws: CancellationError.self) { try await handle.asyncWrite(pattern(10), using: io) }
                await #expect(throws: CancellationError.self) {
                    try await FileIO.uninterrupted {
                        try await pipe.fileHandleForWriting.asyncWrite(pattern(10), using: io)
                    }
                }
                try await FileIO.uninterrupted { try await handle.asyncWrite(pattern(20), using: io) }
            }
            try handle.close()
            try pipe.fileHandleForWriting.close()
            #expect(same(contents(of: log), pattern(20)))
            #expect(try pipe.fileHandleForReading.readToEnd() ?? Data() == Data())
        }
    }

    @Test func `an operation that waits for a thread stays in the queue when its task is cancelled`() async throws {
        let gate = ThreadGate()
        try await withIO(concurrency: 1, calls: gate.beforeOpen()) { io, directory in
            let (first, state) = (directory.appending(path: "first"), directory.appending(path: "state"))
            let write = Task { try await pattern(5).asyncWrite(to: first, using: io) }
            await gate.waitForThreads(1)
            let saving = Task {
                try await FileIO.uninterrupted { try await pattern(6).asyncWrite(to: state, using: io) }
            }
            try await io.waitForStatistics { $0.waitingCount == 1 }
            saving.cancel()
            #expect(io.statistics.waitingCount == 1 && io.statistics.withdrawnCount == 0)
            gate.open()
            try await write.value
            try await saving.value
            #expect(same(contents(of: state), pattern(6)))
        }
    }

    @Test func `a wait for a pipe still ends when its task is cancelled`() async throws {
        try await withIO { io, _ in
            let pipe = Pipe()
            await #expect(throws: CancellationError.self) {
                try await cancelled {
                    try await FileIO.uninterrupted {
                        try await pipe.fileHandleForReading.asyncRead(upToCount: 1, using: io)
                    }
                }
            }
        }
    }

    @Test func `child tasks inherit uninterrupted, and detached tasks don't`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            try await cancelled {
                try await FileIO.uninterrupted {
                    try await withThrowingTaskGroup { group in
                        group.addTask { try await io.status(of: url) }
                        try await group.waitForAll()
                    }
                    let detached = Task.detached {
                        withUnsafeCurrentTask { $0?.cancel() }
                        return try await io.status(of: url)
                    }
                    let result = await detached.result
                    #expect(throws: CancellationError.self) { try result.get() }
                }
                await #expect(throws: CancellationError.self) { try await io.status(of: url) }
            }
        }
    }

    @Test func `an engine that was shut down refuses uninterrupted operations`() async throws {
        try await withIO { io, directory in
            await io.shutdown()
            await expectFileError(.shutDown) {
                try await FileIO.uninterrupted { try await io.exists(directory) }
            }
        }
    }
}

// MARK: - A storm

/// Thousands of tasks run all kinds of operations. Each is cancelled at a moment that the seed determines.
@Suite(.timeLimit(.minutes(15))) struct `A storm of cancellations` {
    /// What a task does to files that no other kind of task touches.
    enum Work: Int, CaseIterable, Sendable {
        case read, replace, replaceNamed, create, stream, append, chunks, publish, discard, rename, makeAndRemoveTree
        case temporaryDirectory, checkpoint, fifo
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `cancelled tasks leave nothing open or waiting, and every file whole`(seed: UInt64) async throws {
        try await withIO(concurrency: 3, in: memoryDirectory) { io, directory in
            let whole = directory.appending(path: "whole")
            try pattern(5000).write(to: whole)
            try pattern(5000).write(to: directory.appending(path: "replaced"))
            try pattern(5000).write(to: directory.appending(path: "named"))
            var ended: [String] = []
            // In waves, so that many of the tasks have a file open.
            for wave in 0..<10 {
                ended += await withTaskGroup(of: String?.self) { group in
                    for index in (wave * 200)..<(wave * 200 + 200) {
                        group.addTask {
                            var random = SeededRandom(seed: seed &* 1_000_003 &+ UInt64(index))
                            let work = Work.allCases.randomElement(using: &random)!
                            let delay = Int.random(in: 0...60, using: &random)
                            let task = Task { try await Self.perform(work, index, io, directory) }
                            await suspend(times: delay)
                            task.cancel()
                            switch await task.result {
                            case .success: return nil
                            case .failure(let error as FileError) where error.code == .locked && work == .replaceNamed:
                                return nil
                            case .failure(let error): return error is CancellationError ? nil : "\(work): \(error)"
                            }
                        }
                    }
                    return await group.reduce(into: [String]()) { complaints, complaint in
                        if let complaint { complaints.append(complaint) }
                    }
                }
            }
            #expect(ended == [], "\(ended.count) ended in another way")

            for name in ["whole", "replaced", "named"] {
                #expect(same(contents(of: directory.appending(path: name)), pattern(5000)), "\(name)")
            }
            // Dropped streams and temporary files are cleaned up by the last jobs.
            await io.shutdown()
            for name in names(in: directory) {
                #expect(!name.hasPrefix(".sluice-"), "\(name)")
                #expect(!name.hasPrefix("temporary-"), "\(name)")
                #expect(name != "named.part", "\(name)")
                if name.hasPrefix("created-") || name.hasPrefix("published-") {
                    #expect(same(contents(of: directory.appending(path: name)), pattern(3000)), "\(name)")
                }
                if name.hasPrefix("discarded-") { Issue.record("\(name)") }
            }
        }
    }

    private static func perform(_ work: Work, _ index: Int, _ io: FileIO, _ directory: URL) async throws {
        func own(_ prefix: String) -> URL { directory.appending(path: "\(prefix)-\(index)") }
        let whole = directory.appending(path: "whole")
        switch work {
        case .read: try expectSame(await Data(asyncContentsOf: whole, using: io), pattern(5000))
        case .replace:
            try await pattern(5000).asyncWrite(
                to: directory.appending(path: "replaced"), options: .init(durability: .data), using: io)
        case .replaceNamed:
            try await pattern(5000).asyncWrite(
                to: directory.appending(path: "named"), options: .init(temporaryName: "named.part"), using: io)
        case .create:
            try await pattern(3000).asyncWrite(to: own("created"), options: .init(existing: .fail), using: io)
        case .stream:
            let data = try await whole.withFileForReading(using: io) { stream in
                try await stream.read(upToCount: 10) + stream.readToEnd()
            }
            try expectSame(data, pattern(5000))
        case .append:
            try await own("appended").withFileForWriting(existing: .append, locked: true, using: io) { stream in
                for _ in 0..<5 { try await stream.write(pattern(100)) }
                try await stream.sync(.data)
            }
        case .chunks:
            var count = 0
            for try await chunk in whole.chunks(of: 700, using: io) {
                count += chunk.count
                if index % 2 == 0 && count > 2000 { break }
            }
        case .publish, .discard:
            let name = work == .publish ? "part" : "discarded"
            let part = try await own(name).openForWriting(locked: true, using: io)
            do {
                try await part.write(pattern(3000))
            } catch {
                try? await part.discard()
                throw error
            }
            if work == .discard { return try await part.discard() }
            try await part.publish(as: own("published"), existing: .fail, removesOnFailure: true)
        case .rename:
            try await pattern(100).asyncWrite(to: own("a"), options: .init(durability: .none), using: io)
            try await io.rename(own("a"), to: own("b"), existing: .fail)
            try await io.remove(own("b"))
        case .makeAndRemoveTree:
            try await io.createDirectory(at: own("tree").appending(path: "x/y"))
            try await io.removeTree(own("tree"))
        case .temporaryDirectory:
            try await io.withTemporaryDirectory(prefix: "temporary", in: directory) { temporary in
                try await pattern(10).asyncWrite(to: temporary.appending(path: "x"), using: io)
            }
        case .checkpoint:
            let places = CheckpointedFile.Places(
                file: own("song"), checkpoint: own("song-check"), temporary: own("song-new"))
            guard let opened = try await CheckpointedFile.openLocked(places, mode: .always, using: io) else { return }
            let result = await Result { _ = try await opened.file.append([pattern(100)]) }
            await opened.file.discard()
            try result.get()
        case .fifo:
            let fifo = own("fifo")
            guard mkfifo(fifo.path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            let descriptor = open(fifo.path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            defer { close(descriptor) }
            try await io.write(pattern(1000), descriptor: descriptor, name: "fifo")
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
