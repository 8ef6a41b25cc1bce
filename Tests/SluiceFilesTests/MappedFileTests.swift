import Foundation
import SluiceFiles
import TestSupport
import Testing

/// Counts what is mapped and not unmapped yet.
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
    /// The bytes, copied.
    fileprivate borrowing func copied() -> Data { bytes.withUnsafeBytes { Data($0) } }
}

@Suite(.timeLimit(.minutes(5))) struct Mapped {
    @Test func `a mapped file has the bytes of the file`() async throws {
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

    @Test func `an empty file is mapped, and has no bytes`() async throws {
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

    @Test func `a file that is not regular is refused, and waits for no process`() async throws {
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
    func `files of the kernel are refused, and not taken for empty ones`(path: String) async throws {
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

    @Test func `a scope unmaps also when its body throws, and when the task is cancelled`() async throws {
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

    @Test func `a file that is dropped is unmapped once, on a worker`() async throws {
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

    @Test func `a mapping keeps its file, regardless of the name`() async throws {
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

    @Test func `a file that grows keeps the size that it was mapped with`() async throws {
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
    @Test func `a prefetch of what was cut off is an error, and no signal`() async throws {
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

    /// What the documentation says: the kernel kills a process that touches bytes that are not there any more.
    @Test func `a touch of what was cut off is SIGBUS`() async {
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
