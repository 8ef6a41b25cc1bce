import Foundation
import SluiceFiles
import TestSupport
import Testing

/// A file of a few megabytes, larger than a buffer, a piece or a page.
let large = 9 << 20 | 12345

/// Whether copy_file_range(2) is available. Some sandboxes deny it.
let copiesInKernel = SystemCalls.system.copying.copyRange(-1, -1, 1) == -Int(EBADF)

/// Creates a file of any size.
func makeFile(_ url: URL, _ count: Int, seed: UInt8 = 0) throws {
    var data = Data(capacity: count)
    while data.count < count { data.append(pattern(min(count - data.count, 1 << 20), seed: seed)) }
    try data.write(to: url)
}

/// Returns whether two files have the same bytes.
func sameFiles(_ a: URL, _ b: URL) -> Bool { same(contents(of: a), contents(of: b)) }

@Suite(.timeLimit(.minutes(15))) struct `Copies of files` {
    static let places: [URL?] = [nil, memoryDirectory]
    static let sizes = [0, 1, 4096, 65_536, 65_537, 300_000, large]

    @Test(arguments: places, sizes)
    func `a copy has the contents of the original, and no other file is left`(place: URL?, size: Int) async throws {
        try await withIO(in: place) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, size)
            let result = try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(result.fileSize == size)
            #expect(sameFiles(a, b))
            #expect(names(in: directory) == ["a", "b"])
            #expect(io.statistics.finishedCount == 1)
        }
    }

    /// The kernel without some ways to copy.
    static func without(clone: CInt?, range: CInt?) -> SystemCalls {
        var calls = SystemCalls.system
        if let clone { calls.copying.clone = { _, _ in -clone } }
        if let range { calls.copying.copyRange = { _, _, _ in -Int(range) } }
        return calls
    }

    @Test(arguments: [
        EXDEV, EINVAL, EOPNOTSUPP, ENOSYS, EPERM, EBADF, ETXTBSY, ENOTTY, EISDIR, EIO, ENOSPC, EACCES, 0,
    ])
    func `after any error of one copying method, the next method is used`(number: CInt) async throws {
        for (calls, method) in [
            (Self.without(clone: number == 0 ? EXDEV : number, range: nil), FileCopyResult.Method.kernelCopy),
            (Self.without(clone: EOPNOTSUPP, range: number), .readAndWrite),
        ] {
            try await withIO(calls: calls, in: memoryDirectory) { io, directory in
                let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
                try makeFile(a, 300_000)
                let result = try await io.copy(a, to: b, options: .init(durability: .none, existing: .replace))
                #expect(result == FileCopyResult(fileSize: 300_000, method: copiesInKernel ? method : .readAndWrite))
                #expect(sameFiles(a, b))
            }
        }
    }

    @Test func `a clone makes one call and is reported as a clone`() async throws {
        var calls = SystemCalls.system
        calls.copying.clone = { source, destination in
            // What Btrfs and XFS do, as seen from outside.
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
            #expect(result == FileCopyResult(fileSize: 5000, method: .clone))
            #expect(sameFiles(a, b))
        }
        let last = FileProgress(completedBytes: 5000, totalBytes: 5000, completedEntries: 1, isFinished: true)
        #expect(reports.withLock { $0 } == [last])
    }

    @Test(.enabled(if: copiesInKernel))
    func `short copies are continued, and a copy that stops midway is finished by reading`() async throws {
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
            #expect(result == FileCopyResult(fileSize: 30_000, method: .readAndWrite))
            #expect(sameFiles(a, b))
            #expect(count.withLock { $0 } == 7)
        }
    }

    // MARK: Files that don't report their size

    @Test(arguments: [false, true])
    func `a file in /proc is copied whole, although the kernel reports it as empty`(rangeSaysNothing: Bool) async throws
    {
        // Kernels before 5.19 return 0 here, and later ones EXDEV.
        let calls = rangeSaysNothing ? Self.without(clone: nil, range: 0) : .system
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let copy = directory.appending(path: "copy")
            for path in ["/proc/kallsyms", "/proc/cpuinfo", "/proc/self/maps"] {
                guard access(path, R_OK) == 0 else { continue }
                let result = try await io.copy(URL(filePath: path), to: copy, options: .init(existing: .replace))
                #expect(result.fileSize > 0 && result.fileSize == contents(of: copy).count)
                // With plain reads: Foundation reads too little in /proc.
                if path != "/proc/self/maps" {
                    let whole = bytes(of: path)
                    #expect(same(whole, contents(of: copy)), "\(path) has \(whole.count) bytes")
                }
            }
        }
    }

    @Test(arguments: ["/sys/kernel/uevent_seqnum", "/sys/kernel/mm/transparent_hugepage/enabled"])
    func `a file in /sys is copied whole, although its reported size is a page`(path: String) async throws {
        guard access(path, R_OK) == 0 else { return }
        try await withIO(in: memoryDirectory) { io, directory in
            let copy = directory.appending(path: "copy")
            let result = try await io.copy(URL(filePath: path), to: copy, options: .init(existing: .replace))
            #expect(result.fileSize < 4096 && result.fileSize > 0)
            #expect(sameFiles(URL(filePath: path), copy))
        }
    }

    @Test(arguments: [(nil, EXDEV), (EXDEV, nil)] as [(CInt?, CInt?)], [0, 100, 70_000])
    func `a file that keeps growing is copied at its initial size`(ways: (CInt?, CInt?), size: Int) async throws {
        let path = Guarded("")
        let times = Guarded(0)
        let grow: @Sendable () -> Void = {
            // The file grows at each call. If the copy never ended, the test should fail and not hang.
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
            #expect(result.fileSize == size)
            #expect(same(contents(of: b), contents(of: a).prefix(size)))
        }
    }

    @Test func `a file that is truncated during the copy is copied up to its new end`() async throws {
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
            #expect(result.fileSize == 100_000)
            #expect(sameFiles(a, b))
        }
    }

    // MARK: Holes

    /// Files with 64 KiB of data at each of these places, and their sizes.
    static let holes: [([Int], Int)] = [
        ([], 1 << 30), ([0], 1 << 30), ([(1 << 30) - 65_536], 1 << 30), ([1 << 20, 5 << 20, 300 << 20], 1 << 30),
        ([0, 1 << 20], 2 << 20), ([512 << 20], (1 << 30) + 77),
    ]

    @Test(arguments: holes, places)
    func `a copy keeps holes`(file: ([Int], Int), place: URL?) async throws {
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
                #expect(result.fileSize == file.1 && status.size == file.1)
                #expect(status.allocatedSize <= (file.0.count + 1) * (128 << 10))
                #expect(try dataIsSame(a, b, at: file.0))
                #expect(reports.withLock { $0?.completedBytes } == Int64(file.1))
            }
        }
    }

    @Test(arguments: [Call.copyingNextData, .copyingNextHole])
    func `a copy has the same bytes even if the file system reports no holes`(call: Call) async throws {
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
                #expect(result.fileSize == 4 << 20)
                #expect(sameFiles(a, b))
            }
        }
    }
}

