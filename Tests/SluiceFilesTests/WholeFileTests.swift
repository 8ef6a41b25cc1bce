import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Whole files` {
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
    func `files in /proc and /sys are read whole, regardless of their reported size`(path: String) async throws {
        guard access(path, R_OK) == 0 else { return }
        try await withIO { io, _ in
            let read = try await Data(asyncContentsOf: URL(filePath: path), using: io)
            // One read of kallsyms returns 4071 bytes.
            #expect(read.count > (path.hasSuffix("kallsyms") ? 1_000_000 : 10))
            #expect(read.last == UInt8(ascii: "\n"))
        }
    }

    @Test func `a FIFO that is written in five pieces is read whole`() async throws {
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
            // Another process appends before each of the first three reads.
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

    @Test func `a wrong size costs no memory`() async throws {
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

    @Test func `reading more than the limit is an error, and reading exactly the limit isn't`() async throws {
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

    @Test func `short and interrupted reads are continued`() async throws {
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

    @Test func `no read or write requests more than Linux transfers in one call`() async throws {
        // 3 GiB, because only the sizes of the requests matter.
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
    func `a failed read reports the error and leaks nothing`(call: Call, number: CInt, code: FileError.Code)
        async throws
    {
        try await withIO(calls: .failing(call, with: number)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            let error = await expectFileError(code) { try await Data(asyncContentsOf: url, using: io) }
            #expect(error?.subject == url.path)
            #expect(error?.systemError == number)
        }
    }

    @Test func `a directory, a missing file and another scheme are different errors`() async throws {
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

    @Test func `the caller's descriptors are written and read to the end`() async throws {
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

    @Test func `writing to a pipe without a reader is an error and not a signal`() async throws {
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

// MARK: - Writing

@Suite(.timeLimit(.minutes(15))) struct `Atomic writes` {
    @Test(arguments: [
        (Durability.none, ["create", "write", "close", "rename"]),
        (.data, ["create", "write", "fdatasync", "close", "rename"]),
        (.full, ["create", "write", "fsync", "close", "rename"]),
        (
            .fullAndDirectory,
            ["create", "write", "fsync", "close", "rename", "open directory", "fsync directory", "close"]
        ),
    ])
    func `each durability level makes its calls in the promised order`(durability: Durability, order: [String])
        async throws
    {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let url = directory.appending(path: "file")
            try await pattern(10).asyncWrite(to: url, options: .init(durability: durability), using: io)
            #expect(log.all == order)
            #expect(io.statistics.finishedCount == 1)
        }
    }

    @Test func `with a chosen temporary name, the lock is held until the rename is done`() async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            try pattern(99).write(to: directory.appending(path: "file.part"))
            let url = directory.appending(path: "file")
            try await pattern(10).asyncWrite(to: url, options: .init(temporaryName: "file.part"), using: io)
            // The file that a killed process left is removed while it is locked, and not written to.
            let removal = ["create", "open", "lock", "unlink", "unlock", "close"]
            #expect(log.all == removal + ["create", "lock", "write", "fsync", "rename", "unlock", "close"])
            #expect(same(contents(of: url), pattern(10)))
            #expect(names(in: directory) == ["file"])
        }
    }

    static let failures: [(Call, CInt, FileError.Code)] = [
        (.open, EACCES, .permissionDenied), (.open, EMFILE, .tooManyOpenFiles), (.open, ENOSPC, .noSpace),
        (.open, EROFS, .readOnly), (.write, ENOSPC, .noSpace), (.write, EDQUOT, .quotaExceeded),
        (.write, EIO, .inputOutput),
        (.write, EFBIG, .fileTooLarge), (.sync, EIO, .inputOutput), (.sync, ENOSPC, .noSpace),
        (.close, EIO, .inputOutput),
        (.close, EDQUOT, .quotaExceeded), (.close, ENOSPC, .noSpace), (.changeMode, EPERM, .permissionDenied),
        (.rename, EACCES, .permissionDenied), (.rename, EXDEV, .differentFileSystems), (.rename, ENOSPC, .noSpace),
        (.rename, EIO, .inputOutput), (.status, EACCES, .permissionDenied),
    ]

    @Test(arguments: failures)
    func `after any failure, the destination is unchanged and no other file is left`(
        call: Call, number: CInt, code: FileError.Code
    ) async throws {
        try await withIO(calls: .failing(call, with: number)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50).write(to: url)
            let error = await expectFileError(code) { try await pattern(2000).asyncWrite(to: url, using: io) }
            #expect(error?.systemError == number)
            #expect(error?.subject.hasPrefix(directory.path) == true)
            #expect(same(contents(of: url), pattern(50)))
            #expect(names(in: directory) == ["file"])
        }
    }

    @Test(arguments: failures.filter { $0.0 != .close } + [(.lock, EIO, .inputOutput), (.lock, EWOULDBLOCK, .locked)])
    func `after any failure with a chosen temporary name, the destination is unchanged`(
        call: Call, number: CInt, code: FileError.Code
    ) async throws {
        try await withIO(calls: .failing(call, with: number)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50).write(to: url)
            let options = FileWriteOptions(temporaryName: "file.part")
            await expectFileError(code) { try await pattern(2000).asyncWrite(to: url, options: options, using: io) }
            #expect(same(contents(of: url), pattern(50)))
            // A temporary file that couldn't be locked belongs to another process.
            #expect(names(in: directory) == (call == .lock ? ["file", "file.part"] : ["file"]))
        }
    }

    @Test func `a device that fills up midway reports how many bytes were written, and no file is left`() async throws {
        let written = Guarded(0)
        var calls = SystemCalls.system
        calls.write = { descriptor, bytes in
            if written.withLock({ $0 }) >= 3000 { return -Int(ENOSPC) }
            let result = SystemCalls.system.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(1000)))
            written.withLock { $0 += result }
            return result
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            let error = await expectFileError(.noSpace) { try await pattern(9000).asyncWrite(to: url, using: io) }
            #expect(error?.bytesWritten == 3000)
            #expect(error?.description.contains("after 3000 bytes") == true)
            #expect(names(in: directory) == [])
        }
    }

    @Test func `short and interrupted writes are continued`() async throws {
        let count = Guarded(0)
        var calls = SystemCalls.system
        calls.write = { descriptor, bytes in
            if count.withLock({
                $0 += 1; return $0
            }) % 2 == 0 {
                return -Int(EINTR)
            }
            return SystemCalls.system.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(7)))
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try await pattern(1000).asyncWrite(to: url, using: io)
            #expect(same(contents(of: url), pattern(1000)))
        }
    }

    @Test func `a failed sync of the directory comes after the new file is in place`() async throws {
        try await withIO(calls: .failing(.syncDirectory, with: EIO)) { io, directory in
            let url = directory.appending(path: "file")
            let error = await expectFileError(.inputOutput) {
                try await pattern(10).asyncWrite(to: url, options: .init(durability: .fullAndDirectory), using: io)
            }
            #expect(error?.operation == "sync the directory")
            #expect(same(contents(of: url), pattern(10)))
        }
    }

    @Test func `an interrupted close isn't tried again and is no error`() async throws {
        let log = CallLog()
        var calls = SystemCalls.recorded(in: log)
        calls.fail(.close, with: EINTR)
        try await withIO(calls: calls) { io, directory in
            try await pattern(10).asyncWrite(to: directory.appending(path: "file"), using: io)
            #expect(log.count("close") == 1)
        }
    }

    @Test func `a replacement keeps the mode of the replaced file`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50).write(to: url)
            #expect(chmod(url.path, 0o4751) == 0)
            try await pattern(10).asyncWrite(to: url, options: .init(permissions: 0o600), using: io)
            #expect(mode(of: url) == 0o4751)
            let new = directory.appending(path: "new")
            try await pattern(10).asyncWrite(to: new, options: .init(permissions: 0o600), using: io)
            #expect(mode(of: new) == 0o600)
        }
    }

    @Test func `a stale temporary file doesn't widen the requested mode`() async throws {
        try await withIO { io, directory in
            let stale = directory.appending(path: "file.part")
            try pattern(50).write(to: stale)
            #expect(chmod(stale.path, 0o666) == 0)
            let url = directory.appending(path: "file")
            let options = FileWriteOptions(temporaryName: "file.part", permissions: 0o600)
            try await pattern(10).asyncWrite(to: url, options: options, using: io)
            #expect(mode(of: url) == 0o600)
        }
    }

    @Test func `child processes inherit no descriptor`() async throws {
        let flags = Guarded<[CInt]>([])
        var calls = SystemCalls.system
        calls.open = { path, given, mode in
            flags.withLock { $0.append(given) }
            return SystemCalls.system.open(path, given, mode)
        }
        calls.openAt = { directory, name, given in
            flags.withLock { $0.append(given) }
            return SystemCalls.system.openAt(directory, name, given)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "a/file")
            try await io.createDirectory(at: directory.appending(path: "a"))
            try await pattern(1).asyncWrite(to: url, options: .init(durability: .fullAndDirectory), using: io)
            _ = try await Data(asyncContentsOf: url, using: io)
            try await url.withFileForWriting(locked: true, using: io) { _ in }
            try await url.withFileForReading(using: io) { _ in }
            try await io.removeTree(directory.appending(path: "a"))
            #expect(flags.withLock { $0.count } >= 6)
            #expect(flags.withLock { $0.allSatisfy { $0 & O_CLOEXEC != 0 } })
        }
    }

    @Test func `if many tasks write one file without replacing, one succeeds`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<16 {
                    group.addTask {
                        do {
                            let options = FileWriteOptions(durability: .none, existing: .fail)
                            try await pattern(100, seed: UInt8(index)).asyncWrite(to: url, options: options, using: io)
                            return true
                        } catch let error as FileError where error.code == .exists {
                            #expect(error.subject == url.path)
                            return false
                        }
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(winners == 1)
            #expect(names(in: directory) == ["file"])
        }
    }

    @Test func `a symbolic link itself is replaced, and a FIFO or a directory is refused`() async throws {
        try await withIO { io, directory in
            let target = directory.appending(path: "target")
            let link = directory.appending(path: "link")
            try pattern(50).write(to: target)
            #expect(symlink(target.path, link.path) == 0)
            try await pattern(10).asyncWrite(to: link, using: io)
            #expect(same(contents(of: link), pattern(10)))
            #expect(same(contents(of: target), pattern(50)))

            let fifo = directory.appending(path: "fifo")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            await expectFileError(.notRegularFile) { try await pattern(10).asyncWrite(to: fifo, using: io) }
            await expectFileError(.isDirectory) { try await pattern(10).asyncWrite(to: directory, using: io) }
            #expect(names(in: directory) == ["fifo", "link", "target"])
        }
    }

    @Test(arguments: ["", ".", "..", "a/b", "file"])
    func `a temporary name that isn't a single name, or that equals the destination's, is refused`(name: String)
        async throws
    {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let options = FileWriteOptions(temporaryName: name)
            await expectFileError(.invalidPath) {
                try await pattern(10).asyncWrite(to: url, options: options, using: io)
            }
            #expect(names(in: directory) == [])
        }
    }

    @Test func `while a file is written under a temporary name, a second write finds it locked`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "file.part")
            let holder = try await part.openForWriting(locked: true, using: io)
            try await holder.write(pattern(5))
            let url = directory.appending(path: "file")
            let error = await expectFileError(.locked) {
                try await pattern(10).asyncWrite(to: url, options: .init(temporaryName: "file.part"), using: io)
            }
            #expect(error?.remedy != nil)
            #expect(same(contents(of: part), pattern(5)), "the holder's bytes are untouched")
            try await holder.discard()
        }
    }
}

