import Foundation
import SluiceFiles
import TestSupport
import Testing

/// Counts mappings that aren't unmapped yet.
private final class Balance: Sendable {
    private let mapped = Guarded<[Int: Int]>([:])
    private let threads = Guarded<Set<String>>([])

    var isEven: Bool { mapped.withLock { $0.isEmpty } }
    var unmappers: Set<String> { threads.withLock { $0 } }

    var calls: SystemCalls {
        var calls = SystemCalls.system
        calls.randomAccess.map = { [self] descriptor, count, isChangeable, address in
            let result = RandomAccessCalls.system.map(descriptor, count, isChangeable, &address)
            let key = Int(bitPattern: address)
            if result == 0 { mapped.withLock { $0[key] = count } }
            return result
        }
        calls.randomAccess.unmap = { [self] address, count in
            let key = Int(bitPattern: address)
            let known = mapped.withLock { $0.removeValue(forKey: key) }
            #expect(known == count)
            threads.withLock { _ = $0.insert(nameOfThisThread()) }
            return RandomAccessCalls.system.unmap(address, count)
        }
        return calls
    }
}

extension MappedFile {
    /// A copy of the bytes.
    fileprivate borrowing func copied() -> Data { bytes.withUnsafeBytes { Data($0) } }
}

@Suite(.timeLimit(.minutes(15))) struct Mapped {
    @Test func `a mapped file has the file's bytes`() async throws {
        let balance = Balance()
        try await withIO(calls: balance.calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100_001).write(to: url)
            let last = try await url.withMappedFile(using: io) { file in
                #expect(file.count == 100_001 && file.path == url.path)
                #expect(io.statistics.openCount == 0, "it needs no descriptor")
                try await file.prefetch()
                #expect(same(file.copied(), pattern(100_001)))
                return file.bytes.unsafeLoad(fromByteOffset: 100_000, as: UInt8.self)
            }
            #expect(last == pattern(100_001).last)
            #expect(balance.isEven)

            let file = try await MappedFile(contentsOf: url, using: io)
            #expect(same(file.copied(), pattern(100_001)))
            try await file.close()
            #expect(balance.isEven)
        }
    }

    @Test func `an empty file can be mapped and has no bytes`() async throws {
        let balance = Balance()
        try await withIO(calls: balance.calls) { io, directory in
            let url = directory.appending(path: "file")
            try Data().write(to: url)
            try await url.withMappedFile(using: io) { file in
                #expect(file.count == 0 && file.bytes.isEmpty)
                try await file.prefetch()
                try await file.prefetch(0..<0)
                try await file.advise(.random)
            }
            #expect(balance.isEven)
        }
    }

    @Test func `a file that isn't regular is refused without waiting`() async throws {
        try await withIO(concurrency: 1) { io, directory in
            let fifo = directory.appending(path: "fifo")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            let socket = directory.appending(path: "socket")
            try bindSocket(at: socket)
            for url in [fifo, socket, URL(filePath: "/dev/zero"), URL(filePath: "/dev/null")] {
                let error = await expectFileError(.notRegularFile) {
                    try await MappedFile(contentsOf: url, using: io).close()
                }
                #expect(error?.subject == url.path && error?.remedy != nil)
            }
            await expectFileError(.isDirectory) { try await MappedFile(contentsOf: directory, using: io).close() }
            await expectFileError(.notFound) {
                try await MappedFile(contentsOf: directory.appending(path: "none"), using: io).close()
            }
            #expect(io.statistics.openCount == 0)
        }
    }

    #if os(Linux)
    @Test(arguments: [
        "/proc/self/status", "/proc/kallsyms", "/proc/cpuinfo", "/proc/sys/kernel/ostype",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ])
    func `files in /proc and /sys are refused and don't appear empty`(path: String) async throws {
        guard access(path, R_OK) == 0 else { return }
        try await withIO { io, _ in
            let error = await expectFileError(.unsupported) {
                try await MappedFile(contentsOf: URL(filePath: path), using: io).close()
            }
            #expect(error?.subject == path && error?.operation == "map")
            #expect(error?.remedy?.contains("Read the file") == true)
        }
    }
    #endif

    @Test func `a scope unmaps even if its body throws or the task is cancelled`() async throws {
        struct Mine: Error {}
        let balance = Balance()
        try await withIO(calls: balance.calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            await #expect(throws: Mine.self) { try await url.withMappedFile(using: io) { _ in throw Mine() } }
            #expect(balance.isEven)
            try await Task {
                try await url.withMappedFile(using: io) { file in
                    withUnsafeCurrentTask { $0?.cancel() }
                    await #expect(throws: CancellationError.self) { try await io.status(of: url) }
                }
                #expect(balance.isEven)
                await #expect(throws: CancellationError.self) {
                    try await MappedFile(contentsOf: url, using: io).close()
                }
            }.value
        }
    }

    @Test func `a dropped file is unmapped once, on a worker`() async throws {
        let balance = Balance()
        try await withIO(calls: balance.calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            do {
                let file = try await MappedFile(contentsOf: url, using: io)
                #expect(same(file.copied(), pattern(10)))
            }
            await io.shutdown()
            #expect(balance.isEven)
            #expect(balance.unmappers == ["sluice-files"])
        }
    }

    @Test func `a mapping keeps its file, even if the name is replaced or removed`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            try await url.withMappedFile(using: io) { file in
                try await pattern(10, seed: 1).asyncWrite(to: url, using: io)
                try await io.remove(url)
                try await file.prefetch()
                #expect(same(file.copied(), pattern(5000)))
            }
        }
    }

    @Test func `a file that grows keeps the size at which it was mapped`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            try await url.withMappedFile(using: io) { file in
                try await url.withFileForWriting(existing: .append, using: io) { try await $0.write(pattern(5000)) }
                #expect(file.count == 5000)
                #expect(same(file.copied(), pattern(5000)))
            }
        }
    }

    @Test func `a file of more than 2 GiB is mapped whole`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let (size, place) = (5 << 30, (4 << 30) + 123)
            try await url.withRandomAccessFile(.createNew, using: io) { file in
                try await file.truncate(to: Int64(size))
                try await file.write(pattern(100), at: Int64(place))
            }
            try await url.withMappedFile(using: io) { file in
                #expect(file.count == size)
                try await file.prefetch(place..<(place + 100))
                let found = file.bytes.extracting(place..<(place + 100)).withUnsafeBytes { Data($0) }
                #expect(same(found, pattern(100)))
                #expect(file.bytes.unsafeLoad(fromByteOffset: size - 1, as: UInt8.self) == 0)
            }
        }
    }

    #if os(Linux)
    @Test func `prefetching truncated bytes is an error and not a signal`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100_000).write(to: url)
            try await url.withMappedFile(using: io) { file in
                try await file.prefetch(99_000..<100_000)
                truncate(url.path, 5000)
                try await file.prefetch(0..<5000)
                let error = await expectFileError(.inputOutput) { try await file.prefetch() }
                #expect(error?.operation == "prefetch" && error?.subject == url.path && error?.systemError == EFAULT)
                #expect(same(file.bytes.extracting(0..<5000).withUnsafeBytes { Data($0) }, pattern(5000)))
            }
        }
    }

    /// As documented, the kernel kills a process that touches bytes that no longer exist.
    @Test func `touching truncated bytes raises SIGBUS`() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            try await FileIO.shared.withTemporaryDirectory { directory in
                let url = directory.appending(path: "file")
                try Data(count: 100_000).write(to: url)
                try await url.withMappedFile { file in
                    // The directory has to be gone before the process is.
                    truncate(url.path, 0)
                    unlink(url.path)
                    rmdir(directory.path)
                    print(file.bytes.unsafeLoad(fromByteOffset: 50_000, as: UInt8.self))
                }
            }
        }
    }
    #endif
}