/// Creates a file that consists of holes, except for 64 KiB at each place.
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

/// The bytes that plain reads return until the end.
private func bytes(of path: String) -> Data {
    let descriptor = Glibc.open(path, O_RDONLY)
    defer { Glibc.close(descriptor) }
    var (data, buffer) = (Data(), [UInt8](repeating: 0, count: 100_000))
    while case let count = Glibc.read(descriptor, &buffer, buffer.count), count > 0 { data += buffer[..<count] }
    return data
}

/// Returns whether two files have the same bytes at and around these places.
private func dataIsSame(_ a: URL, _ b: URL, at places: [Int]) throws -> Bool {
    let (a, b) = (try FileHandle(forReadingFrom: a), try FileHandle(forReadingFrom: b))
    return try places.allSatisfy { place in
        let start = UInt64(max(0, place - 4096))
        try a.seek(toOffset: start)
        try b.seek(toOffset: start)
        return try same(a.read(upToCount: 72 << 10) ?? Data(), b.read(upToCount: 72 << 10) ?? Data())
    }
}

// MARK: - Destinations

@Suite(.timeLimit(.minutes(15))) struct `Destinations of copies` {
    @Test(arguments: [
        (Durability.none, ["rename"]), (.data, ["fdatasync", "rename"]), (.full, ["fsync", "rename"]),
        (.fullAndDirectory, ["fsync", "rename", "fsync directory"]),
    ])
    func `each durability level makes its calls in the promised order`(durability: Durability, order: [String])
        async throws
    {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 5000)
            try await io.copy(a, to: b, options: .init(durability: durability, existing: .replace))
            #expect(log.all.filter { order.contains($0) || $0.hasPrefix("f") } == order)
            #expect(log.all.firstIndex(of: "close")! < log.all.firstIndex(of: "rename")!, "delayed errors come first")
        }
    }

    @Test func `an existing destination is replaced, or it stays and the error names it`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 5000, seed: 1)
            try makeFile(b, 70)
            let error = await expectFileError(.exists) { try await io.copy(a, to: b, options: .init(existing: .fail)) }
            #expect(error?.subject == b.path)
            #expect(same(contents(of: b), pattern(70)))
            try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(sameFiles(a, b))
            try await io.remove(b)
            try await io.copy(a, to: b, options: .init(existing: .fail))
            #expect(sameFiles(a, b))
            #expect(names(in: directory) == ["a", "b"])
        }
    }

    @Test func `if many tasks copy to one name without replacing, one succeeds`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 5000)
            let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        do {
                            try await io.copy(a, to: b, options: .init(durability: .none, existing: .fail))
                            return true
                        } catch let error as FileError where error.code == .exists {
                            return false
                        }
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(winners == 1)
            #expect(names(in: directory) == ["a", "b"])
        }
    }

    @Test func `copying a file to itself is refused under any name, and the file stays`() async throws {
        try await withIO { io, directory in
            let (a, name, link) = (
                directory.appending(path: "a"), directory.appending(path: "name"), directory.appending(path: "link")
            )
            try makeFile(a, 5000)
            #expect(Glibc.link(a.path, name.path) == 0 && symlink("a", link.path) == 0)
            let pairs = [
                (a, a), (a, name), (name, a), (a, link), (link, a), (link, link), (link, name),
                (a, directory.appending(path: "./a")),
            ]
            for (from, to) in pairs {
                let error = await expectFileError(.sameFile) {
                    try await io.copy(from, to: to, options: .init(existing: .replace))
                }
                #expect(error?.remedy != nil)
            }
            await expectFileError(.sameFile) {
                try await io.copy(link, to: link, options: .init(existing: .replace, followsLinks: false))
            }
            #expect(same(contents(of: a), contents(of: name)) && contents(of: a).count == 5000)
            #expect(names(in: directory) == ["a", "link", "name"])
        }
    }

    @Test func `only a regular file is copied, and no other file is opened`() async throws {
        let opened = CallLog()
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            opened.add(String(cString: path))
            return SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(calls: calls) { io, directory in
            let copy = directory.appending(path: "copy")
            let (fifo, socket) = (directory.appending(path: "fifo"), directory.appending(path: "socket"))
            #expect(mkfifo(fifo.path, 0o600) == 0 && mknod(socket.path, mode_t(S_IFSOCK) | 0o600, 0) == 0)
            for url in [fifo, socket, URL(filePath: "/dev/zero")] {
                let error = await expectFileError(.notRegularFile) {
                    try await io.copy(url, to: copy, options: .init(existing: .replace))
                }
                #expect(error?.subject == url.path && error?.remedy != nil)
            }
            let error = await expectFileError(.isDirectory) {
                try await io.copy(directory, to: copy, options: .init(existing: .replace))
            }
            #expect(error?.operation == "copy")
            await expectFileError(.notFound) {
                try await io.copy(directory.appending(path: "none"), to: copy, options: .init(existing: .replace))
            }
            await expectFileError(.notDirectory) {
                try await io.copy(fifo.appending(path: "x"), to: copy, options: .init(existing: .replace))
            }
            #expect(opened.all.count == 2, "\(opened.all)")
            #expect(names(in: directory) == ["fifo", "socket"])
        }
    }

    @Test(arguments: ["fifo", "directory", "link"])
    func `a file that replaced the original after the check is refused without blocking`(kind: String) async throws {
        let path = Guarded("")
        var calls = SystemCalls.system
        calls.open = { name, flags, mode in
            let path = path.withLock { $0 }
            if String(cString: name) == path {
                unlink(path)
                switch kind {
                case "fifo": mkfifo(path, 0o600)
                case "directory": mkdir(path, 0o700)
                default: symlink("/etc/passwd", path)
                }
            }
            // Without it, opening the FIFO would hang here instead of failing.
            #expect(flags & (O_NONBLOCK | O_CREAT) != 0)
            return SystemCalls.system.open(name, flags | O_NONBLOCK, mode)
        }
        try await withIO(calls: calls) { io, directory in
            let a = directory.appending(path: "a")
            try makeFile(a, 5000)
            path.withLock { $0 = a.path }
            let code: FileError.Code = ["fifo": .notRegularFile, "directory": .isDirectory, "link": .tooManyLinks][
                kind]!
            await expectFileError(code) {
                try await io.copy(
                    a, to: directory.appending(path: "b"), options: .init(existing: .replace, followsLinks: false))
            }
            #expect(names(in: directory) == ["a"])
        }
    }

    @Test func `a FIFO or directory at the destination is refused, and a link itself is replaced`() async throws {
        try await withIO { io, directory in
            let (a, fifo) = (directory.appending(path: "a"), directory.appending(path: "fifo"))
            let (target, link) = (directory.appending(path: "target"), directory.appending(path: "link"))
            try makeFile(a, 5000)
            try makeFile(target, 70)
            #expect(mkfifo(fifo.path, 0o600) == 0 && symlink(target.path, link.path) == 0)
            await expectFileError(.notRegularFile) {
                try await io.copy(a, to: fifo, options: .init(existing: .replace))
            }
            await expectFileError(.isDirectory) {
                try await io.copy(a, to: directory, options: .init(existing: .replace))
            }
            try await io.copy(a, to: link, options: .init(existing: .replace))
            #expect(sameFiles(a, link) && same(contents(of: target), pattern(70)))
            let status = try await io.status(of: link, followsLinks: false)
            #expect(status?.kind == .file)
            #expect(names(in: directory) == ["a", "fifo", "link", "target"])
        }
    }

    @Test func `files with unusual names are copied`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let hostile = ["-rf", "a\nb", String(repeating: "x", count: 255), " ", "\u{202E}", "%2F", "é"]
            for name in hostile {
                let (a, b) = (directory.appending(path: name), directory.appending(path: "copy/" + name))
                try await io.createDirectory(at: directory.appending(path: "copy"))
                try makeFile(a, 100)
                try await io.copy(a, to: b, options: .init(existing: .replace))
                #expect(sameFiles(a, b))
            }
            await expectFileError(.nameTooLong) {
                try await io.copy(
                    directory.appending(path: "-rf"), to: directory.appending(path: String(repeating: "x", count: 256)),
                    options: .init(existing: .replace))
            }
            await expectFileError(.notFound) {
                try await io.copy(
                    directory.appending(path: "-rf"), to: directory.appending(path: "none/x"),
                    options: .init(existing: .replace))
            }
        }
    }

    // MARK: Links

    @Test func `a link is followed, or copied with its target unchanged`() async throws {
        try await withIO { io, directory in
            let (a, b, link) = (
                directory.appending(path: "a"), directory.appending(path: "b"), directory.appending(path: "link")
            )
            try makeFile(a, 5000)
            #expect(symlink("a", link.path) == 0)
            try await io.copy(link, to: b, options: .init(existing: .replace))
            #expect(sameFiles(a, b))
            var result = try await io.copy(link, to: b, options: .init(existing: .replace, followsLinks: false))
            #expect(result == FileCopyResult(fileSize: 0, method: .symbolicLink))
            #expect(try await io.destination(ofSymbolicLink: b) == "a")

            // A target that doesn't exist and isn't UTF-8.
            let odd = directory.appending(path: "odd")
            #expect(symlink([0x2E, 0x2E, 0x2F, -1, -2, 0x0A, 0], odd.path) == 0)
            await expectFileError(.notFound) { try await io.copy(odd, to: b, options: .init(existing: .replace)) }
            result = try await io.copy(odd, to: b, options: .init(existing: .replace, followsLinks: false))
            var target = [CChar](repeating: 0, count: 10)
            #expect(readlink(b.path, &target, 10) == 6 && target.prefix(6) == [0x2E, 0x2E, 0x2F, -1, -2, 0x0A])
            await expectFileError(.exists) {
                try await io.copy(odd, to: b, options: .init(existing: .fail, followsLinks: false))
            }
            await expectFileError(.isDirectory) {
                try await io.copy(odd, to: directory, options: .init(existing: .replace, followsLinks: false))
            }
            #expect(names(in: directory) == ["a", "b", "link", "odd"])
        }
    }

    @Test func `a copied link keeps its own times and owner on request`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            #expect(symlink("nowhere", a.path) == 0)
            let time = FileTime(seconds: 1_000_000_007, nanoseconds: 123_456_789)
            try await io.setTimes(of: a, modification: time, access: .epoch, followsLinks: false)
            var keeping = FileCopyOptions.Attributes.allButOwner
            if getuid() == 0 {
                try await io.setOwner(of: a, user: 7, group: 8, followsLinks: false)
                #expect(setAttribute("trusted.link", of: a, to: Data("t".utf8)))
                keeping.insert(.owner)
            }
            try await io.copy(a, to: b, options: .init(existing: .replace, followsLinks: false, attributes: keeping))
            let (old, new) = (
                try await io.status(of: a, followsLinks: false), try await io.status(of: b, followsLinks: false)
            )
            #expect(new?.modificationTime == time && new?.kind == .symbolicLink)
            #expect(new?.owner == old?.owner && new?.group == old?.group)
            #expect(attribute("trusted.link", of: b) == attribute("trusted.link", of: a))
        }
    }
}