// MARK: - Existing files

@Suite(.timeLimit(.minutes(15))) struct `Existing files` {
    @Test func `rename, copy and publish replace nothing by default`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(10).write(to: a)
            try pattern(20).write(to: b)
            await expectFileError(.exists) { try await io.rename(a, to: b) }
            await expectFileError(.exists) { try await io.copy(a, to: b) }
            await expectFileError(.exists) {
                let stream = try await a.openForWriting(existing: .append, using: io)
                try await stream.publish(as: b)
            }
            #expect(same(contents(of: a), pattern(10)) && same(contents(of: b), pattern(20)))
            try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(same(contents(of: b), pattern(10)))
        }
    }

    @Test func `writing a whole file and opening for writing replace by default`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(30).write(to: url)
            try await pattern(20).asyncWrite(to: url, using: io)
            #expect(same(contents(of: url), pattern(20)))
            try await url.withFileForWriting(using: io) { try await $0.write(pattern(10)) }
            #expect(same(contents(of: url), pattern(10)))
        }
    }

    @Test func `a copy with skip leaves an existing file and reports it`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(10).write(to: a)
            let reports = Guarded<[FileProgress]>([])
            let options = FileCopyOptions(existing: .skip)
            #expect(try await io.copy(a, to: b, options: options).method != .skipped)
            #expect(same(contents(of: b), pattern(10)))
            try pattern(20).write(to: b)
            let result = try await io.copy(a, to: b, options: options) { progress in
                reports.withLock { $0.append(progress) }
            }
            #expect(result == FileCopyResult(fileSize: 0, method: .skipped))
            #expect(reports.withLock { $0 } == [FileProgress(isFinished: true)])
            #expect(same(contents(of: b), pattern(20)) && names(in: directory) == ["a", "b"])
        }
    }

    @Test func `operations that can't skip fail, and both files stay`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(10).write(to: a)
            try pattern(20).write(to: b)
            await expectFileError(.exists) { try await io.rename(a, to: b, existing: .skip) }
            await expectFileError(.exists) {
                try await pattern(5).asyncWrite(to: b, options: .init(existing: .skip), using: io)
            }
            await expectFileError(.exists) {
                let stream = try await a.openForWriting(existing: .append, using: io)
                try await stream.publish(as: b, existing: .skip)
            }
            let entries = try await io.entries(of: directory)
            let entry = try #require(entries.first { $0.name == "a" })
            await expectFileError(.exists) { _ = try await entry.rename(to: "b", existing: .skip) }
            #expect(same(contents(of: a), pattern(10)) && same(contents(of: b), pattern(20)))
            #expect(names(in: directory) == ["a", "b"])
        }
    }

    @Test func `a copy with skip that loses a race is no error`() async throws {
        let made = Guarded<URL?>(nil)
        var calls = SystemCalls.system
        calls.renameWithoutReplacing = { from, to in
            if let url = made.withLock({ $0.take() }) { try? pattern(20).write(to: url) }
            return SystemCalls.system.renameWithoutReplacing(from, to)
        }
        try await withIO(calls: calls) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(10).write(to: a)
            made.withLock { $0 = b }
            #expect(try await io.copy(a, to: b, options: .init(existing: .skip)).method == .skipped)
            #expect(same(contents(of: b), pattern(20)) && names(in: directory) == ["a", "b"])
        }
    }

    @Test func `opening an existing entry for writing truncates it, appends to it or fails`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(30).write(to: url)
            let entry = try #require(try await io.entries(of: directory).first)
            await expectFileError(.exists) { try await entry.openForWriting(existing: .fail).close() }
            #expect(same(contents(of: url), pattern(30)))
            let end = try await entry.openForWriting(existing: .append)
            try await end.write(Data([1]))
            try await end.close()
            #expect(same(contents(of: url), pattern(30) + [1]))
            try await entry.openForWriting().close()
            #expect(contents(of: url).isEmpty)
            try await entry.remove()
            await expectFileError(.notFound) { try await entry.openForWriting(existing: .fail).close() }
        }
    }
}

