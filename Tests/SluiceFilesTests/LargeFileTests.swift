import Foundation
import SluiceFiles
import TestSupport
import Testing

/// The most bytes that Linux transfers in one call.
private let largestTransfer = 2_147_479_552

/// Zeros that take no memory until they are touched.
private func untouchedZeros(_ count: Int) throws -> Data {
    let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    let memory = try #require(mmap(nil, count, PROT_READ, flags, -1, 0))
    try #require(memory != MAP_FAILED)
    return Data(bytesNoCopy: memory, count: count, deallocator: .custom { munmap($0, $1) })
}

@Suite(.timeLimit(.minutes(15))) struct `Large files` {
    // MARK: More than one call transfers

    @Test func `more than 2 GiB is read piece by piece, whole and at an offset`() async throws {
        let (size, start) = (5 << 30, 1000)
        let largest = Guarded(0)
        let position = Guarded(0)
        @Sendable func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
            largest.withLock { $0 = max($0, buffer.count) }
            return max(0, min(buffer.count, size - offset, largestTransfer))
        }
        var calls = SystemCalls.system
        calls.statusOfDescriptor = { descriptor, status in
            let result = SystemCalls.system.statusOfDescriptor(descriptor, &status)
            status.size = Int64(size)
            return result
        }
        calls.read = { _, buffer in
            position.withLock {
                let count = read(buffer, at: $0)
                $0 += count
                return count
            }
        }
        calls.randomAccess.readAt = { _, buffer, offset in read(buffer, at: Int(offset)) }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1).write(to: url)
            let whole = try await Data(asyncContentsOf: url, maximumSize: 6 << 30, using: io)
            #expect(whole.count == size)
            position.withLock { $0 = 0 }
            await expectFileError(.limitExceeded) {
                try await Data(asyncContentsOf: url, maximumSize: size - 1, using: io)
            }

            try await url.withRandomAccessFile(using: io) { file async throws in
                #expect(try await file.read(at: Int64(start), upToCount: 3 << 30).count == 3 << 30)
                #expect(try await file.read(at: Int64(start), upToCount: .max).count == size - start)
            }
            #expect(largest.withLock { $0 } <= largestTransfer)
        }
    }

    @Test func `more than 2 GiB is read into the caller's memory`() async throws {
        var calls = SystemCalls.system
        let asked = Guarded<[Int]>([])
        calls.randomAccess.readAt = { _, buffer, offset in
            asked.withLock { $0 += [buffer.count, Int(offset)] }
            return min(buffer.count, largestTransfer)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1).write(to: url)
            let size = 5 << 30
            let memory = try #require(
                mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0))
            try #require(memory != MAP_FAILED)
            defer { munmap(memory, size) }
            let file = try await url.openForRandomAccess(using: io)
            var bytes = MutableRawSpan(_unsafeStart: memory, byteCount: size)
            #expect(try await file.read(at: 7, into: &bytes) == size)
            try await file.close()
            let rest = size - 2 * largestTransfer
            #expect(
                asked.withLock { $0 } == [
                    largestTransfer, 7, largestTransfer, 7 + largestTransfer, rest, 7 + 2 * largestTransfer,
                ])
        }
    }

    @Test func `more than 2 GiB is written piece by piece, in a stream and at an offset`() async throws {
        let size = 5 << 30
        let asked = Guarded<[Int]>([])
        var calls = SystemCalls.system
        calls.write = { _, bytes in
            asked.withLock { $0.append(bytes.count) }
            return min(bytes.count, largestTransfer)
        }
        calls.randomAccess.writeAt = { _, bytes, offset in
            asked.withLock { $0 += [bytes.count, Int(offset)] }
            return min(bytes.count, largestTransfer)
        }
        try await withIO(calls: calls) { io, directory in
            let zeros = try untouchedZeros(size)
            let rest = size - 2 * largestTransfer
            let url = directory.appending(path: "file")
            try await url.withFileForWriting(using: io) { try await $0.write(zeros) }
            #expect(asked.withLock { $0 } == [largestTransfer, largestTransfer, rest])
            asked.withLock { $0 = [] }
            try await url.withRandomAccessFile(.readWrite, using: io) { try await $0.write(zeros, at: 7) }
            #expect(
                asked.withLock { $0 } == [
                    largestTransfer, 7, largestTransfer, 7 + largestTransfer, rest, 7 + 2 * largestTransfer,
                ])
        }
    }

    // MARK: Offsets past 2 and 4 GiB

    @Test func `bytes past 4 GiB are written and read at their offset`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let places = [(2 << 30) - 50, (4 << 30) - 50, 5 << 30]
            try await url.withRandomAccessFile(.createNew, using: io) { file async throws in
                for (index, place) in places.enumerated() {
                    try await file.write(pattern(100, seed: UInt8(index)), at: Int64(place))
                }
                #expect(try await file.size == (5 << 30) + 100)
                for (index, place) in places.enumerated() {
                    #expect(
                        same(try await file.read(at: Int64(place), upToCount: 100), pattern(100, seed: UInt8(index))))
                }
                #expect(try await file.read(at: 3 << 30, upToCount: 100) == Data(count: 100))
                try await file.punchHole((4 << 30)..<((4 << 30) + 10))
                #expect(
                    same(
                        try await file.read(at: Int64(places[1]), upToCount: 100),
                        pattern(50, seed: 1) + Data(count: 10) + pattern(100, seed: 1)[60...]))
                try await file.truncate(to: (4 << 30) + 1)
                #expect(try await file.size == (4 << 30) + 1)
            }
            let stream = try await url.openForReading(using: io)
            try await stream.seek(to: (4 << 30) - 50)
            #expect(same(try await stream.readToEnd(), pattern(50, seed: 1) + Data(count: 1)))
            #expect(try await stream.position == (4 << 30) + 1)
            try await stream.close()
            try await url.withFileForWriting(existing: .append, using: io) { stream in
                try await stream.write(pattern(10))
                #expect(try await stream.position == (4 << 30) + 11)
            }
        }
    }

    @Test(.enabled(if: memoryDirectory != nil, "needs a file system whose files may be that large"))
    func `files of the largest size are copied with their progress, alone and in trees`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let tree = directory.appending(path: "tree")
            try await io.createDirectory(at: tree)
            for name in ["a", "b"] {
                let path = tree.appending(path: name).path
                close(creat(path, 0o600))
                guard truncate(path, .max) == 0 else { return print("skipped: a file can't be that large here") }
            }
            let last = Guarded(FileProgress())
            let result = try await io.copy(tree.appending(path: "a"), to: directory.appending(path: "copy")) {
                progress in
                last.withLock { $0 = progress }
            }
            #expect(result.fileSize == .max)
            #expect(last.withLock { $0.completedBytes == .max && $0.isFinished })
            let copied = try await io.copyTree(tree, to: directory.appending(path: "trees")) { progress in
                last.withLock { $0 = progress }
            }
            #expect(copied.files == 2 && copied.totalFileSize == .max)
            try await tree.appending(path: "a").withRandomAccessFile(.readWrite, using: io) { file in
                for offset in [Int64.max - 5, .max - 1, .max] {
                    #expect(try await file.read(at: offset, upToCount: .max).count == Int(Int64.max - offset))
                    #expect(try await file.read(at: offset, upToCount: 1 << 20).count == Int(Int64.max - offset))
                    var room = [UInt8](repeating: 0, count: 10)
                    var span = room.mutableSpan
                    var bytes = span.mutableBytes
                    #expect(try await file.read(at: offset, into: &bytes) == Int(Int64.max - offset))
                    await #expect(throws: FileError.self) { try await file.write(pattern(10), at: offset) }
                }
                _ = try? await file.preallocate(.max - 1 ..< .max)
                _ = try? await file.punchHole(0 ..< .max)
                try await file.advise(.needed, for: 0 ..< .max)
            }
            try await tree.appending(path: "a").withFileForReading(using: io) { stream in
                try await stream.seek(to: .max - 1)
                // The kernel refuses a read that reaches beyond the largest offset.
                for count in [1 << 20, .max] { _ = try? await stream.read(upToCount: count) }
                _ = try? await stream.readToEnd(maximumSize: .max)
                #expect(try await stream.read(upToCount: 1).count == 1)
            }
            await #expect(throws: FileError.self) {
                try await Data(
                    asyncContentsOf: tree.appending(path: "a"), options: .mappedIfSafe, maximumSize: 1 << 20, using: io)
            }
        }
    }
}

