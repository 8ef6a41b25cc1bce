import Foundation
import Synchronization
import TestSupport
import Testing

@testable import SluiceFiles

/// Two descriptors that are connected to each other.
struct Ends: Sendable {
    var ours: CInt
    var theirs: CInt

    static func sockets() -> Ends {
        var ends: [CInt] = [-1, -1]
        precondition(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return Ends(ours: ends[0], theirs: ends[1])
    }

    /// A pseudo-terminal without echo or line editing: `ours` is the terminal, and `theirs` controls it.
    static func terminal() -> Ends {
        let controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // TIOCGPTN and TIOCSPTLCK: what ptsname(3) and unlockpt(3) do.
        var number: UInt32 = 0
        var locked: CInt = 0
        precondition(
            controller >= 0 && ioctl(controller, 0x8004_5430, &number) == 0
                && ioctl(controller, 0x4004_5431, &locked) == 0)
        let terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var settings = termios()
        precondition(terminal >= 0 && tcgetattr(terminal, &settings) == 0)
        cfmakeraw(&settings)
        precondition(tcsetattr(terminal, TCSANOW, &settings) == 0)
        return Ends(ours: terminal, theirs: controller)
    }

    func close() {
        Foundation.close(ours)
        Foundation.close(theirs)
    }
}

func put(_ text: String, _ descriptor: CInt) {
    precondition(write(descriptor, text, text.utf8.count) == text.utf8.count)
}

@Suite(.timeLimit(.minutes(15))) struct `File handles` {
    @Test func `chunks of a pipe contain the bytes as they arrive, and end when the writer closes`() async throws {
        try await withIO(concurrency: 1) { io, _ in
            let pipe = Pipe()
            let writer = pipe.fileHandleForWriting.fileDescriptor
            put("one", writer)
            var iterator = pipe.fileHandleForReading.chunks(using: io).makeAsyncIterator()
            #expect(try await iterator.next() == Data("one".utf8))
            put("two", writer)
            put("three", writer)
            #expect(try await iterator.next() == Data("twothree".utf8))
            async let last = pipe.fileHandleForReading.asyncRead(upToCount: 10, using: io)
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            put("four", writer)
            #expect(try await last == Data("four".utf8))
            try pipe.fileHandleForWriting.close()
            #expect(try await iterator.next() == nil)
            #expect(try await iterator.next() == nil)
            #expect(io.statistics.finishedCount == 0, "no job for a pipe")
            #expect(io.statistics.completions.readiness == 4)
        }
    }

    @Test func `lines of a pipe arrive while it is still being written`() async throws {
        try await withIO { io, _ in
            let pipe = Pipe()
            put("first\nsec", pipe.fileHandleForWriting.fileDescriptor)
            var lines = pipe.fileHandleForReading.chunks(using: io).lines().makeAsyncIterator()
            #expect(try await lines.next() == "first")
            put("ond\n", pipe.fileHandleForWriting.fileDescriptor)
            #expect(try await lines.next() == "second")
            try pipe.fileHandleForWriting.close()
            #expect(try await lines.next() == nil)
        }
    }

    @Test func `a handle that only the iteration retains stays open`() async throws {
        try await withIO { io, _ in
            var pipe: Pipe? = Pipe()
            let writer = dup(pipe!.fileHandleForWriting.fileDescriptor)
            var iterator = pipe!.fileHandleForReading.chunks(using: io).makeAsyncIterator()
            pipe = nil
            put("still", writer)
            let chunk = try await iterator.next()
            #expect(chunk == Data("still".utf8))
            close(writer)
        }
    }

    @Test func `more bytes than a pipe holds go through it without a job of the pool`() async throws {
        try await withIO(concurrency: 1) { io, _ in
            let pipe = Pipe()
            async let read = pipe.fileHandleForReading.asyncReadToEnd(using: io)
            try await pipe.fileHandleForWriting.asyncWrite(pattern(1_000_000), using: io)
            try pipe.fileHandleForWriting.close()
            #expect(same(try await read, pattern(1_000_000)))
            #expect(io.statistics.finishedCount == 0)
        }
    }

    @Test func `sockets are read and written in both directions concurrently`() async throws {
        try await withIO(concurrency: 1) { io, _ in
            let ends = Ends.sockets()
            defer { ends.close() }
            let (ours, theirs) = (FileHandle(fileDescriptor: ends.ours), FileHandle(fileDescriptor: ends.theirs))
            @Sendable func exchange(_ handle: FileHandle, _ out: Data, _ expected: Data) async throws {
                async let written: Void = handle.asyncWrite(out, using: io)
                var read = Data()
                while read.count < expected.count {
                    read += try await handle.asyncRead(upToCount: expected.count - read.count, using: io)
                }
                try await written
                #expect(same(read, expected))
            }
            async let one: Void = exchange(ours, pattern(1_000_000), pattern(1_000_000, seed: 1))
            try await exchange(theirs, pattern(1_000_000, seed: 1), pattern(1_000_000))
            try await one
            #expect(io.statistics.finishedCount == 0)
        }
    }

    @Test func `a terminal is read and written, even while no program reads its output`() async throws {
        try await withIO(concurrency: 1) { io, _ in
            let ends = Ends.terminal()
            let terminal = FileHandle(fileDescriptor: ends.ours)
            async let line = terminal.asyncRead(upToCount: 100, using: io)
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            put("typed", ends.theirs)
            #expect(try await line == Data("typed".utf8))
            // More than the terminal holds, while no program reads.
            let write = Task { try await terminal.asyncWrite(pattern(100_000), using: io) }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            #expect(io.statistics.runningCount == 0 && io.statistics.finishedCount == 0)
            write.cancel()
            let error = await expectFileError(.cancelled) { try await write.value }
            #expect((1..<100_000).contains(error?.bytesWritten ?? 0))
            // The other side reads the output, up to its end.
            close(ends.ours)
            let shown = try await FileHandle(fileDescriptor: ends.theirs).asyncReadToEnd(using: io)
            #expect(same(shown, pattern(100_000).prefix(error?.bytesWritten ?? 0)))
            close(ends.theirs)
        }
    }

    @Test func `the flags of the caller's descriptors stay unchanged`() async throws {
        try await withIO { io, directory in
            let pipe = Pipe()
            let fifo = makeFIFO(directory)
            let (sockets, terminal) = (Ends.sockets(), Ends.terminal())
            defer {
                sockets.close()
                terminal.close()
            }
            let named = open(fifo.path, O_RDWR)
            defer { close(named) }
            for (reader, writer) in [
                (pipe.fileHandleForReading.fileDescriptor, pipe.fileHandleForWriting.fileDescriptor),
                (sockets.ours, sockets.theirs), (terminal.ours, terminal.theirs), (named, named),
            ] {
                for isNonBlocking in [false, true] {
                    let flags = [reader, writer].map { fcntl($0, F_GETFL) & ~O_NONBLOCK }
                    for (descriptor, flags) in zip([reader, writer], flags) {
                        #expect(fcntl(descriptor, F_SETFL, flags | (isNonBlocking ? O_NONBLOCK : 0)) == 0)
                    }
                    async let read = io.read(upToCount: 10, descriptor: reader, name: "reader")
                    try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
                    #expect(fcntl(reader, F_GETFL) & O_NONBLOCK == (isNonBlocking ? O_NONBLOCK : 0))
                    try await io.write(Data("abc".utf8), descriptor: writer, name: "writer")
                    #expect(try await read == Data("abc".utf8))
                    for (descriptor, flags) in zip([reader, writer], flags) {
                        #expect(fcntl(descriptor, F_GETFL) == flags | (isNonBlocking ? O_NONBLOCK : 0))
                    }
                }
            }
        }
    }

    @Test
    func `a FIFO that its owner opened ends when the writer closes, although each read opens it again`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let reader = open(url.path, O_RDONLY | O_NONBLOCK)
            let writer = open(url.path, O_WRONLY)
            #expect(fcntl(reader, F_SETFL, 0) == 0)
            defer { close(reader) }
            put("abc", writer)
            close(writer)
            let first = try await io.read(upToCount: 10, descriptor: reader, name: "fifo")
            #expect(first == Data("abc".utf8))
            let last = try await io.read(upToCount: 10, descriptor: reader, name: "fifo")
            #expect(last.isEmpty)
            #expect(io.statistics.openCount == 0)
        }
    }

    @Test func `without non-blocking calls, the pool reads and writes ready descriptors`() async throws {
        var calls = SystemCalls.system
        calls.readiness.reopen = { _, _ in -ENOTSUP }
        calls.readiness.read = { $2 == .noWait ? -Int(EOPNOTSUPP) : SystemCalls.system.readiness.read($0, $1, $2) }
        calls.readiness.write = { descriptor, bytes, manner in
            #expect(manner == .noWait || bytes.count <= 4096)
            return manner == .noWait
                ? -Int(EOPNOTSUPP) : SystemCalls.system.readiness.write(descriptor, bytes, manner)
        }
        try await withIO(concurrency: 1, calls: calls) { io, _ in
            let pipe = Pipe()
            async let read = pipe.fileHandleForReading.asyncReadToEnd(using: io)
            try await pipe.fileHandleForWriting.asyncWrite(pattern(300_000), using: io)
            // Waiting for room doesn't block a thread either.
            let write = Task { try await io.write(pattern(10), descriptor: -1, name: "none") }
            _ = await write.result
            try pipe.fileHandleForWriting.close()
            #expect(same(try await read, pattern(300_000)))
            #expect(io.statistics.finishedCount > 2)
        }
    }

    @Test func `a regular file behind a handle is read and written on the pool`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            #expect(FileManager.default.createFile(atPath: url.path, contents: nil))
            let writer = try FileHandle(forWritingTo: url)
            try await writer.asyncWrite(pattern(100_000), using: io)
            try writer.close()
            let reader = try FileHandle(forReadingFrom: url)
            var all = Data()
            for try await chunk in reader.chunks(of: 10_000, using: io) { all += chunk }
            #expect(same(all, pattern(100_000)))
            try reader.seek(toOffset: 50_000)
            #expect(try await reader.asyncReadToEnd(using: io).count == 50_000)
            #expect(io.statistics.completions.readiness == 0 && io.statistics.completions.pool > 10)
            try reader.close()
        }
    }

    @Test func `writing without a reader is a broken pipe, and no signal ends the program`() async throws {
        try await withIO { io, _ in
            let pipe = TestPipe()
            pipe.closeReading()
            let sockets = Ends.sockets()
            close(sockets.theirs)
            for descriptor in [pipe.writing, sockets.ours] {
                let error = await expectFileError(.brokenPipe) {
                    try await FileHandle(fileDescriptor: descriptor).asyncWrite(pattern(10), using: io)
                }
                #expect(error?.subject == "descriptor \(descriptor)" && error?.bytesWritten == 0)
            }
            close(sockets.ours)
        }
    }

    @Test(arguments: [true, false]) func `a broken pipe leaves the thread's signals as they were`(isBlocked: Bool) async
    {
        let (result, after) = await offPool {
            let pipe = TestPipe()
            pipe.closeReading()
            var (signals, after) = (sigset_t(), sigset_t())
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(isBlocked ? SIG_BLOCK : SIG_UNBLOCK, &signals, nil)
            let calls = ReadinessCalls()
            let result = [UInt8](repeating: 1, count: 1).withUnsafeBytes { calls.write(pipe.writing, $0, .plain) }
            pthread_sigmask(SIG_BLOCK, nil, &after)
            return (result, sigismember(&after, SIGPIPE))
        }
        #expect(result == -Int(EPIPE) && after == (isBlocked ? 1 : 0))
    }

    /// If the non-blocking call is missing, a pipe is reopened, but only in the direction in which its owner opened it.
    @Test(arguments: [nil, ENOSYS, EPERM])
    func `using a closed descriptor, or the wrong direction, is an error`(missing: CInt?) async throws {
        var calls = SystemCalls.system
        if let missing {
            calls.readiness.read = {
                $2 == .noWait ? -Int(missing) : SystemCalls.system.readiness.read($0, $1, $2)
            }
            calls.readiness.write = {
                $2 == .noWait ? -Int(missing) : SystemCalls.system.readiness.write($0, $1, $2)
            }
        }
        try await withIO(calls: calls) { io, _ in
            let pipe = TestPipe()
            await expectFileError(.invalidArgument) {
                try await io.read(upToCount: 1, descriptor: 1 << 20, name: "none")
            }
            await expectFileError(.invalidArgument) { try await io.readToEnd(descriptor: pipe.writing, name: "pipe") }
            await expectFileError(.invalidArgument) {
                try await io.write(pattern(1), descriptor: pipe.reading, name: "pipe")
            }
        }
    }

    // In a child process: other tests would reuse the number.
    @Test func `closing a handle during a read ends the read`() async {
        await #expect(processExitsWith: .success) {
            try await withIO { io, _ in
                let pipe = TestPipe()
                let read = Task { try await io.read(upToCount: 1, descriptor: pipe.reading, name: "pipe") }
                try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
                pipe.closeReading()
                await expectFileError(.invalidArgument) { try await read.value }
            }
        }
    }

    // In a child process: other tests would reuse the number.
    @Test func `closing a handle during a read is noticed even if the lane's thread slept without a timeout before`()
        async
    {
        await #expect(processExitsWith: .success) {
            let sleeps = AsyncStream.makeStream(of: Void.self)
            var calls = SystemCalls.system
            calls.readiness.waitForEvents = { queue, milliseconds, events in
                if milliseconds < 0 { sleeps.continuation.yield() }
                return SystemCalls.system.readiness.waitForEvents(queue, milliseconds, &events)
            }
            try await withIO(calls: calls) { io, directory in
                // A descriptor of the engine, which other code can't close.
                let fifo = directory.appending(path: "fifo")
                #expect(mkfifo(fifo.path, 0o600) == 0)
                let silent = Task { try await Data(asyncContentsOf: fifo, using: io) }
                for await _ in sleeps.stream { break }
                let pipe = TestPipe()
                let read = Task { try await io.read(upToCount: 1, descriptor: pipe.reading, name: "pipe") }
                try await io.waitForStatistics { $0.readinessWaitingCount >= 2 }
                pipe.closeReading()
                await expectFileError(.invalidArgument) { try await read.value }
                silent.cancel()
                await #expect(throws: CancellationError.self) { try await silent.value }
            }
        }
    }

    @Test func `reading more than the limit is an error`() async throws {
        try await withIO { io, _ in
            let pipe = TestPipe()
            pipe.write(pattern(11))
            let error = await expectFileError(.limitExceeded) {
                try await io.readToEnd(descriptor: pipe.reading, name: "pipe", maximumSize: 10)
            }
            #expect(error?.subject == "pipe")
        }
    }

    // MARK: Cancellation

    @Test func `a cancelled read ends immediately and loses nothing, and two reads share a pipe's bytes`() async throws
    {
        try await withIO { io, _ in
            let pipe = TestPipe()
            let reads = (0..<2).map { _ in
                Task { try await io.read(upToCount: 10, descriptor: pipe.reading, name: "pipe") }
            }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 2 }
            reads[0].cancel()
            await #expect(throws: CancellationError.self) { try await reads[0].value }
            pipe.write(Data("abc".utf8))
            let data = try await reads[1].value
            #expect(data == Data("abc".utf8))
        }
    }

    @Test func `a storm of cancelled reads and writes loses no byte and leaves nothing waiting`() async throws {
        try await withIO(concurrency: 2) { io, _ in
            for round in 0..<20 {
                let pipe = TestPipe()
                let total = 300_000
                // Writes the bytes that the last attempt didn't write.
                let writer = Task {
                    var written = 0
                    var attempts = 0
                    while written < total {
                        let rest = pattern(total, seed: UInt8(round)).dropFirst(written)
                        let write = Task { try await io.write(Data(rest), descriptor: pipe.writing, name: "pipe") }
                        await suspend(times: attempts % 7)
                        attempts += 1
                        write.cancel()
                        switch await write.result {
                        case .success: written = total
                        case .failure(let error as FileError) where error.code == .cancelled:
                            written += error.bytesWritten
                        case .failure(let error): #expect(error is CancellationError)
                        }
                    }
                    pipe.closeWriting()
                }
                var all = Data()
                var isAtEnd = false
                var attempts = 0
                while !isAtEnd {
                    let read = Task { try await io.read(upToCount: 7777, descriptor: pipe.reading, name: "pipe") }
                    await suspend(times: attempts % 5)
                    attempts += 1
                    if attempts % 3 != 0 { read.cancel() }
                    switch await read.result {
                    case .success(let data):
                        all += data
                        isAtEnd = data.isEmpty
                    case .failure(let error): #expect(error is CancellationError)
                    }
                }
                await writer.value
                #expect(same(all, pattern(total, seed: UInt8(round))))
            }
            #expect(io.statistics.readinessWaitingCount == 0)
        }
    }

    // MARK: Many

    // In a child process: the pipes take half of its descriptors.
    @Test func `each of many pipes delivers the bytes that were written to it`() async {
        await #expect(processExitsWith: .success) {
            for poller in Poller.allCases {
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                let count = min(1000, Int(limit.rlim_cur) / 4)
                try await withIO(concurrency: 1, calls: poller.calls) { io, _ in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for index in 0..<count {
                            let pipe = TestPipe()
                            group.addTask {
                                var random = SeededRandom(seed: UInt64(index))
                                let bytes = pattern(2000 + Int(random.next() % 9000), seed: UInt8(index % 200))
                                var start = 0
                                while start < bytes.count {
                                    let size = 1 + Int(random.next() % 3000)
                                    try await io.write(
                                        Data(bytes.dropFirst(start).prefix(size)), descriptor: pipe.writing,
                                        name: "pipe")
                                    start += size
                                    await suspend(times: Int(random.next() % 4))
                                }
                                pipe.closeWriting()
                            }
                            group.addTask {
                                var random = SeededRandom(seed: UInt64(index))
                                let bytes = pattern(2000 + Int(random.next() % 9000), seed: UInt8(index % 200))
                                let read = try await io.readToEnd(descriptor: pipe.reading, name: "pipe")
                                #expect(same(read, bytes))
                            }
                        }
                        try await group.waitForAll()
                    }
                    #expect(io.statistics.finishedCount == 0 && io.statistics.readinessWaitingCount == 0)
                }
            }
        }
    }
}
