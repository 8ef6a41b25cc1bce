import Foundation
import SluiceFiles
import TestSupport
import Testing

/// A file of some megabytes that is not all in one buffer, piece or page.
let large = 9 << 20 | 12345

/// Whether copy_file_range(2) is there: some sandboxes deny it.
let copiesInKernel = SystemCalls.system.copying.copyRange(-1, -1, 1) == -Int(EBADF)

/// Makes a file of any size.
func makeFile(_ url: URL, _ count: Int, seed: UInt8 = 0) throws {
    var data = Data(capacity: count)
    while data.count < count { data.append(pattern(min(count - data.count, 1 << 20), seed: seed)) }
    try data.write(to: url)
}

/// Whether two files hold the same bytes.
func sameFiles(_ a: URL, _ b: URL) -> Bool { same(contents(of: a), contents(of: b)) }

@Suite(.timeLimit(.minutes(5))) struct `Copies of files` {
    static let places: [URL?] = [nil, memoryDirectory]
    static let sizes = [0, 1, 4096, 65_536, 65_537, 300_000, large]

    @Test(arguments: places, sizes)
    func `a copy has the contents of the original, and leaves nothing else`(place: URL?, size: Int) async throws {
        try await withIO(in: place) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, size)
            let result = try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(result.bytes == size)
            #expect(sameFiles(a, b))
            #expect(names(in: directory) == ["a", "b"])
            #expect(io.statistics.finishedCount == 1)
        }
    }

    /// The kernel, without some ways to copy.
    static func without(clone: CInt?, range: CInt?) -> SystemCalls {
        var calls = SystemCalls.system
        if let clone { calls.copying.clone = { _, _ in -clone } }
        if let range { calls.copying.copyRange = { _, _, _ in -Int(range) } }
        return calls
    }

    @Test(arguments: [
        EXDEV, EINVAL, EOPNOTSUPP, ENOSYS, EPERM, EBADF, ETXTBSY, ENOTTY, EISDIR, EIO, ENOSPC, EACCES, 0,
    ])
    func `after any error of one way, the next is taken`(number: CInt) async throws {
        for (calls, method) in [
            (Self.without(clone: number == 0 ? EXDEV : number, range: nil), FileCopyResult.Method.kernelCopy),
            (Self.without(clone: EOPNOTSUPP, range: number), .readAndWrite),
        ] {
            try await withIO(calls: calls, in: memoryDirectory) { io, directory in
                let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
                try makeFile(a, 300_000)
                let result = try await io.copy(a, to: b, options: .init(durability: .none, existing: .replace))
                #expect(result == FileCopyResult(bytes: 300_000, method: copiesInKernel ? method : .readAndWrite))
                #expect(sameFiles(a, b))
            }
        }
    }

    @Test func `a clone is one call, and is reported as such`() async throws {
        var calls = SystemCalls.system
        calls.copying.clone = { source, destination in
            // What Btrfs and XFS do, seen from outside.
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let count = Glibc.read(source, &bytes, bytes.count)
            return Glibc.write(destination, bytes, count) == count ? 0 : -EIO
        }
        calls.copying.copyRange = { _, _, _ in -Int(EIO) }
        calls.read = { _, _ in -Int(EIO) }
        let reports = Guarded<[FileProgress]>([])
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 5000)
            let result = try await io.copy(a, to: b, options: .init(existing: .replace)) { progress in
                reports.withLock { $0.append(progress) }
            }
            #expect(result == FileCopyResult(bytes: 5000, method: .clone))
            #expect(sameFiles(a, b))
        }
        let last = FileProgress(completedBytes: 5000, totalBytes: 5000, completedEntries: 1, isFinished: true)
        #expect(reports.withLock { $0 } == [last])
    }

    @Test(.enabled(if: copiesInKernel))
    func `short copies are gone on with, and one that stops midway is finished by reading`() async throws {
        let count = Guarded(0)
        var calls = Self.without(clone: EXDEV, range: nil)
        calls.copying.copyRange = { source, destination, wanted in
            let number = count.withLock {
                $0 += 1; return $0
            }
            if number == 3 { return -Int(EINTR) }
            if number == 7 { return -Int(EXDEV) }
            return SystemCalls.system.copying.copyRange(source, destination, min(wanted, 1000))
        }
        calls.read = { SystemCalls.system.read($0, UnsafeMutableRawBufferPointer(rebasing: $1.prefix(777))) }
        calls.write = { SystemCalls.system.write($0, UnsafeRawBufferPointer(rebasing: $1.prefix(333))) }
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 30_000)
            let result = try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(result == FileCopyResult(bytes: 30_000, method: .readAndWrite))
            #expect(sameFiles(a, b))
            #expect(count.withLock { $0 } == 7)
        }
    }

    // MARK: Files that do not tell their size

    @Test(arguments: [false, true])
    func `a file of proc is copied whole, though the kernel says that it is empty`(rangeSaysNothing: Bool) async throws
    {
        // Kernels before 5.19 say 0 here, and later ones EXDEV.
        let calls = rangeSaysNothing ? Self.without(clone: nil, range: 0) : .system
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let copy = directory.appending(path: "copy")
            for path in ["/proc/kallsyms", "/proc/cpuinfo", "/proc/self/maps"] {
                guard access(path, R_OK) == 0 else { continue }
                let result = try await io.copy(URL(filePath: path), to: copy, options: .init(existing: .replace))
                #expect(result.bytes > 0 && result.bytes == contents(of: copy).count)
                // By plain reads: Foundation stops short in /proc.
                if path != "/proc/self/maps" {
                    let whole = bytes(of: path)
                    #expect(same(whole, contents(of: copy)), "\(path) has \(whole.count) bytes")
                }
            }
        }
    }

    @Test(arguments: ["/sys/kernel/uevent_seqnum", "/sys/kernel/mm/transparent_hugepage/enabled"])
    func `a file of sys is copied whole, though it claims a page`(path: String) async throws {
        guard access(path, R_OK) == 0 else { return }
        try await withIO(in: memoryDirectory) { io, directory in
            let copy = directory.appending(path: "copy")
            let result = try await io.copy(URL(filePath: path), to: copy, options: .init(existing: .replace))
            #expect(result.bytes < 4096 && result.bytes > 0)
            #expect(sameFiles(URL(filePath: path), copy))
        }
    }

    @Test(arguments: [(nil, EXDEV), (EXDEV, nil)] as [(CInt?, CInt?)], [0, 100, 70_000])
    func `a file that grows all the time is copied as long as it was`(
        ways: (CInt?, CInt?), size: Int
    ) async throws {
        let path = Guarded("")
        let times = Guarded(0)
        let grow: @Sendable () -> Void = {
            // All the time, but a copy that never ends is to fail and not to hang.
            guard
                times.withLock({
                    $0 += 1; return $0 < 1000
                })
            else { return }
            let descriptor = Glibc.open(path.withLock { $0 }, O_WRONLY | O_APPEND)
            let more = [UInt8](repeating: 7, count: 4096)
            _ = more.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            Glibc.close(descriptor)
        }
        var calls = Self.without(clone: EXDEV, range: ways.1)
        calls.copying.copyRange = { [real = calls.copying.copyRange] source, destination, count in
            grow()
            return real(source, destination, count)
        }
        calls.read = { descriptor, buffer in
            grow()
            return SystemCalls.system.read(descriptor, buffer)
        }
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, size)
            path.withLock { $0 = a.path }
            let result = try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(result.bytes == size)
            #expect(same(contents(of: b), contents(of: a).prefix(size)))
        }
    }

    @Test func `a file that is cut off meanwhile is copied as far as it goes`() async throws {
        let path = Guarded("")
        var calls = Self.without(clone: EXDEV, range: EXDEV)
        calls.read = { descriptor, buffer in
            _ = Glibc.truncate(path.withLock { $0 }, 100_000)
            return SystemCalls.system.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(65_000)))
        }
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 300_000)
            path.withLock { $0 = a.path }
            let result = try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(result.bytes == 100_000)
            #expect(sameFiles(a, b))
        }
    }

    // MARK: Holes

    /// Data at these places, of 64 KiB each, in a file of this size.
    static let holes: [([Int], Int)] = [
        ([], 1 << 30), ([0], 1 << 30), ([(1 << 30) - 65_536], 1 << 30), ([1 << 20, 5 << 20, 300 << 20], 1 << 30),
        ([0, 1 << 20], 2 << 20), ([512 << 20], (1 << 30) + 77),
    ]

    @Test(arguments: holes, places)
    func `holes stay holes`(file: ([Int], Int), place: URL?) async throws {
        for range in [nil, EXDEV] as [CInt?] {
            try await withIO(calls: Self.without(clone: EXDEV, range: range), in: place) { io, directory in
                let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
                try makeSparse(a, file.0, size: file.1)
                let reports = Guarded<FileProgress?>(nil)
                let result = try await io.copy(a, to: b, options: .init(durability: .none, existing: .replace)) {
                    progress in
                    reports.withLock { $0 = progress }
                }
                let status = try #require(try await io.status(of: b))
                #expect(result.bytes == file.1 && status.size == file.1)
                #expect(status.allocatedSize <= (file.0.count + 1) * (128 << 10))
                #expect(try dataIsSame(a, b, at: file.0))
                #expect(reports.withLock { $0?.completedBytes } == Int64(file.1))
            }
        }
    }

    @Test(arguments: [Call.copyingNextData, .copyingNextHole])
    func `where the file system tells no holes the bytes are the same`(call: Call) async throws {
        for ordinal in 0..<3 {
            let count = Guarded(0)
            let calls = Self.without(clone: EXDEV, range: nil).intercepted {
                $0 == call
                    && count.withLock {
                        $0 += 1; return $0 - 1
                    } == ordinal ? EINVAL : nil
            }
            try await withIO(calls: calls, in: memoryDirectory) { io, directory in
                let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
                try makeSparse(a, [1 << 20, 3 << 20], size: 4 << 20)
                let result = try await io.copy(a, to: b, options: .init(existing: .replace))
                #expect(result.bytes == 4 << 20)
                #expect(sameFiles(a, b))
            }
        }
    }
}