// MARK: - Buffers

#if os(Linux)
/// Returns a number of KiB from /proc/self/status.
private func contentsOfLine(_ name: String) throws -> Int {
    let status = try String(contentsOf: URL(filePath: "/proc/self/status"), encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name) })
    return try #require(Int(line.dropFirst(name.count).filter(\.isNumber)))
}
#endif

@Suite(.timeLimit(.minutes(15))) struct `Large file buffers` {
    @Test(arguments: [1, 4 << 20, (4 << 20) + 1, 9 << 20, 70 << 20], [0, 1, 1 << 47])
    func `a file is read whole, regardless of its reported size`(count: Int, claimed: Int) async throws {
        var calls = SystemCalls.system
        calls.statusOfDescriptor = { descriptor, status in
            let result = SystemCalls.system.statusOfDescriptor(descriptor, &status)
            status.size = Int64(claimed)
            return result
        }
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let url = directory.appending(path: "file")
            let bytes = repeated(count)
            try bytes.write(to: url)
            #expect(same(try await Data(asyncContentsOf: url, maximumSize: .max, using: io), bytes))
            try await url.withRandomAccessFile(using: io) { file async throws in
                #expect(same(try await file.read(at: Int64(count / 3), upToCount: .max), bytes.dropFirst(count / 3)))
            }
        }
    }

    /// A number of bytes that differ from place to place.
    private func repeated(_ count: Int) -> Data {
        var bytes = Data(capacity: count)
        var seed: UInt8 = 0
        while bytes.count < count {
            bytes += pattern(min(1_000_003, count - bytes.count), seed: seed)
            seed &+= 1
        }
        return bytes
    }

    @Test(arguments: 1...4) func `a buffer keeps its bytes when it grows`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let expected = [0, 5 << 20, 5000, 1 << 47][Int(seed) - 1]
        var buffer = ReadBuffer(expected: expected)
        let bytes = repeated(150 << 20)
        while buffer.count < bytes.count {
            let most = Int.random(in: 1...(bytes.count - buffer.count), using: &random)
            let place = buffer.count
            buffer.append(atMost: most) { free in
                #expect(free.count >= 1 && free.count <= min(most, ReadBuffer.maximumGrowth))
                let count = min(free.count, Int.random(in: 1...(3 << 20), using: &random))
                bytes.withUnsafeBytes { free.copyMemory(from: .init(rebasing: $0[place..<(place + count)])) }
                return count
            }
        }
        #expect(same(buffer.data(), bytes))
    }

    @Test func `a large buffer is aligned and advised for huge pages, and handed over without a copy`() throws {
        for count in [5 << 20, (64 << 20) + 1] {
            var buffer = ReadBuffer(expected: count)
            var address: UnsafeMutableRawPointer?
            while buffer.count < count {
                buffer.append(atMost: count - buffer.count) { free in
                    address = address ?? free.baseAddress
                    return free.count
                }
            }
            let data = buffer.data()
            #expect(Int(bitPattern: address) % (2 << 20) == 0)
            data.withUnsafeBytes { #expect($0.baseAddress == UnsafeRawPointer(address)) }
            #if os(Linux)
            if access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0 {
                #expect(try flags(ofMemoryAt: Int(bitPattern: address)).contains("hg"))
            }
            #endif
            #expect(data.count == count)
        }
    }

    #if os(Linux)
    /// The entry of /proc/self/smaps about the mapping that contains an address.
    private func flags(ofMemoryAt address: Int) throws -> [Substring] {
        let text = try String(decoding: contentsByStandardIO(of: URL(filePath: "/proc/self/smaps")), as: UTF8.self)
        var isInside = false
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let range = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            if range.count == 2 { isInside = range[0] <= address && address < range[1] }
            if isInside && words[0] == "VmFlags:" { return Array(words.dropFirst()) }
        }
        return []
    }
    #endif

    @Test func `few bytes in a large buffer are copied out of it`() throws {
        var buffer = ReadBuffer(expected: 1 << 47)
        var address: UnsafeRawPointer?
        buffer.append(atMost: .max) { free in
            address = UnsafeRawPointer(free.baseAddress)
            free.copyBytes(from: pattern(1000))
            return 1000
        }
        let data = buffer.data()
        #expect(same(data, pattern(1000)))
        data.withUnsafeBytes { #expect($0.baseAddress != address) }
    }

    @Test func `if there is no address space for a size, less is tried, and then malloc`() throws {
        let asked = Guarded<[Int]>([])
        for most in [64 << 20, 0] {
            asked.withLock { $0 = [] }
            var buffer = ReadBuffer(expected: 1 << 40) { count in
                asked.withLock { $0.append(count) }
                return count <= most ? ReadBuffer.addressSpace(count) : nil
            }
            let bytes = repeated(12 << 20)
            while buffer.count < bytes.count {
                let rest = bytes[buffer.count...]
                buffer.append(atMost: rest.count) { free in
                    let count = min(free.count, rest.count)
                    free.copyBytes(from: rest.prefix(count))
                    return count
                }
            }
            #expect(same(buffer.data(), bytes))
            #expect(asked.withLock { $0.prefix(2) } == [64 << 30, 64 << 20])
        }
    }

    @Test func `if there is no more memory, a buffer reports it and keeps its bytes`() throws {
        let isFull = Guarded(false)
        var buffer = ReadBuffer(expected: 5 << 20) { count in
            isFull.withLock { $0 } ? nil : ReadBuffer.addressSpace(count)
        }
        while buffer.count < 5 << 20 { buffer.append(atMost: (5 << 20) - buffer.count) { $0.count } }
        isFull.withLock { $0 = true }
        let filled = buffer.append(atMost: 1) { _ in 1 }
        #expect(filled == nil)
        let data = buffer.data()
        #expect(data.count == 5 << 20)
    }

    #if os(Linux)
    @Test func `a limit of address space is an error and doesn't end the process`() async {
        await #expect(processExitsWith: .success) {
            var calls = SystemCalls.system
            // Reads as much as requested, and touches nothing.
            calls.read = { _, buffer in buffer.count }
            calls.randomAccess.readAt = { _, buffer, _ in buffer.count }
            calls.readiness.read = { _, buffer, _ in buffer.count }
            let io = FileIO(configuration: .init(concurrency: 1), calls: calls)
            let pipe = TestPipe()
            let file = try await URL(filePath: "/dev/zero").openForRandomAccess(using: io)
            let size = try contentsOfLine("VmSize:") << 10
            var limit = rlimit(rlim_cur: rlim_t(size + (300 << 20)), rlim_max: rlim_t.max)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
            for _ in 0..<3 {
                let error = await expectFileError(.exhausted) {
                    try await Data(asyncContentsOf: URL(filePath: "/dev/zero"), maximumSize: .max, using: io)
                }
                #expect(error?.systemError == ENOMEM && error?.subject == "/dev/zero" && error?.operation == "read")
                await expectFileError(.exhausted) { try await file.read(at: 0, upToCount: .max) }
                let ofPipe = await expectFileError(.exhausted) {
                    try await io.readToEnd(descriptor: pipe.reading, name: "pipe", maximumSize: .max)
                }
                #expect(ofPipe?.systemError == ENOMEM && ofPipe?.subject == "pipe" && ofPipe?.operation == "read")
            }
            #expect(try await file.read(at: 0, upToCount: 20 << 20).count == 20 << 20)
        }
    }
    #endif

    #if os(Linux)
    @Test func `a file that claims 128 TiB takes as much memory as it fills`() async {
        await #expect(processExitsWith: .success) {
            var calls = SystemCalls.system
            calls.statusOfDescriptor = { descriptor, status in
                let result = SystemCalls.system.statusOfDescriptor(descriptor, &status)
                status.size = 1 << 47
                return result
            }
            let io = FileIO(configuration: .init(concurrency: 4), calls: calls)
            try await FileIO.shared.withTemporaryDirectory { directory in
                let url = directory.appending(path: "file")
                try Data(count: 20 << 20).write(to: url)
                // Four at a time, a hundred in all: the memory of dropped results is freed.
                for _ in 0..<25 {
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        for _ in 0..<4 {
                            group.addTask { try await Data(asyncContentsOf: url, maximumSize: .max, using: io).count }
                        }
                        for try await count in group { precondition(count == 20 << 20) }
                    }
                }
                let peak = try contentsOfLine("VmHWM:") << 10
                #expect(peak < 400 << 20)
            }
        }
    }
    #endif
}

