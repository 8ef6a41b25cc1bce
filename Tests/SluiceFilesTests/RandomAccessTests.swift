import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Random access` {
    @Test func `reads return the bytes at their offset, fewer only at the end, and none past it`() async throws {
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

    @Test func `a read into memory fills it except at the end, and leaves the rest unchanged`() async throws {
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

    @Test func `opening creates a file if allowed, never truncates it, and can require a new file`() async throws {
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

    @Test func `a file that was opened for reading can't be written`() async throws {
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

    @Test func `opening a file that another process has leased waits for the lease`() async throws {
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
    @Test func `the descriptor is blocking, as io_uring requires`() async throws {
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
    func `files that report a wrong size are read whole, at any offset`(path: String) async throws {
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

    @Test func `a read of a file that grows and shrinks returns its bytes at that time`() async throws {
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

    @Test func `if a file shrinks during a read, the read ends at the new end`() async throws {
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

    @Test func `sync reaches the requested level`() async throws {
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

/// The bytes of a file, read with fread(3), because Foundation returns only the first 4071 bytes of /proc/kallsyms.
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

/// Creates a socket with this path.
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

// MARK: - Space

@Suite(.timeLimit(.minutes(15))) struct `Random access space` {
    @Test func `preallocation extends the file, or keeps its size if requested`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                try await file.write(pattern(100), at: 0)
                try await file.preallocate(0..<(1 << 20), keepsSize: true)
                #expect(try await file.size == 100)
                #expect(blocks(of: url) * 512 >= 1 << 20)
                try await file.preallocate(50..<50)
                try await file.preallocate(50..<200)
                #expect(try await file.size == 200)
                #expect(same(contents(of: url), pattern(100) + Data(count: 100)))
            }
        }
    }

    @Test func `punching a hole frees its space, and the hole reads as zeros`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let size = 1 << 20
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                try await file.write(pattern(size), at: 0)
                try await file.sync(.data)
                let before = blocks(of: url)
                try await file.punchHole(0..<0)
                #expect(same(contents(of: url), pattern(size)))
                try await file.punchHole(100..<Int64(size - 100))
                #expect(try await file.size == size)
                #expect(same(contents(of: url), pattern(100) + Data(count: size - 200) + pattern(size).suffix(100)))
                #expect(blocks(of: url) < before / 2)
            }
        }
    }

    @Test func `every kind of advice is passed to the kernel`() async throws {
        let given = Guarded<[String]>([])
        var calls = SystemCalls.system
        calls.randomAccess.adviseFile = { descriptor, offset, count, advice in
            given.withLock { $0.append("\(advice) \(offset) \(count)") }
            return RandomAccessCalls.system.adviseFile(descriptor, offset, count, advice)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            try await url.withRandomAccessFile(using: io) { file async throws in
                for advice in AccessAdvice.allCases { try await file.advise(advice) }
                try await file.advise(.needed, for: 4096..<8192)
                try await file.advise(.notNeeded, for: 4096..<4096)
                #expect(same(try await file.read(at: 0, upToCount: 10_000), pattern(10_000)))
            }
            let all = AccessAdvice.allCases.map { "\($0) 0 0" }
            #expect(given.withLock { $0 } == all + ["needed 4096 4096"], "an empty range is not the whole file")
        }
    }
}

/// The number of 512-byte blocks that a file occupies.
func blocks(of url: URL) -> Int {
    var status = stat()
    return stat(url.path, &status) == 0 ? Int(status.st_blocks) : -1
}

// MARK: - A model

/// A file that is an array.
private struct ModelFile {
    private(set) var bytes: [UInt8] = []

    func read(at offset: Int, upToCount count: Int) -> Data { Data(bytes.dropFirst(offset).prefix(count)) }

    mutating func write(_ data: Data, at offset: Int) {
        if data.isEmpty { return }
        resize(atLeast: offset + data.count)
        bytes.replaceSubrange(offset..<(offset + data.count), with: data)
    }

    mutating func truncate(to size: Int) {
        bytes.removeLast(max(0, bytes.count - size))
        resize(atLeast: size)
    }

    mutating func preallocate(_ range: Range<Int>, keepsSize: Bool) {
        if !keepsSize && !range.isEmpty { resize(atLeast: range.upperBound) }
    }

    mutating func punchHole(_ range: Range<Int>) {
        for index in range.clamped(to: 0..<bytes.count) { bytes[index] = 0 }
    }

    private mutating func resize(atLeast size: Int) {
        bytes += Array(repeating: 0, count: max(0, size - bytes.count))
    }
}

