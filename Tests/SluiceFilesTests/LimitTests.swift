import Dispatch
import Foundation
import SluiceFiles
import TestSupport
import Testing

/// A kernel with few descriptors, for one test.
private final class FewDescriptors: Sendable {
    private let limit: Int
    private let state = Guarded((open: 0, refused: 0))

    init(_ limit: Int) { self.limit = limit }

    private let semaphore = DispatchSemaphore(value: 0)
    private let firstRefusals = AsyncStream.makeStream(of: Void.self)

    var refused: Int { state.withLock { $0.refused } }

    /// Blocks the thread.
    func waitUntilRefused() {
        semaphore.wait()
        semaphore.signal()
    }

    /// Waits until an open was refused.
    func firstRefusal() async {
        for await _ in firstRefusals.stream { return }
    }

    /// The system's calls, with EMFILE for an open that is one too many.
    var calls: SystemCalls {
        SystemCalls.system.intercepted { call in
            guard call.opensDescriptor, call != .inlineOpen else { return call == .inlineOpen ? EAGAIN : nil }
            return self.state.withLock { state in
                if state.open == self.limit {
                    state.refused += 1
                    if state.refused == 1 {
                        self.semaphore.signal()
                        self.firstRefusals.continuation.yield()
                    }
                    return EMFILE
                }
                state.open += 1
                return nil
            }
        } observing: { call, result in
            // Counted before the call, so that no two threads take the last one.
            if call.opensDescriptor && call != .inlineOpen && result < 0 && result != -Int(EMFILE) || call == .close {
                self.state.withLock { $0.open -= 1 }
            }
        }
    }
}

@Suite(.timeLimit(.minutes(2))) struct `Few descriptors` {
    @Test(arguments: [1, 2, 3])
    func `whole files wait for each other's descriptors, down to the last one`(limit: Int) async throws {
        let kernel = FewDescriptors(limit)
        var calls = kernel.calls
        let close = calls.close
        calls.close = { descriptor in
            // No task closes its descriptor before another task wants one more.
            kernel.waitUntilRefused()
            return close(descriptor)
        }
        try await withIO(concurrency: 8, calls: calls, in: memoryDirectory) { io, directory in
            for index in 0..<8 {
                try pattern(4096, seed: UInt8(index)).write(to: directory.appending(path: "\(index)"))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<600 {
                    let url = directory.appending(path: "\(index % 8)")
                    group.addTask {
                        if index % 3 == 0 {
                            let options = FileWriteOptions(durability: index % 2 == 0 ? .none : .fullAndDirectory)
                            try await pattern(4096, seed: UInt8(index % 8)).asyncWrite(
                                to: url, options: options, using: io)
                        } else {
                            try expectSame(
                                await Data(asyncContentsOf: url, using: io), pattern(4096, seed: UInt8(index % 8)))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `where there are none at all, each open hears of that, also one that counted on another`() async throws {
        let kernel = FewDescriptors(0)
        try await withIO(concurrency: 8, calls: kernel.calls, in: memoryDirectory) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(300).write(to: url)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2000 {
                    group.addTask {
                        await expectFileError(.tooManyOpenFiles) { try await Data(asyncContentsOf: url, using: io) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(kernel.refused >= 2000)
        }
    }

    @Test func `a stream that opens waits for a whole file, and not for a stream`() async throws {
        let kernel = FewDescriptors(2)
        let gate = ThreadGate()
        var calls = kernel.calls
        let read = calls.read
        calls.read = { descriptor, buffer in
            gate.pass()
            return read(descriptor, buffer)
        }
        try await withIO(concurrency: 4, calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(300).write(to: url)
            let first = try await url.openForReading(using: io)
            async let whole = Data(asyncContentsOf: url, using: io)
            await gate.waitForThreads(1)
            // Now the stream has one, and the whole file, stuck in its read, the other.
            async let second = url.openForReading(using: io).close()
            await kernel.firstRefusal()
            gate.open()
            try expectSame(await whole, pattern(300))
            try await second

            let third = try await url.openForReading(using: io)
            let error = await expectFileError(.tooManyOpenFiles) { try await url.openForReading(using: io).close() }
            #expect(error?.subject == url.path)
            #expect(error?.remedy?.contains("the 2 files of this FileIO") == true)
            try await first.close()
            try await third.close()
        }
    }

    @Test func `a FIFO that is being read is not waited for`() async throws {
        // One for the FIFO, two for the lane that waits for it.
        let kernel = FewDescriptors(3)
        try await withIO(concurrency: 4, calls: kernel.calls) { io, directory in
            let (fifo, url) = (directory.appending(path: "fifo"), directory.appending(path: "file"))
            try pattern(300).write(to: url)
            #expect(mkfifo(fifo.path, 0o600) == 0)
            async let read = Data(asyncContentsOf: fifo, using: io)
            // Returns when the reader has opened it, and holds it open.
            let writer = await offPool { Foundation.open(fifo.path, O_WRONLY) }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            await expectFileError(.tooManyOpenFiles) { try await Data(asyncContentsOf: url, using: io) }
            Foundation.close(writer)
            #expect(try await read.isEmpty)
        }
    }

    @Test func `ten thousand whole files are read concurrently with 256 descriptors`() async throws {
        let worker = try builtProgram("FileWorker")
        try await withIO(in: memoryDirectory) { _, directory in
            for index in 0..<20 {
                try Data(repeating: 0x6F, count: 5000).write(to: directory.appending(path: "\(index)"))
            }
            let end = try await ChildProcess(worker, ["limited", "256", directory.path]).end()
            #expect(end.status == 0, "\(end)")
        }
    }
}

// MARK: - A process

/// Scarce resources of a process, and missing standard streams. Each test runs in a child process; see FileWorker.
@Suite(.timeLimit(.minutes(2))) struct `Limits of a process` {
    @Test(.enabled(if: geteuid() == 0, "skipped: only root can become a user that has no other process"))
    func `a pool works with the threads that it gets, and without any the error names the limit`() async throws {
        let end = try await ChildProcess(builtProgram("FileWorker"), ["threads"]).end()
        #expect(end.status == 0, "\(end)")
    }

    @Test(arguments: ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    func `no file gets the number of a standard stream that is closed`(closed: String) async throws {
        let worker = try builtProgram("FileWorker")
        try await withIO { _, directory in
            // Standard error may be closed: the shell says what the status was.
            let inner = directory.appending(path: "inner")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
            let script =
                "\"$0\" closed \"$1\" \(closed); status=$?; [ $status = 0 ] || echo \"status $status\" >&2; exit $status"
            let end = try await ChildProcess(URL(filePath: "/bin/sh"), ["-c", script, worker.path, inner.path]).end()
            #expect(end.status == 0, "\(end)")
        }
    }
}