#if os(Linux)
@Suite struct `Idle memory` {
    private let idle = IdleMemory()

    private static func block(_ size: Int) throws -> IdleMemory.Block {
        let start = try #require(ReadBuffer.addressSpace(size))
        start.storeBytes(of: 7, as: UInt8.self)
        return IdleMemory.Block(start: start, size: size)
    }

    @Test func `memory that was given is taken again, once`() throws {
        let block = try Self.block(8 << 20)
        idle.give(block)
        let taken = try #require(idle.take(8 << 20))
        #expect(taken.start == block.start && taken.size == block.size)
        #expect(idle.take(8 << 20) == nil)
        taken.start.storeBytes(of: 1, as: UInt8.self)
        idle.give(taken)
    }

    @Test func `a block is taken for a size up to a fifth smaller`() throws {
        idle.give(try Self.block(10 << 20))
        #expect(idle.take(10 << 20 + 1) == nil)
        #expect(idle.take(7 << 20) == nil)
        #expect(idle.take(8 << 20)?.size == 10 << 20)
    }

    @Test func `two blocks are kept, and no large ones`() throws {
        idle.give(try Self.block(IdleMemory.largest + (2 << 20)))
        #expect(idle.take(IdleMemory.largest) == nil)
        for size in [6, 12, 24] { idle.give(try Self.block(size << 20)) }
        #expect(idle.take(6 << 20) == nil)
        #expect(idle.take(12 << 20) != nil && idle.take(24 << 20) != nil)
    }
}
#endif
