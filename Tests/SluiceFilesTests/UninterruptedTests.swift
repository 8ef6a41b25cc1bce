import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct Uninterrupted {
    /// Runs `body` in a task that is cancelled before it begins.
    private func cancelled<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
        try await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await body()
        }.value
    }

    @Test func `a cancelled task saves its state, which without it is a CancellationError`() async throws {
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

    @Test func `a cancelled task renames, removes, copies, reads and writes to the end`() async throws {
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

    @Test func `a cancelled task writes to an open file of its own, and to no pipe`() async throws {
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

    @Test func `a wait for a pipe still ends with the cancellation`() async throws {
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

    @Test func `tasks inherit it, and a detached task does not`() async throws {
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

    @Test func `an engine that was shut down refuses it`() async throws {
        try await withIO { io, directory in
            await io.shutdown()
            await expectFileError(.shutDown) {
                try await FileIO.uninterrupted { try await io.exists(directory) }
            }
        }
    }
}