/// Makes a file of nothing but holes, and 64 KiB at each place.
func makeSparse(_ url: URL, _ places: [Int], size: Int) throws {
    close(creat(url.path, 0o644))
    let handle = try FileHandle(forWritingTo: url)
    for place in places {
        try handle.seek(toOffset: UInt64(place))
        try handle.write(contentsOf: pattern(64 << 10, seed: UInt8(truncatingIfNeeded: place >> 20)))
    }
    try handle.truncate(atOffset: UInt64(size))
    try handle.close()
}

/// What plain reads give until one gives nothing.
private func bytes(of path: String) -> Data {
    let descriptor = Glibc.open(path, O_RDONLY)
    defer { Glibc.close(descriptor) }
    var (data, buffer) = (Data(), [UInt8](repeating: 0, count: 100_000))
    while case let count = Glibc.read(descriptor, &buffer, buffer.count), count > 0 { data += buffer[..<count] }
    return data
}

/// Whether two files have the same bytes at and around these places.
private func dataIsSame(_ a: URL, _ b: URL, at places: [Int]) throws -> Bool {
    let (a, b) = (try FileHandle(forReadingFrom: a), try FileHandle(forReadingFrom: b))
    return try places.allSatisfy { place in
        let start = UInt64(max(0, place - 4096))
        try a.seek(toOffset: start)
        try b.seek(toOffset: start)
        return try same(a.read(upToCount: 72 << 10) ?? Data(), b.read(upToCount: 72 << 10) ?? Data())
    }
}
