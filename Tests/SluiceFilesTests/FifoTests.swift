import Foundation
import SluiceFiles
import TestSupport
import Testing

/// Creates a FIFO in a directory.
func makeFIFO(_ directory: URL, _ name: String = "fifo") -> URL {
    let url = directory.appending(path: name)
    precondition(mkfifo(url.path, 0o600) == 0)
    return url
}

@Suite(.timeLimit(.minutes(15))) struct `FIFOs` {
    // MARK: Reading

    @Test func `a FIFO opens immediately, and a read waits for its first writer`() async throws {
        try await withIO(concurrency: 1) { io, directory in
            let url = makeFIFO(directory)
            let stream = try await url.openForReading(using: io)
            #expect(io.statistics.finishedCount == 1)
            let read = Task { [box = Guarded<AsyncFileStream<ReadMode>?>(stream)] in
                let stream = box.withLock { $0.take() }!
                let data = try await stream.readToEnd()
                try await stream.close()
                return data
            }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            let writer = open(url.path, O_WRONLY | O_NONBLOCK)
            #expect(writer >= 0)
            #expect(write(writer, "hello", 5) == 5)
            close(writer)
            #expect(try await read.value == Data("hello".utf8))
            #expect(io.statistics.finishedCount == 1, "nothing but the opening ran on the pool")
            #expect(io.statistics.completions.readiness == 1)
            #expect(io.statistics.readinessWaitingCount == 0)
        }
    }

    @Test func `a writer that closes without writing ends the read`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let read = Task { try await Data(asyncContentsOf: url, using: io) }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            let writer = open(url.path, O_WRONLY | O_NONBLOCK)
            close(writer)
            let data = try await read.value
            #expect(data.isEmpty)
        }
    }

    @Test func `no byte is lost if a writer comes and goes right after an empty read`() async throws {
        let path = Guarded("")
        var calls = SystemCalls.system
        calls.readiness.read = { descriptor, buffer, manner in
            let result = SystemCalls.system.readiness.read(descriptor, buffer, manner)
            let path = path.withLock { path in
                defer { path = "" }
                return path
            }
            if !path.isEmpty {
                #expect(result == 0)
                let writer = open(path, O_WRONLY | O_NONBLOCK)
                #expect(Foundation.write(writer, "late", 4) == 4)
                close(writer)
            }
            return result
        }
        try await withIO(calls: calls) { io, directory in
            let url = makeFIFO(directory)
            path.withLock { $0 = url.path }
            let data = try await Data(asyncContentsOf: url, using: io)
            #expect(data == Data("late".utf8))
        }
    }

    @Test func `after the end, the stream can read from the next writer`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let stream = try await url.openForReading(using: io)
            for text in ["one", "two"] {
                let writer = open(url.path, O_WRONLY | O_NONBLOCK)
                #expect(write(writer, text, 3) == 3)
                close(writer)
                #expect(try await stream.readToEnd() == Data(text.utf8))
                #expect(try await stream.read(upToCount: 5).isEmpty)
            }
            try await stream.close()
        }
    }

    @Test func `a read waits for all requested bytes and returns fewer only at the end`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            try await url.withFileForReading(using: io) { stream in
                let writer = open(url.path, O_WRONLY | O_NONBLOCK)
                #expect(write(writer, "abc", 3) == 3)
                let start = try await stream.read(upToCount: 2)
                #expect(start == Data("ab".utf8))
                let more = Task {
                    try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
                    #expect(Foundation.write(writer, "d", 1) == 1)
                    try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
                    close(writer)
                }
                #expect(try await stream.read(upToCount: 4) == Data("cd".utf8))
                try await more.value
                #expect(try await stream.read(upToCount: 4).isEmpty)
                #expect(try await stream.read(upToCount: 0).isEmpty)
            }
        }
    }

    @Test func `exceeding the limit throws, and the bytes read so far stay in the stream`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let stream = try await url.openForReading(using: io)
            let writer = open(url.path, O_WRONLY | O_NONBLOCK)
            #expect(write(writer, "0123456789", 10) == 10)
            let error = await expectFileError(.limitExceeded) { try await stream.readToEnd(maximumSize: 4) }
            #expect(error?.subject == url.path)
            close(writer)
            #expect(try await stream.read(upToCount: 3) == Data("012".utf8))
            #expect(try await stream.read(upToCount: 1) == Data("3".utf8))
            #expect(try await stream.readToEnd() == Data("456789".utf8))
            try await stream.close()
        }
    }

    // MARK: Writing

    @Test func `opening for writing waits for the reader without blocking a thread`() async throws {
        try await withIO(concurrency: 1) { io, directory in
            let url = makeFIFO(directory)
            let file = directory.appending(path: "file")
            try pattern(10).write(to: file)
            let opened = Task { try await url.withFileForWriting(using: io) { try await $0.write(pattern(3)) } }
            // The only thread is free between two attempts, so other operations can use it.
            for _ in 0..<20 {
                let read = try await Data(asyncContentsOf: file, using: io)
                #expect(read == pattern(10))
            }
            #expect(try await Data(asyncContentsOf: url, using: io) == pattern(3))
            try await opened.value
        }
    }

    @Test func `a cancelled open for writing ends and leaves nothing open`() async throws {
        let refused = AsyncStream.makeStream(of: Void.self)
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            let result = SystemCalls.system.open(path, flags, mode)
            if result == -ENXIO { refused.continuation.yield() }
            return result
        }
        try await withIO(calls: calls) { io, directory in
            let url = makeFIFO(directory)
            let open = Task { try await url.withFileForWriting(using: io) { _ in } }
            var refusals = refused.stream.makeAsyncIterator()
            await refusals.next()
            await refusals.next()
            open.cancel()
            await #expect(throws: CancellationError.self) { try await open.value }
            #expect(io.statistics.openCount == 0)
        }
    }

    @Test func `ENXIO for a file that isn't a FIFO is an error`() async throws {
        try await withIO(calls: .failing(.open, with: ENXIO)) { io, directory in
            let url = directory.appending(path: "file")
            await expectFileError(.notRegularFile) { try await url.openForWriting(using: io).close() }
            try Data().write(to: url)
            await expectFileError(.notRegularFile) { try await url.openForWriting(using: io).close() }
        }
    }

    @Test func `more bytes than the FIFO holds are written as the reader makes room, in every way of writing`()
        async throws
    {
        try await withIO(concurrency: 1) { io, directory in
            let url = makeFIFO(directory)
            async let read = Data(asyncContentsOf: url, using: io)
            try await url.withFileForWriting(using: io) { stream in
                try await stream.write(pattern(300_000))
                try await stream.write((0..<300).map { pattern(700, seed: UInt8($0 % 250)) } + [pattern(100_000)])
                let bytes = [UInt8](pattern(200_000))
                try await stream.write(bytes.span.bytes)
                try await stream.write(bytes.withUnsafeBytes { DispatchData(bytes: $0) })
                try await stream.write(Data())
                try await stream.write([])
            }
            var expected = pattern(300_000)
            for index in 0..<300 { expected += pattern(700, seed: UInt8(index % 250)) }
            expected += pattern(100_000) + pattern(200_000) + pattern(200_000)
            #expect(same(try await read, expected))
            #expect(io.statistics.completions.readiness == 7)
        }
    }

    @Test func `a reader that closes causes brokenPipe with the number of bytes written, and no signal`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let reader = open(url.path, O_RDONLY | O_NONBLOCK)
            let stream = try await url.openForWriting(using: io)
            let write = Task { [box = Guarded<AsyncFileStream<WriteMode>?>(stream)] in
                let stream = box.withLock { $0.take() }!
                do {
                    try await stream.write(pattern(100_000))
                    Issue.record("nothing was thrown")
                } catch let error as FileError {
                    #expect(error.code == .brokenPipe && error.subject == url.path)
                    #expect(error.bytesWritten == 65_536)
                }
                // Fails immediately, on this task's thread.
                let error = await expectFileError(.brokenPipe) { try await stream.write(pattern(1)) }
                #expect(error?.bytesWritten == 0)
                try await stream.close()
            }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            close(reader)
            try await write.value
        }
    }

    // MARK: Cancellation

    @Test func `a cancelled read ends immediately and loses no byte`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let stream = try await url.openForReading(using: io)
            let writer = open(url.path, O_WRONLY | O_NONBLOCK)
            #expect(write(writer, "abc", 3) == 3)
            let shared = Shared(stream)
            let read = Task { try await shared.read(upToCount: 10) }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            read.cancel()
            await #expect(throws: CancellationError.self) { try await read.value }
            #expect(io.statistics.readinessWaitingCount == 0)
            #expect(write(writer, "def", 3) == 3)
            close(writer)
            #expect(try await shared.read(upToCount: 10) == Data("abcdef".utf8))
            try await shared.close()
        }
    }

    @Test func `a cancelled write reports how many bytes it wrote`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let reader = open(url.path, O_RDONLY | O_NONBLOCK)
            let stream = try await url.openForWriting(using: io)
            let write = Task { [box = Guarded<AsyncFileStream<WriteMode>?>(stream)] in
                let stream = box.withLock { $0.take() }!
                var written = 0
                do {
                    try await stream.write([pattern(50_000), pattern(50_000, seed: 1)])
                    Issue.record("nothing was thrown")
                } catch let error as FileError {
                    #expect(error.code == .cancelled && error.subject == url.path, "\(error)")
                    written = error.bytesWritten
                }
                // No byte of this one was written.
                await #expect(throws: CancellationError.self) { try await stream.write(pattern(1)) }
                try await stream.close()
                return written
            }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            write.cancel()
            let written = try await write.value
            #expect(written > 50_000 && written <= 65_536)
            var bytes = [UInt8](repeating: 0, count: 100_000)
            #expect(Foundation.read(reader, &bytes, 100_000) == written)
            let all = pattern(50_000) + pattern(50_000, seed: 1)
            #expect(same(Data(bytes.prefix(written)), all.prefix(written)))
            close(reader)
        }
    }

    @Test func `cancelling a read of the whole FIFO leaves nothing open`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let read = Task { try await Data(asyncContentsOf: url, using: io) }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            read.cancel()
            await #expect(throws: CancellationError.self) { try await read.value }
            // The lane has an epoll and a wake-up descriptor.
            #expect(io.statistics.openCount == 2)
        }
    }

    @Test func `a shutdown ends the wait for a FIFO`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let read = Task { try await Data(asyncContentsOf: url, using: io) }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            await io.shutdown()
            await expectFileError(.shutDown) { try await read.value }
        }
    }

    // MARK: Chunks

    @Test func `chunks of a FIFO are full and are read by the readiness lane`() async throws {
        try await withIO(concurrency: 1) { io, directory in
            let url = makeFIFO(directory)
            async let written: Void = url.withFileForWriting(using: io) { try await $0.write(pattern(200_000)) }
            var chunks: [Data] = []
            for try await chunk in url.chunks(of: 4096, using: io) { chunks.append(chunk) }
            try await written
            #expect(chunks.dropLast().allSatisfy { $0.count == 4096 } && chunks.count == 49)
            #expect(same(Data(chunks.joined()), pattern(200_000)))
            #expect(io.statistics.completions.readiness == 50)
        }
    }

    @Test func `an open FIFO can be read in chunks, and a cancelled loop closes it`() async throws {
        try await withIO { io, directory in
            let url = makeFIFO(directory)
            let stream = try await url.openForReading(using: io)
            let writer = open(url.path, O_WRONLY | O_NONBLOCK)
            #expect(write(writer, "abcd", 4) == 4)
            let chunks = stream.chunks(of: 3)
            let loop = Task {
                var seen: [Data] = []
                for try await chunk in chunks { seen.append(chunk) }
                return seen
            }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            loop.cancel()
            await #expect(throws: CancellationError.self) { try await loop.value }
            // The lane has an epoll and a wake-up descriptor.
            try await io.waitForStatistics { $0.openCount == 2 }
            let readiness = SystemCalls.system.readiness.readiness(writer)
            #expect(readiness & CInt(Readiness.failed.rawValue) != 0, "no process reads the FIFO any more")
            close(writer)
        }
    }

    // MARK: Opening

    @Test func `a regular file is opened with O_NONBLOCK, which is then removed`() async throws {
        let opened = Guarded<CInt>(-1)
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            #expect(flags & O_NONBLOCK != 0)
            let result = SystemCalls.system.open(path, flags, mode)
            opened.withLock { $0 = result }
            return result
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            for opening in [WriteOpening.replace, .append] {
                try await url.withFileForWriting(existing: opening, using: io) { _ in
                    let flags = fcntl(opened.withLock { $0 }, F_GETFL)
                    #expect(flags & O_NONBLOCK == 0)
                    #expect((flags & O_APPEND != 0) == (opening == .append))
                }
            }
            try await url.withFileForReading(using: io) { _ in
                #expect(fcntl(opened.withLock { $0 }, F_GETFL) & O_NONBLOCK == 0)
            }
        }
    }

    @Test func `opening a file that another process has leased waits for the lease`() async throws {
        let flagsSeen = Guarded<[CInt]>([])
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            flagsSeen.withLock { $0.append(flags & O_NONBLOCK) }
            return flags & O_NONBLOCK != 0 ? -EWOULDBLOCK : SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            #expect(try await Data(asyncContentsOf: url, using: io) == pattern(10))
            #expect(flagsSeen.withLock { $0 } == [O_NONBLOCK, 0])
            await expectFileError(.locked) { try await makeFIFO(directory).openForReading(using: io).close() }
        }
    }

    @Test(arguments: ["/dev/null", "/dev/zero"]) func `a device that can't be polled is read on the pool`(
        path: String
    ) async throws {
        try await withIO { io, _ in
            try await URL(filePath: path).withFileForReading(using: io) { stream in
                let count = try await stream.read(upToCount: 10).count
                #expect(count == (path == "/dev/null" ? 0 : 10))
            }
            #expect(io.statistics.completions.readiness == 0)
        }
    }
}

/// A stream that several tasks read, one after another.
actor Shared {
    private var stream: AsyncFileStream<ReadMode>?

    init(_ stream: consuming sending AsyncFileStream<ReadMode>) { self.stream = consume stream }

    func read(upToCount count: Int) async throws -> Data {
        let stream = self.stream.take()!
        let result: Result<Data, any Error>
        do {
            result = .success(try await stream.read(upToCount: count))
        } catch {
            result = .failure(error)
        }
        self.stream = consume stream
        return try result.get()
    }

    func close() async throws {
        let stream = self.stream.take()!
        try await stream.close()
    }
}