// MARK: - Cancellation and progress

@Suite(.timeLimit(.minutes(15))) struct `Copies that are cancelled, and their progress` {
    @Test func `a cancelled task starts no copy`() async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let a = directory.appending(path: "a")
            try makeFile(a, 10)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await io.copy(a, to: directory.appending(path: "b"), options: .init(existing: .replace))
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(log.all == [])
        }
    }

    /// The kernel without clones, with a gate before the nth of these calls.
    private static func stopping(at call: Call, _ number: Int, _ gate: ThreadGate, range: CInt?) -> SystemCalls {
        let count = Guarded(0)
        return `Copies of files`.without(clone: EXDEV, range: range).intercepted { made in
            if made == call,
                count.withLock({
                    $0 += 1; return $0 - 1
                }) == number
            {
                gate.pass()
            }
            return nil
        }
    }

    @Test(
        .enabled(if: copiesInKernel),
        arguments: [
            (Call.copyingClone, 0, nil), (.copyingCopyRange, 0, nil), (.copyingCopyRange, 1, nil), (.read, 1, EXDEV),
            (.write, 0, EXDEV), (.sync, 0, nil), (.close, 0, nil),
        ] as [(Call, Int, CInt?)])
    func `a copy that is cancelled before the rename leaves the destination unchanged`(
        call: Call, number: Int, range: CInt?
    ) async throws {
        let gate = ThreadGate()
        try await withIO(calls: Self.stopping(at: call, number, gate, range: range), in: memoryDirectory) {
            io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, large)
            try makeFile(b, 70)
            let reports = Guarded<[FileProgress]>([])
            let task = Task {
                try await io.copy(a, to: b, options: .init(existing: .replace)) { report in
                    reports.withLock { $0.append(report) }
                }
            }
            await gate.waitForThreads(1)
            task.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(names(in: directory) == ["a", "b"])
            #expect(same(contents(of: b), pattern(70)))
            #expect(reports.withLock { $0.allSatisfy { !$0.isFinished } })
        }
    }

    @Test(.enabled(if: copiesInKernel))
    func `a cancelled copy stops after its current piece, not at the end`() async throws {
        let gate = ThreadGate()
        let log = CallLog()
        var calls = Self.stopping(at: .copyingCopyRange, 0, gate, range: nil)
        calls.copying.copyRange = { [real = calls.copying.copyRange] source, destination, count in
            log.add("\(count)")
            return real(source, destination, count)
        }
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let a = directory.appending(path: "a")
            try makeFile(a, large)
            let task = Task {
                try await io.copy(a, to: directory.appending(path: "b"), options: .init(existing: .replace))
            }
            await gate.waitForThreads(1)
            task.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(log.all == ["\(4 << 20)"])
        }
    }

    @Test func `a copy that is cancelled after the rename succeeds`() async throws {
        let gate = ThreadGate()
        try await withIO(calls: Self.stopping(at: .rename, 0, gate, range: nil), in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 5000)
            let task = Task { try await io.copy(a, to: b, options: .init(existing: .replace)) }
            await gate.waitForThreads(1)
            task.cancel()
            gate.open()
            #expect(try await task.value.fileSize == 5000)
            #expect(sameFiles(a, b))
        }
    }

    // MARK: Progress

    @Test(arguments: [nil, EXDEV] as [CInt?])
    func `reports increase, come on a thread of the engine, and end when the copy is in place`(
        range: CInt?
    ) async throws {
        let calls = `Copies of files`.without(clone: EXDEV, range: range)
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, large)
            let reports = Guarded<[(FileProgress, thread: String, isInPlace: Bool)]>([])
            try await io.copy(a, to: b, options: .init(existing: .replace)) { progress in
                let isInPlace = access(b.path, F_OK) == 0
                reports.withLock { $0.append((progress, nameOfThisThread(), isInPlace)) }
            }
            let all = reports.withLock { $0 }
            #expect(all.map { Int($0.0.completedBytes) } == [4 << 20, 8 << 20, large])
            #expect(all.map(\.0.isFinished) == [false, false, true])
            #expect(all.map(\.isInPlace) == [false, false, true])
            #expect(all.allSatisfy { $0.thread == "sluice-files" && $0.0.totalBytes == Int64(large) })
            #expect(all.last?.0.completedEntries == 1)
        }
    }

    @Test func `if a file doesn't report its size, there is no total and only one report, at the end`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let reports = Guarded<[FileProgress]>([])
            let result = try await io.copy(
                URL(filePath: "/proc/self/status"), to: directory.appending(path: "b"),
                options: .init(existing: .replace)
            ) {
                report in
                reports.withLock { $0.append(report) }
            }
            let last = FileProgress(completedBytes: result.fileSize, completedEntries: 1, isFinished: true)
            #expect(reports.withLock { $0 } == [last])
        }
    }

    @Test func `a failed copy makes no final report`() async throws {
        let reports = Guarded<[FileProgress]>([])
        try await withIO(calls: .failing(.rename, with: EIO), in: memoryDirectory) { io, directory in
            let a = directory.appending(path: "a")
            try makeFile(a, large)
            await expectFileError(.inputOutput) {
                try await io.copy(a, to: directory.appending(path: "b"), options: .init(existing: .replace)) { report in
                    reports.withLock { $0.append(report) }
                }
            }
        }
        #expect(reports.withLock { $0.map(\.isFinished) } == [false, false])
    }
}