// MARK: - Faults

@Suite(.timeLimit(.minutes(15))) struct `Mapped faults` {
    @Test(arguments: [EACCES, EAGAIN, EINVAL, ENFILE, ENODEV, ENOMEM, EOVERFLOW, EPERM, EIO])
    func `a failed mapping is an error and leaves nothing open`(number: CInt) async throws {
        var calls = SystemCalls.system
        calls.randomAccess.map = { _, _, _, _ in -number }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            for size in [0, 10] {
                try pattern(size).write(to: url)
                do {
                    try await MappedFile(contentsOf: url, using: io).close()
                    Issue.record("nothing was thrown")
                } catch let error as FileError {
                    #expect(error.systemError == number && error.operation == "map" && error.subject == url.path)
                    if number == ENODEV { #expect(error.code == .unsupported) }
                    if number == EIO { #expect(error.code == (size == 0 ? .unsupported : .inputOutput)) }
                }
                #expect(io.statistics.openCount == 0)
            }
        }
    }

    @Test func `a failure before or after the mapping is an error, too`() async throws {
        var statusFails = SystemCalls.system
        statusFails.statusOfDescriptor = { _, _ in -EIO }
        var unmapFails = SystemCalls.system
        unmapFails.randomAccess.unmap = { address, count in
            _ = RandomAccessCalls.system.unmap(address, count)
            return -ENOMEM
        }
        for (calls, operation, code) in [
            (statusFails, "read the status of", FileError.Code.inputOutput), (unmapFails, "unmap", .exhausted),
        ] {
            try await withIO(calls: calls) { io, directory in
                let url = directory.appending(path: "file")
                for size in [0, 10] {
                    try pattern(size).write(to: url)
                    let error = await expectFileError(code) { try await url.withMappedFile(using: io) { _ in } }
                    #expect(error?.operation == operation && error?.subject == url.path)
                    #expect(io.statistics.openCount == 0)
                }
            }
        }
    }

    @Test(arguments: [EINVAL, ENOSYS])
    func `if the kernel can't populate pages, a worker touches them`(number: CInt) async throws {
        let touched = Guarded<[String]>([])
        var calls = SystemCalls.system
        calls.randomAccess.populate = { _, _ in -number }
        calls.randomAccess.touch = { address, count in
            touched.withLock { $0.append("\(count) on \(nameOfThisThread())") }
            return RandomAccessCalls.system.touch(address, count)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100_001).write(to: url)
            try await url.withMappedFile(using: io) { file in
                try await file.prefetch()
                try await file.prefetch(5..<6)
            }
            #expect(touched.withLock { $0 } == ["100001 on sluice-files", "1 on sluice-files"])
        }
    }

    @Test(arguments: [EFAULT, ENOMEM, EIO, EPERM])
    func `a failed prefetch is an error, and an interrupted one is made again`(number: CInt) async throws {
        let attempts = Guarded(0)
        var calls = SystemCalls.system
        calls.randomAccess.populate = { _, _ in
            attempts.withLock {
                $0 += 1; return $0 % 3 == 0
            } ? -number : -EINTR
        }
        calls.randomAccess.adviseMemory = { _, _, _ in
            attempts.withLock {
                $0 += 1; return $0 % 3 == 0
            } ? -number : -EINTR
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            try await url.withMappedFile(using: io) { file in
                for operation in ["prefetch", "advise the system about"] {
                    do {
                        if operation == "prefetch" { try await file.prefetch() } else { try await file.advise(.needed) }
                        Issue.record("nothing was thrown")
                    } catch let error as FileError {
                        #expect(
                            error.systemError == number && error.operation == operation && error.subject == url.path)
                    }
                }
            }
            #expect(attempts.withLock { $0 } == 6)
        }
    }

    @Test func `a long prefetch runs in steps, and cancellation stops it between two`() async throws {
        let steps = Guarded<[Int]>([])
        let task = Guarded<Task<Void, any Error>?>(nil)
        let gate = ThreadGate()
        var calls = SystemCalls.system
        calls.randomAccess.populate = { _, count in
            if steps.withLock({
                $0.append(count); return $0.count
            }) == 2 {
                gate.pass()
                task.withLock { $0 }?.cancel()
            }
            return 0
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try Data().write(to: url)
            truncate(url.path, (100 << 20) + 5)
            let prefetch = Task { try await url.withMappedFile(using: io) { try await $0.prefetch() } }
            await gate.waitForThreads(1)
            task.withLock { $0 = prefetch }
            gate.open()
            await #expect(throws: CancellationError.self) { try await prefetch.value }
            #expect(steps.withLock { $0 } == [32 << 20, 32 << 20])

            steps.withLock { $0 = [0, 0] }
            try await url.withMappedFile(using: io) { try await $0.prefetch(1..<(100 << 20)) }
            #expect(steps.withLock { $0[2...] } == [32 << 20, 32 << 20, 32 << 20, (4 << 20) - 1])
        }
    }

    @Test func `every kind of advice is passed to the kernel for the pages of its range`() async throws {
        let given = Guarded<[String]>([])
        let start = Guarded(0)
        var calls = SystemCalls.system
        calls.randomAccess.map = { descriptor, count, isChangeable, address in
            let result = RandomAccessCalls.system.map(descriptor, count, isChangeable, &address)
            start.withLock { $0 = Int(bitPattern: address) }
            return result
        }
        calls.randomAccess.adviseMemory = { address, count, advice in
            given.withLock { $0.append("\(advice) \(Int(bitPattern: address) - start.withLock { $0 }) \(count)") }
            return RandomAccessCalls.system.adviseMemory(address, count, advice)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(20_000).write(to: url)
            try await url.withMappedFile(using: io) { file in
                for advice in AccessAdvice.allCases { try await file.advise(advice) }
                try await file.advise(.notNeeded, for: 5001..<5002)
                try await file.advise(.notNeeded, for: 3..<3)
                #expect(file.bytes.withUnsafeBytes { same(Data($0), pattern(20_000)) })
            }
            #expect(given.withLock { $0 } == AccessAdvice.allCases.map { "\($0) 0 20000" } + ["notNeeded 5001 1"])
        }
    }

    @Test func `a range outside the file stops the program with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await FileIO.shared.withTemporaryDirectory { directory in
                let url = directory.appending(path: "file")
                try Data(count: 10).write(to: url)
                try await url.withMappedFile { file in
                    unlink(url.path)
                    rmdir(directory.path)
                    try await file.prefetch(5..<11)
                }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("The range must be within the file's 10 bytes; it is 5..<11."))
    }
}

// MARK: - Mapped data

#if os(Linux)
/// The kernel, with every file system treated as local, because the tests may run on an overlay.
private var localCalls: SystemCalls {
    var calls = SystemCalls.system
    calls.inline.isLocal = { _ in 1 }
    return calls
}

/// The number of times that the process has mapped the file.
private func mappings(of url: URL) async throws -> Int {
    let maps = try await Data(asyncContentsOf: URL(filePath: "/proc/self/maps"))
    return String(decoding: maps, as: UTF8.self).split(separator: "\n").count { $0.hasSuffix(url.path) }
}

@Suite(.timeLimit(.minutes(15))) struct `Mapped data` {
    @Test(arguments: [15, 4095, 4096, 100_001]) func `mapped data has the file's bytes`(size: Int) async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(size).write(to: url)
            let data = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            #expect(try await mappings(of: url) == 1)
            #expect(io.statistics.openCount == 0, "it needs no descriptor")
            #expect(same(data, pattern(size)))
        }
    }

    @Test func `the file is unmapped when the last copy of the data is gone`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            var data: Data? = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            var slice = data?.dropFirst(40_000)
            data = nil
            #expect(try await mappings(of: url) == 1)
            #expect(slice.map { same(Data($0), pattern(50_000).dropFirst(40_000)) } == true)
            let finished = io.statistics.finishedCount
            slice = nil
            try await io.waitForStatistics { $0.finishedCount > finished && $0.runningCount == 0 }
            #expect(try await mappings(of: url) == 0)
        }
    }

    @Test func `changing mapped data leaves the file and its other copies unchanged`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            var data = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            data[7] = ~data[7]
            #expect(data[7] == ~pattern(50_000)[7])
            let copy = data
            data[8] = ~data[8]
            data.append(1)
            #expect(data.count == 50_001 && copy.count == 50_000 && copy[8] == pattern(50_000)[8])
            #expect(same(contents(of: url), pattern(50_000)))
        }
    }

    @Test func `an empty file, a pipe, a file in /proc and a file on a remote file system are read instead`()
        async throws
    {
        try await withIO(calls: localCalls) { io, directory in
            let empty = directory.appending(path: "empty")
            try Data().write(to: empty)
            #expect(try await Data(asyncContentsOf: empty, options: .mappedIfSafe, using: io).isEmpty)
            let status = URL(filePath: "/proc/self/status")
            let text = try await Data(asyncContentsOf: status, options: .mappedIfSafe, using: io)
            #expect(text.starts(with: Data("Name:".utf8)))

            let fifo = directory.appending(path: "fifo")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            async let read = Data(asyncContentsOf: fifo, options: .mappedIfSafe, using: io)
            try await fifo.withFileForWriting(using: io) { try await $0.write(pattern(3000)) }
            #expect(same(try await read, pattern(3000)))
        }
        var calls = SystemCalls.system
        calls.inline.isLocal = { _ in 0 }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            let data = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            #expect(try await mappings(of: url) == 0)
            #expect(same(data, pattern(50_000)))
        }
    }

    @Test func `if mapping fails, the file is read`() async throws {
        var calls = localCalls
        calls.randomAccess.map = { _, _, _, _ in -ENOMEM }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            let data = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            #expect(same(data, pattern(50_000)))
        }
    }

    @Test func `the limit, errors and progress are the same as for a read`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            await expectFileError(.limitExceeded) {
                try await Data(asyncContentsOf: url, options: .mappedIfSafe, maximumSize: 49_999, using: io)
            }
            await expectFileError(.notFound) {
                try await Data(asyncContentsOf: directory.appending(path: "none"), options: .mappedIfSafe, using: io)
            }
            await expectFileError(.isDirectory) {
                try await Data(asyncContentsOf: directory, options: .mappedIfSafe, using: io)
            }
            let last = Guarded<FileProgress?>(nil)
            _ = try await Data(asyncContentsOf: url, options: .mappedIfSafe, maximumSize: 50_000, using: io) {
                progress in
                last.withLock { $0 = progress }
            }
            let expected = FileProgress(completedBytes: 50_000, totalBytes: 50_000, isFinished: true)
            #expect(last.withLock { $0 } == expected)
        }
    }

    @Test func `a cancelled task maps nothing`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            await #expect(throws: CancellationError.self) {
                try await Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
                }.value
            }
            #expect(try await mappings(of: url) == 0)
        }
    }
}
#endif