/// The kernel, with reads and writes that transfer random amounts and are sometimes interrupted.
private func reluctantCalls(seed: UInt64) -> SystemCalls {
    let random = Guarded(SeededRandom(seed: seed))
    @Sendable func part(of count: Int) -> Int? {
        random.withLock { random in
            if Int.random(in: 0..<8, using: &random) == 0 { return nil }
            return Bool.random(using: &random) ? count : Int.random(in: 1...max(1, count), using: &random)
        }
    }
    let real = SystemCalls.system
    var calls = real
    calls.inline = .missing
    calls.randomAccess.readAt = { descriptor, buffer, offset in
        guard let part = part(of: buffer.count) else { return -Int(EINTR) }
        return real.randomAccess.readAt(
            descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(part)), offset)
    }
    calls.randomAccess.writeAt = { descriptor, bytes, offset in
        guard let part = part(of: bytes.count) else { return -Int(EINTR) }
        return real.randomAccess.writeAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(part)), offset)
    }
    return calls
}

@Suite(.timeLimit(.minutes(15))) struct `Random access model` {
    @Test(arguments: 1...6) func `random operations agree with an array`(seed: UInt64) async throws {
        try await withIO(calls: reluctantCalls(seed: seed)) { io, directory in
            var random = SeededRandom(seed: seed)
            var model = ModelFile()
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createNew, using: io) { file async throws in
                for step in 0..<400 {
                    let offset = Int.random(in: 0..<60_000, using: &random)
                    let count = Int.random(in: 0..<[1, 20, 300, 20_000].randomElement(using: &random)!, using: &random)
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0:
                        model.truncate(to: offset)
                        try await file.truncate(to: Int64(offset))
                    case 1:
                        let keepsSize = Bool.random(using: &random)
                        model.preallocate(offset..<(offset + count), keepsSize: keepsSize)
                        try await file.preallocate(Int64(offset)..<Int64(offset + count), keepsSize: keepsSize)
                    case 2:
                        model.punchHole(offset..<(offset + count))
                        try await file.punchHole(Int64(offset)..<Int64(offset + count))
                    case 3...5:
                        let data = pattern(count, seed: UInt8(step % 256))
                        model.write(data, at: offset)
                        if step % 2 == 0 {
                            try await file.write(data, at: Int64(offset))
                        } else {
                            try await file.write(Array(data).span.bytes, at: Int64(offset))
                        }
                    case 6:
                        var memory = Data(repeating: 1, count: count)
                        let read = try await readInto(&memory, file, at: offset)
                        #expect(same(memory.prefix(read), model.read(at: offset, upToCount: count)), "step \(step)")
                        #expect(memory.dropFirst(read).allSatisfy { $0 == 1 })
                    default:
                        let read = try await file.read(at: Int64(offset), upToCount: count)
                        #expect(same(read, model.read(at: offset, upToCount: count)), "step \(step)")
                    }
                    #expect(try await file.size == model.bytes.count, "step \(step)")
                }
            }
            #expect(same(contents(of: url), Data(model.bytes)))
        }
    }

    private func readInto(_ memory: inout Data, _ file: RandomAccessFile, at offset: Int) async throws -> Int {
        var array = Array(memory)
        var span = array.mutableSpan
        var bytes = span.mutableBytes
        let count = try await file.read(at: Int64(offset), into: &bytes)
        memory = Data(array)
        return count
    }

    /// Each task writes separate bytes, next to the bytes of other tasks in the same page and file.
    @Test(arguments: [7, 8]) func `tasks that write next to each other don't disturb each other`(
        seed: UInt64
    ) async throws {
        let (tasks, share) = (8, 3000)
        try await withIO(calls: reluctantCalls(seed: seed)) { io, directory in
            let url = directory.appending(path: "file")
            let whole = try await url.withRandomAccessFile(.createNew, using: io) {
                file async throws in
                try await file.truncate(to: Int64(tasks * share))
                return try await withThrowingTaskGroup(of: (Int, Data).self) { group in
                    for task in 0..<tasks {
                        group.addTask {
                            var random = SeededRandom(seed: seed << 8 | UInt64(task))
                            var model = ModelFile()
                            model.truncate(to: share)
                            for step in 0..<150 {
                                let offset = Int.random(in: 0..<share, using: &random)
                                let count = Int.random(in: 0...(share - offset), using: &random)
                                let place = task * share + offset
                                if Bool.random(using: &random) {
                                    let data = pattern(count, seed: UInt8((step * tasks + task) % 256))
                                    model.write(data, at: offset)
                                    try await file.write(data, at: Int64(place))
                                } else {
                                    let read = try await file.read(at: Int64(place), upToCount: count)
                                    #expect(same(read, model.read(at: offset, upToCount: count)))
                                }
                            }
                            return (task, Data(model.bytes))
                        }
                    }
                    var parts = [Data](repeating: Data(), count: tasks)
                    for try await (task, bytes) in group { parts[task] = bytes }
                    return parts.reduce(Data(), +)
                }
            }
            #expect(same(contents(of: url), whole))
        }
    }
}
