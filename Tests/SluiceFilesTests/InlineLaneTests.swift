import Foundation
import SluiceFiles
import TestSupport
import Testing

/// The real kernel, except that the test defines the reads of cached bytes.
private func calls(
    reading read: @escaping @Sendable (CInt, UnsafeMutableRawBufferPointer, Int64) -> Int,
    local: CInt = 1
) -> SystemCalls {
    var calls = SystemCalls.system
    calls.inline.read = { descriptor, buffer, offset in
        descriptor < 0 ? -Int(EBADF) : read(descriptor, buffer, offset)
    }
    // Whatever file system the tests' directory is on, opening needs no device, and `local` decides whether it is local.
    calls.inline.open = { SystemCalls.system.open($0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0) }
    calls.inline.isLocal = { _ in local }
    return calls
}

/// Reads as the kernel would if it had cached everything.
@Sendable private func fromMemory(_ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int {
    let count =
        offset < 0
        ? read(descriptor, buffer.baseAddress!, buffer.count)
        : pread(descriptor, buffer.baseAddress!, buffer.count, off_t(offset))
    return count < 0 ? -Int(errno) : count
}

@Suite(.timeLimit(.minutes(15))) struct `The inline lane` {
    // MARK: Whole files

    @Test func `the second file of a local directory is read on the calling thread without a job`() async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let first = directory.appending(path: "first"), second = directory.appending(path: "second")
            try pattern(4096, seed: 1).write(to: first)
            try pattern(5000, seed: 2).write(to: second)
            #expect(try await Data(asyncContentsOf: first, using: io) == pattern(4096, seed: 1))
            let jobs = io.statistics.completions.pool
            #expect(io.statistics.completions.inline == 0 && jobs == 1)
            #expect(try await Data(asyncContentsOf: second, using: io) == pattern(5000, seed: 2))
            #expect(try await Data(asyncContentsOf: first, using: io) == pattern(4096, seed: 1))
            #expect(io.statistics.completions.inline == 2 && io.statistics.completions.pool == jobs)
        }
    }

    @Test(arguments: [
        0, 1, 255, 256, 257, 4095, 4096, 4097, 1_000_000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_000_000,
    ])
    func `files of any size are read whole`(size: Int) async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(size).write(to: url)
            for _ in 0..<3 { #expect(same(try await Data(asyncContentsOf: url, using: io), pattern(size))) }
            let isInline = size > 0 && size <= 1 << 20
            #expect(io.statistics.completions.inline == (isInline ? 2 : 0))
        }
    }

    enum Answer: CaseIterable {
        case nothing, short, long, failure, unsupported, denied
    }

    @Test(arguments: Answer.allCases)
    func `an answer that does not confirm the size sends the whole read to the pool`(answer: Answer) async throws {
        let calls = calls { descriptor, buffer, offset in
            switch answer {
            case .nothing: 0
            case .short: fromMemory(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(1000)), offset)
            case .long: buffer.count
            case .failure: -Int(EIO)
            case .unsupported: -Int(EOPNOTSUPP)
            case .denied: -Int(EPERM)
            }
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            for _ in 0..<3 { #expect(try await Data(asyncContentsOf: url, using: io) == pattern(5000)) }
            #expect(io.statistics.completions.inline == 0 && io.statistics.completions.pool == 3)
        }
    }

    @Test func `a limit is enforced as in the pool`() async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            _ = try await Data(asyncContentsOf: url, using: io)
            #expect(try await Data(asyncContentsOf: url, maximumSize: 5000, using: io).count == 5000)
            #expect(io.statistics.completions.inline == 1)
            await expectFileError(.limitExceeded) { try await Data(asyncContentsOf: url, maximumSize: 4999, using: io) }
        }
    }

    @Test func `a file on a remote file system is never opened on the calling thread`() async throws {
        let opened = Guarded(0)
        var calls = calls(reading: fromMemory, local: 0)
        calls.inline.open = { _ in
            opened.withLock { $0 += 1 }
            return -EAGAIN
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            for _ in 0..<3 { #expect(try await Data(asyncContentsOf: url, using: io) == pattern(100)) }
            #expect(opened.withLock { $0 } == 0)
        }
    }

    @Test func `a directory on which another file system is mounted is noticed and left to the pool`() async throws {
        let isMounted = Guarded(false)
        var calls = calls(reading: fromMemory)
        calls.statusOfDescriptor = { descriptor, status in
            let result = SystemCalls.system.statusOfDescriptor(descriptor, &status)
            if isMounted.withLock({ $0 }) { status.device = 4711 }
            return result
        }
        calls.inline.isLocal = { _ in isMounted.withLock { $0 } ? 0 : 1 }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            _ = try await Data(asyncContentsOf: url, using: io)
            isMounted.withLock { $0 = true }
            for _ in 0..<3 { #expect(try await Data(asyncContentsOf: url, using: io) == pattern(100)) }
            #expect(io.statistics.completions.inline == 0)
            #expect(io.statistics.completions.inlineMisses == 1, "asked once, then forgotten")
        }
    }

    @Test func `the error of a missing file comes from the pool`() async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            _ = try await Data(asyncContentsOf: url, using: io)
            let missing = directory.appending(path: "missing")
            let error = await expectFileError(.notFound) { try await Data(asyncContentsOf: missing, using: io) }
            #expect(error?.subject == missing.path && error?.operation == "open")
        }
    }

    @Test func `a link is followed by the pool`() async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file"), link = directory.appending(path: "link")
            try pattern(100).write(to: url)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
            for _ in 0..<2 {
                #expect(try await Data(asyncContentsOf: url, using: io) == pattern(100))
                #expect(try await Data(asyncContentsOf: link, using: io) == pattern(100))
            }
            #expect(io.statistics.completions.inline == 1)
        }
    }

    @Test func `a FIFO in a directory of files is opened only once and delivers everything that is written`()
        async throws
    {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file"), fifo = directory.appending(path: "fifo")
            try pattern(100).write(to: url)
            _ = try await Data(asyncContentsOf: url, using: io)
            #expect(mkfifo(fifo.path, 0o600) == 0)
            async let read = Data(asyncContentsOf: fifo, using: io)
            // Waits until a reader comes. If the FIFO had been opened and closed again, this write would find no reader.
            try await fifo.withFileForWriting(using: io) { writer in
                for piece in 0..<5 { try await writer.write(pattern(1000, seed: UInt8(piece))) }
            }
            #expect(same(try await read, (0..<5).reduce(Data()) { $0 + pattern(1000, seed: UInt8($1)) }))
        }
    }

    @Test func `a cancelled task reads nothing, even if everything is cached`() async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            _ = try await Data(asyncContentsOf: url, using: io)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await Data(asyncContentsOf: url, using: io)
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(io.statistics.completions.inline == 0)
        }
    }

    // MARK: Open files

    @Test func `a stream is read piece by piece on the calling thread, and its end by the pool`() async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            let stream = try await url.openForReading(using: io)
            let jobs = io.statistics.completions.pool
            #expect(try await stream.read(upToCount: 4000) == pattern(10_000).prefix(4000))
            #expect(try await stream.read(upToCount: 4000) == pattern(10_000)[4000..<8000])
            #expect(io.statistics.completions.inline == 2 && io.statistics.completions.pool == jobs)
            #expect(try await stream.read(upToCount: 4000) == pattern(10_000)[8000...])
            #expect(io.statistics.completions.inline == 2 && io.statistics.completions.pool == jobs + 1)
            #expect(try await stream.read(upToCount: 4000).isEmpty)
            try await stream.close()
        }
    }

    @Test(arguments: [0, 1, 999, -EAGAIN, -EIO, -EINTR])
    func `a cached read that is short or fails loses no byte`(answer: CInt) async throws {
        let first = Guarded(true)
        let calls = calls { descriptor, buffer, offset in
            let isInterrupted = first.withLock { isFirst in
                defer { isFirst = false }
                return isFirst && answer == -EINTR
            }
            if isInterrupted { return -Int(EINTR) }
            if answer == -EINTR { return fromMemory(descriptor, buffer, offset) }
            if answer <= 0 { return Int(answer) }
            return fromMemory(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(answer))), offset)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(300_000).write(to: url)
            var all = Data()
            for try await chunk in url.chunks(of: 10_000, using: io) { all += chunk }
            #expect(same(all, pattern(300_000)))
        }
    }

    @Test func `a file system without cached reads is tried once for each open file`() async throws {
        let asked = Guarded(0)
        let calls = calls { _, _, _ in
            asked.withLock { $0 += 1 }
            return -Int(EOPNOTSUPP)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            for time in 1...2 {
                var all = Data()
                for try await chunk in url.chunks(of: 1000, using: io) { all += chunk }
                #expect(same(all, pattern(10_000)))
                #expect(asked.withLock { $0 } == time)
            }
        }
    }

    @Test func `a read larger than the lane's maximum goes to the pool immediately`() async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(2_000_000).write(to: url)
            let stream = try await url.openForReading(using: io)
            #expect(try await stream.read(upToCount: (1 << 20) + 1).count == (1 << 20) + 1)
            #expect(io.statistics.completions.inline == 0 && io.statistics.completions.inlineMisses == 0)
            try await stream.close()
        }
    }

    @Test(arguments: [0, 1, 999, -EAGAIN, -EOPNOTSUPP, 4096])
    func `cached blocks of a shared file are read on the calling thread`(answer: CInt)
        async throws
    {
        let calls = calls { descriptor, buffer, offset in
            if answer <= 0 { return Int(answer) }
            return fromMemory(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(answer))), offset)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(20_000).write(to: url)
            try await url.withRandomAccessFile(using: io) { file async throws in
                let jobs = io.statistics.completions.pool
                for offset in [0, 5000, 12_345] {
                    let read = try await file.read(at: Int64(offset), upToCount: 4096)
                    #expect(read == pattern(20_000)[offset..<(offset + 4096)])
                    var memory = [UInt8](repeating: 0, count: 4096)
                    var span = memory.mutableSpan
                    var bytes = span.mutableBytes
                    #expect(try await file.read(at: Int64(offset), into: &bytes) == 4096)
                    #expect(Data(memory) == read)
                }
                #expect(io.statistics.completions.pool - jobs == (answer == 4096 ? 0 : 6))
                #expect(try await file.read(at: 19_000, upToCount: 4096).count == 1000)
                #expect(try await file.read(at: 20_000, upToCount: 4096).isEmpty)
            }
        }
    }

    // MARK: Available lanes

    // In a child process, because all tests share the environment.
    @Test(arguments: [
        ("pool", "pool"), (" pool, inline", "inline,pool"), ("pol,inline", "inline"), ("pol", ""),
        ("", "inline,pool,readiness"),
    ])
    func `the environment selects lanes, and unknown names are ignored`(names: String, lanes: String) async {
        await #expect(processExitsWith: .success) { [names, lanes] in
            setenv("SLUICE_FILES_LANES", names, 1)
            #expect(FileIO.Configuration.defaultLanes.map(\.rawValue).sorted().joined(separator: ",") == lanes)
        }
    }

    @Test func `an engine without the lane never tries such a read`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            let calls = calls { _, _, _ in
                Issue.record("asked")
                return -Int(EAGAIN)
            }
            let io = FileIO(configuration: .init(lanes: [.pool]), calls: calls)
            #expect(io.lanes == [.pool, .readiness])
            for _ in 0..<2 { #expect(try await Data(asyncContentsOf: url, using: io) == pattern(100)) }
            await io.shutdown()
        }
    }

    @Test(arguments: [ENOSYS, EPERM, EINVAL])
    func `if the kernel denies such reads, the lane isn't listed`(number: CInt) async throws {
        var calls = SystemCalls.system
        calls.inline.read = { _, _, _ in -Int(number) }
        let io = FileIO(calls: calls)
        #expect(!io.lanes.contains(.inline) && io.lanes.contains(.pool))
        await io.shutdown()
    }

    @Test func `if the kernel denies such opens, they are tried only once`() async throws {
        let asked = Guarded(0)
        var calls = calls(reading: fromMemory)
        calls.inline.open = { _ in
            asked.withLock { $0 += 1 }
            return -EPERM
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            for _ in 0..<5 { #expect(try await Data(asyncContentsOf: url, using: io) == pattern(100)) }
            #expect(asked.withLock { $0 } == 1)
        }
    }

    @Test func `a file that is replaced concurrently is read whole in one of its states`() async throws {
        try await withIO(calls: calls(reading: fromMemory)) { io, directory in
            let url = directory.appending(path: "file")
            let states = [pattern(3000, seed: 1), pattern(5000, seed: 2)]
            try await states[0].asyncWrite(to: url, options: .init(durability: .none), using: io)
            try await withThrowingTaskGroup { group in
                group.addTask {
                    for turn in 0..<300 {
                        try await states[turn % 2].asyncWrite(to: url, options: .init(durability: .none), using: io)
                    }
                }
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<300 {
                            let data = try await Data(asyncContentsOf: url, using: io)
                            #expect(states.contains(data))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
