import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct Cancellation {
    @Test func `a cancelled task begins nothing`() async throws {
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

    @Test func `a waiting job leaves the queue immediately, while the thread is still blocked`() async throws {
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

    @Test func `a job that has begun is awaited, and its result beats the cancellation`() async throws {
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

    @Test func `an open that is cancelled while it runs gives the stream or leaks nothing`() async throws {
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

    @Test func `closing, discarding and publishing's clean-up run when cancelled`() async throws {
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

    @Test func `a storm of cancellations leaves every count at nought`() async throws {
        try await withIO(concurrency: 3) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            var ended = 0
            // In waves: a third of the tasks has a file open.
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