// MARK: - Crashes

/// A process that replaces a file is killed, as by `kill -9`, before each of its system calls and after the last.
struct `Killed while replacing` {
    static let levels = ["none", "data", "full", "fullAndDirectory"]

    @Test(.timeLimit(.minutes(15)), arguments: levels, ["-", "file.part"])
    func `a killed process leaves the old file or the new one whole, and the next process gets the lock`(
        level: String, name: String
    ) async throws {
        let worker = try builtProgram("FileWorker")
        try await withIO(in: memoryDirectory) { io, directory in
            let url = directory.appending(path: "file")
            let (old, new) = (pattern(3000), Data(repeating: 0x6E, count: 5000))
            var (step, deaths, whenNew) = (0, 0, 0)
            while true {
                try old.write(to: url)
                chmod(url.path, 0o640)
                let end = try await ChildProcess(worker, ["replace", url.path, level, name, "\(step)"]).end()
                if !end.wasKilled {
                    #expect(end.status == 0, "\(end)")
                    #expect(same(contents(of: url), new))
                    break
                }
                deaths += 1
                let found = contents(of: url)
                let isNew = same(found, new)
                #expect(isNew || same(found, old), "killed before call \(step): neither old nor new")
                #expect(mode(of: url) == 0o640)
                #expect(isNew || whenNew == 0, "old again after it was new")
                if isNew { whenNew += 1 }
                let left = names(in: directory).filter { $0 != "file" }
                #expect(left.count <= 1 && left.allSatisfy { $0 == name || $0.hasPrefix(".sluice-") }, "\(left)")

                // The next process succeeds, even under the name that the dead one had locked.
                let options = FileWriteOptions(durability: .none, temporaryName: name == "-" ? nil : name)
                try await old.asyncWrite(to: url, options: options, using: io)
                #expect(same(contents(of: url), old))
                for name in names(in: directory) where name.hasPrefix(".sluice-") {
                    try FileManager.default.removeItem(at: directory.appending(path: name))
                }
                #expect(names(in: directory) == ["file"])
                step += 1
            }
            print("killed while replacing, \(level), \(name): \(deaths) deaths, \(whenNew) with the new file in place")
            #expect(deaths >= (level == "none" ? 5 : 6))
            #expect(whenNew == (level == "fullAndDirectory" ? 3 : 0) + (name == "-" ? 0 : 2))
        }
    }
}
