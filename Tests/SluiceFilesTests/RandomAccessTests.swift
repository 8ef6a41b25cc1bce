import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Random access` {
    @Test func `reads give the bytes at their offset, fewer only at the end, and none past it`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            try await url.withRandomAccessFile(using: io) { file async throws in
                #expect(file.path == url.path)
                #expect(try await file.size == 10_000)
                #expect(same(try await file.read(at: 4096, upToCount: 512), pattern(10_000)[4096..<4608]))
                #expect(same(try await file.read(at: 9_990, upToCount: 512), pattern(10_000)[9_990...]))
                #expect(same(try await file.read(at: 0, upToCount: .max), pattern(10_000)))
                #expect(same(try await file.read(at: 3, upToCount: 1 << 40), pattern(10_000)[3...]))
                #expect(try await file.read(at: 10_000, upToCount: 1).isEmpty)
                #expect(try await file.read(at: .max, upToCount: .max).isEmpty)
                #expect(try await file.read(at: .max - 5, upToCount: 4096).isEmpty)
                #expect(try await file.read(at: 5, upToCount: 0).isEmpty)
            }
        }
    }

    @Test func `a read into memory fills it, less only at the end, and leaves the rest as it was`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1000).write(to: url)
            try await url.withRandomAccessFile(using: io) { file async throws in
                var memory = [UInt8](repeating: 7, count: 100)
                func read(at offset: Int) async throws -> Int {
                    var span = memory.mutableSpan
                    var bytes = span.mutableBytes
                    return try await file.read(at: Int64(offset), into: &bytes)
                }
                #expect(try await read(at: 300) == 100)
                #expect(same(Data(memory), pattern(1000)[300..<400]))
                #expect(try await read(at: 980) == 20)
                #expect(same(Data(memory), pattern(1000)[980...] + pattern(1000)[320..<400]))
                #expect(try await read(at: .max) == 0)
                memory = []
                #expect(try await read(at: 0) == 0)
            }
        }
    }

    @Test func `writes go to their offset, and a hole reads as zeros`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createNew, permissions: 0o640, using: io) {
                file async throws in
                try await file.write(pattern(10), at: 20)
                try await file.write(pattern(10, seed: 1)[3..<6], at: 0)
                try await file.write(Array(pattern(700, seed: 2)).span.bytes, at: 30)
                try await file.write(Data(), at: 5000)
                #expect(same(try await file.read(at: 0, upToCount: 30), contents(of: url).prefix(30)))
                try await file.truncate(to: 31)
                #expect(try await file.size == 31)
            }
            #expect(
                same(
                    contents(of: url),
                    pattern(10, seed: 1)[3..<6] + Data(count: 17) + pattern(10) + pattern(1, seed: 2)))
            #expect(mode(of: url) == 0o640)
        }
    }

    @Test func `opening creates what it may, cuts nothing off, and insists on a new file`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            await expectFileError(.notFound) { try await url.openForRandomAccess(.readWrite, using: io) }
            try await url.withRandomAccessFile(.createIfMissing, using: io) {
                try await $0.write(pattern(10), at: 0)
            }
            try await url.withRandomAccessFile(.createIfMissing, using: io) {
                try await $0.write(pattern(5, seed: 1), at: 8)
            }
            #expect(same(contents(of: url), pattern(8) + pattern(5, seed: 1)))
            await expectFileError(.exists) {
                try await url.openForRandomAccess(.createNew, using: io)
            }
            await expectFileError(.isDirectory) { try await directory.openForRandomAccess(using: io) }
            await expectFileError(.isDirectory) { try await directory.openForRandomAccess(.readWrite, using: io) }
            await expectFileError(.invalidPath) {
                try await #require(URL(string: "https://a.example")).openForRandomAccess(using: io)
            }
            #expect(io.statistics.openCount == 0)
        }
    }

    @Test func `a file opened for reading is not written`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5).write(to: url)
            try await url.withRandomAccessFile(using: io) { file async throws in
                let error = await expectFileError(.invalidArgument) { try await file.write(pattern(1), at: 0) }
                #expect(error?.systemError == EBADF && error?.subject == url.path)
                await expectFileError(.invalidArgument) { try await file.truncate(to: 0) }
            }
            #expect(same(contents(of: url), pattern(5)))
        }
    }

    @Test func `a FIFO and a socket are refused immediately`() async throws {
        try await withIO(concurrency: 1) { io, directory in
            let fifo = directory.appending(path: "fifo")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            for access in [FileAccess.readOnly, .readWrite] {
                let error = await expectFileError(.notRegularFile) {
                    try await fifo.openForRandomAccess(access, using: io)
                }
                #expect(error?.subject == fifo.path)
            }
            let socket = directory.appending(path: "socket")
            try bindSocket(at: socket)
            await expectFileError(.notRegularFile) { try await socket.openForRandomAccess(using: io) }
            #expect(io.statistics.openCount == 0)
        }
    }

    @Test func `a file that another process has a lease on is waited for`() async throws {
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            flags & O_NONBLOCK != 0 ? -EWOULDBLOCK : SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5).write(to: url)
            #expect(try await url.withRandomAccessFile(using: io) { try await $0.read(at: 1, upToCount: 9) }.count == 4)
        }
    }

    #if os(Linux)
    @Test func `the descriptor waits, as io_uring wants it`() async throws {
        let descriptors = Guarded<[CInt]>([])
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            let descriptor = SystemCalls.system.open(path, flags, mode)
            descriptors.withLock { $0.append(descriptor) }
            return descriptor
        }
        try await withIO(calls: calls) { io, directory in
            try await directory.appending(path: "a").withRandomAccessFile(.createIfMissing, using: io) {
                _ in
                let descriptor = try #require(descriptors.withLock { $0.first })
                #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0)
                #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
            }
        }
    }

    @Test(arguments: ["/proc/kallsyms", "/proc/cpuinfo", "/sys/kernel/mm/transparent_hugepage/enabled"])
    func `files with a wrong size are read whole, at any offset`(path: String) async throws {
        try await withIO { io, _ in
            let url = URL(filePath: path)
            let whole = try contentsByStandardIO(of: url)
            #expect(whole.count > (path.hasSuffix("kallsyms") ? 1_000_000 : 10))
            try await url.withRandomAccessFile(using: io) { file async throws in
                #expect(same(try await file.read(at: 0, upToCount: 64 << 20), whole))
                let offset = whole.count / 2
                #expect(
                    same(
                        try await file.read(at: Int64(offset), upToCount: 10_000),
                        whole.dropFirst(offset).prefix(10_000)))
                #expect(same(try await file.read(at: 1, upToCount: 300 << 10), whole.dropFirst().prefix(300 << 10)))
                #expect(try await file.read(at: Int64(whole.count), upToCount: 10).isEmpty)
            }
        }
    }
    #endif

    @Test func `a file that grows and shrinks gives its bytes at the time of the read`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            try await url.withRandomAccessFile(.readWrite, using: io) { file async throws in
                try await url.withFileForWriting(existing: .append, using: io) {
                    try await $0.write(pattern(1_000_000, seed: 1))
                }
                #expect(
                    same(
                        try await file.read(at: 50, upToCount: .max), pattern(100)[50...] + pattern(1_000_000, seed: 1))
                )
                #expect(try await file.size == 1_000_100)
                try await url.withFileForWriting(using: io) { try await $0.write(pattern(60, seed: 2)) }
                #expect(same(try await file.read(at: 50, upToCount: 1 << 20), pattern(60, seed: 2)[50...]))
                #expect(try await file.read(at: 60, upToCount: 1 << 20).isEmpty)
            }
        }
    }

    @Test func `a file that shrinks between two reads of one operation ends there`() async throws {
        let url = Guarded<URL?>(nil)
        var calls = SystemCalls.system
        calls.inline = .missing
        calls.randomAccess.readAt = { descriptor, buffer, offset in
            // 100 bytes at a time; after the first, the file is cut off at 150.
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(100))
            let count = RandomAccessCalls.system.readAt(descriptor, piece, offset)
            if offset == 0, let url = url.withLock({ $0 }) { truncate(url.path, 150) }
            return count
        }
        try await withIO(calls: calls) { io, directory in
            url.withLock { $0 = directory.appending(path: "file") }
            let file = directory.appending(path: "file")
            try pattern(1_000_000).write(to: file)
            let read = try await file.withRandomAccessFile(using: io) { try await $0.read(at: 0, upToCount: 1_000_000) }
            #expect(same(read, pattern(150)))
        }
    }

    @Test func `sync reaches the level it was asked for`() async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                try await file.sync(.none)
                try await file.sync(.data)
                try await file.sync()
                try await file.sync(.fullAndDirectory)
            }
            #expect(
                log.all == [
                    "create", "fdatasync", "fsync", "fsync", "open directory", "fsync directory", "close", "close",
                ])
        }
    }
}

/// The bytes of a file by fread(3). Foundation gives the first 4071 bytes of /proc/kallsyms.
func contentsByStandardIO(of url: URL) throws -> Data {
    let file = try #require(fopen(url.path, "r"))
    defer { fclose(file) }
    var all = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        if count == 0 { return all }
        all += buffer.prefix(count)
    }
}

/// Leaves a socket with this path.
func bindSocket(at url: URL) throws {
    #if canImport(Darwin)
    let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #else
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    #endif
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array(url.path.utf8)
    try #require(path.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    try #require(result == 0)
}
