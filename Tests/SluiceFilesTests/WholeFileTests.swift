import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Whole files` {
    @Test(arguments: [0, 1, 14, 15, 255, 256, 4095, 4096, 4097, 65_536, 1_000_003])
    func `written bytes are read back`(size: Int) async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try await pattern(size).asyncWrite(to: url, options: .init(durability: .none), using: io)
            #expect(same(try await Data(asyncContentsOf: url, using: io), pattern(size)))
            #expect(same(contents(of: url), pattern(size)))
            #expect(io.statistics.finishedCount == 2, "each is one job")
        }
    }

    @Test(arguments: [
        "/proc/self/status", "/proc/kallsyms", "/proc/self/maps",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ])
    func `files of the kernel are read whole, regardless of the size that they claim`(path: String) async throws {
        guard access(path, R_OK) == 0 else { return }
        try await withIO { io, _ in
            let read = try await Data(asyncContentsOf: URL(filePath: path), using: io)
            // One read of kallsyms gives 4071 bytes.
            #expect(read.count > (path.hasSuffix("kallsyms") ? 1_000_000 : 10))
            #expect(read.last == UInt8(ascii: "\n"))
        }
    }

    @Test func `a FIFO written in five pieces gives all of them`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "fifo")
            #expect(mkfifo(url.path, 0o600) == 0)
            async let read = Data(asyncContentsOf: url, using: io)
            try await url.withFileForWriting(using: io) { stream in
                for piece in 0..<5 { try await stream.write(pattern(1000, seed: UInt8(piece))) }
            }
            let expected = (0..<5).reduce(into: Data()) { $0 += pattern(1000, seed: UInt8($1)) }
            #expect(same(try await read, expected))
        }
    }

    @Test func `a file that grows while it is read is read to its new end`() async throws {
        let rounds = Guarded(0)
        var calls = SystemCalls.system
        let target = Guarded("")
        calls.read = { descriptor, buffer in
            // Before each of the first three reads another process appends.
            if rounds.withLock({
                $0 += 1; return $0
            }) <= 3 {
                let writer = FileHandle(forWritingAtPath: target.withLock { $0 })!
                writer.seekToEndOfFile()
                writer.write(pattern(5000))
            }
            return SystemCalls.system.read(descriptor, buffer)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "log")
            try pattern(5000).write(to: url)
            target.withLock { $0 = url.path }
            #expect(try await Data(asyncContentsOf: url, using: io).count == 20_000)
        }
    }

    @Test func `a size that is a lie costs no memory`() async throws {
        var calls = SystemCalls.system
        calls.statusOfDescriptor = { descriptor, status in
            let result = SystemCalls.system.statusOfDescriptor(descriptor, &status)
            status.size = .max
            return result
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            #expect(same(try await Data(asyncContentsOf: url, using: io), pattern(100)))
            #expect(same(try await Data(asyncContentsOf: url, maximumSize: .max, using: io), pattern(100)))
        }
    }

    @Test func `more than the limit is an error, exactly the limit is not`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1000).write(to: url)
            #expect(try await Data(asyncContentsOf: url, maximumSize: 1000, using: io).count == 1000)
            let error = await expectFileError(.limitExceeded) {
                try await Data(asyncContentsOf: url, maximumSize: 999, using: io)
            }
            #expect(error?.subject == url.path)
            await expectFileError(.limitExceeded) {
                try await Data(asyncContentsOf: URL(filePath: "/dev/zero"), maximumSize: 1 << 20, using: io)
            }
        }
    }

    @Test func `short reads and interrupted reads are gone on with`() async throws {
        let count = Guarded(0)
        var calls = SystemCalls.system
        calls.read = { descriptor, buffer in
            if count.withLock({
                $0 += 1; return $0
            }) % 2 == 0 {
                return -Int(EINTR)
            }
            return SystemCalls.system.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(7)))
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1000).write(to: url)
            #expect(same(try await Data(asyncContentsOf: url, using: io), pattern(1000)))
        }
    }

    @Test func `no read or write asks for more than Linux transfers in one call`() async throws {
        // 3 GiB, of which only the requests are looked at.
        let largest = Guarded(0)
        var calls = SystemCalls.system
        calls.write = { _, bytes in
            largest.withLock { $0 = max($0, bytes.count) }
            return bytes.count
        }
        try await withIO(calls: calls) { io, directory in
            let size = 3 << 30
            // Address space that is not touched.
            let memory = try #require(mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
            defer { munmap(memory, size) }
            let data = Data(bytesNoCopy: memory, count: size, deallocator: .none)
            // A file, since pipes (which standard output may be) are written by other calls and in smaller portions.
            let descriptor = open(directory.appending(path: "file").path, O_WRONLY | O_CREAT, 0o600)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            try await io.write(data, descriptor: descriptor, name: "mocked")
            #expect(largest.withLock { $0 } == 2_147_479_552)
        }
    }

    @Test(arguments: [
        (Call.open, ENOENT, FileError.Code.notFound), (.open, EMFILE, .tooManyOpenFiles),
        (.open, EACCES, .permissionDenied),
        (.close, EIO, .inputOutput),
    ])
    func `a read that fails says so and leaks nothing`(call: Call, number: CInt, code: FileError.Code) async throws {
        try await withIO(calls: .failing(call, with: number)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            let error = await expectFileError(code) { try await Data(asyncContentsOf: url, using: io) }
            #expect(error?.subject == url.path)
            #expect(error?.systemError == number)
        }
    }

    @Test func `a directory, a missing file and another scheme are errors of their own`() async throws {
        try await withIO { io, directory in
            await expectFileError(.isDirectory) { try await Data(asyncContentsOf: directory, using: io) }
            await expectFileError(.notFound) {
                try await Data(asyncContentsOf: directory.appending(path: "none"), using: io)
            }
            await expectFileError(.invalidPath) {
                try await Data(asyncContentsOf: URL(string: "https://example.com/a")!, using: io)
            }
            await expectFileError(.invalidPath) {
                try await Data(asyncContentsOf: URL(string: "file:///tmp/a%00b")!, using: io)
            }
        }
    }

    @Test func `two thousand files are read concurrently, on four threads`() async throws {
        try await withIO(concurrency: 4) { io, directory in
            for index in 0..<20 {
                try pattern(4096, seed: UInt8(index)).write(to: directory.appending(path: "\(index)"))
            }
            let whole = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<2000 {
                    group.addTask {
                        let url = directory.appending(path: "\(index % 20)")
                        return try await Data(asyncContentsOf: url, using: io) == pattern(4096, seed: UInt8(index % 20))
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(whole == 2000)
            #expect(io.statistics.threadCount <= 4)
        }
    }

    @Test func `descriptors of the caller are written and read to the end`() async throws {
        try await withIO { io, _ in
            var ends: [CInt] = [0, 0]
            #expect(pipe(&ends) == 0)
            let (reader, writer) = (ends[0], ends[1])
            // Non-blocking ends are waited for.
            _ = fcntl(reader, F_SETFL, O_NONBLOCK)
            _ = fcntl(writer, F_SETFL, O_NONBLOCK)
            async let read = io.readToEnd(descriptor: reader, name: "pipe", maximumSize: 1 << 20)
            try await io.write(pattern(300_000), descriptor: writer, name: "pipe")
            close(writer)
            #expect(same(try await read, pattern(300_000)))
            close(reader)
        }
    }

    @Test func `a pipe without a reader is an error and no signal`() async throws {
        try await withIO { io, _ in
            var ends: [CInt] = [0, 0]
            #expect(pipe(&ends) == 0)
            close(ends[0])
            let error = await expectFileError(.brokenPipe) {
                try await io.write(pattern(10), descriptor: ends[1], name: "standard output")
            }
            #expect(error?.subject == "standard output")
            close(ends[1])
        }
    }
}
