import Foundation
import SluiceFiles
import TestSupport
import Testing

/// A directory on a file system of some kind.
struct FileSystem: Sendable, CustomTestStringConvertible {
    var name: String
    var directory: URL

    var testDescription: String { name }

    /// The directory for temporary files, memory, and the file systems that Scripts/checks/file-systems.sh has mounted:
    /// `SLUICE_FILE_SYSTEMS=overlay=/mnt/a:ext4=/mnt/b`.
    static let all: [FileSystem] = {
        var all = [FileSystem(name: "temporary files", directory: FileManager.default.temporaryDirectory)]
        if let memoryDirectory { all.append(FileSystem(name: "tmpfs", directory: memoryDirectory)) }
        return all + mounted("SLUICE_FILE_SYSTEMS")
    }()

    /// File systems of at most 16 MiB, from `SLUICE_SMALL_FILE_SYSTEMS`.
    static let small: [FileSystem] = mounted("SLUICE_SMALL_FILE_SYSTEMS")

    private static func mounted(_ variable: String) -> [FileSystem] {
        (ProcessInfo.processInfo.environment[variable] ?? "").split(separator: ":").map { entry in
            let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
            return FileSystem(name: parts[0], directory: URL(filePath: parts[1], directoryHint: .isDirectory))
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Every file system` {
    @Test(arguments: FileSystem.all)
    func `written bytes are read back at each durability, with and without a temporary name`(system: FileSystem)
        async throws
    {
        try await withIO(in: system.directory) { io, directory in
            let file = directory.appending(path: "file")
            for (index, durability) in [Durability.none, .data, .full, .fullAndDirectory].enumerated() {
                for name in [nil, "file.part"] {
                    let data = pattern(100_000 + index, seed: UInt8(index))
                    try await data.asyncWrite(
                        to: file, options: .init(durability: durability, temporaryName: name), using: io)
                    // Twice: the second may be read inline.
                    for _ in 0..<2 { try expectSame(await Data(asyncContentsOf: file, using: io), data) }
                    try expectSame(contents(of: file), data)
                }
            }
            try await Data().asyncWrite(to: file, using: io)
            for _ in 0..<2 { #expect(try await Data(asyncContentsOf: file, using: io).isEmpty) }
            #expect(names(in: directory) == ["file"])
        }
    }

    @Test(arguments: FileSystem.all)
    func `renaming a file to another name of the same file leaves only that name`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            for round in 0..<4 {
                try pattern(10).write(to: a)
                guard Foundation.link(a.path, b.path) == 0 else { return }  // A file system without hard links.
                switch round {
                case 0: try await io.rename(a, to: b, existing: .replace)
                case 1:
                    let entry = try await io.entries(of: directory).first { $0.name == "a" }
                    #expect(try await entry?.rename(to: "b", existing: .replace).name == "b")
                case 2:
                    let stream = try await a.openForWriting(existing: .append, locked: true, using: io)
                    try await stream.publish(as: b, existing: .replace)
                default:
                    // Without replacing, an existing name is an error, whatever it refers to.
                    await expectFileError(.exists) { try await io.rename(a, to: b) }
                    #expect(names(in: directory) == ["a", "b"])
                    try FileManager.default.removeItem(at: a)
                }
                #expect(names(in: directory) == ["b"])
                #expect(same(contents(of: b), pattern(10)))
                // A name that is renamed to itself stays.
                try await io.rename(b, to: b, existing: .replace)
                #expect(Foundation.link(b.path, a.path) == 0)
                for same in ["b", "./b", "../\(directory.lastPathComponent)/b"] {
                    try await io.rename(b, to: directory.appending(path: same), existing: .replace)
                    #expect(names(in: directory) == ["a", "b"])
                }
                for name in names(in: directory) {
                    try FileManager.default.removeItem(at: directory.appending(path: name))
                }
            }
        }
    }

    @Test(arguments: FileSystem.all)
    func `streams append, truncate and sync, and are read in pieces`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let file = directory.appending(path: "file")
            try await file.withFileForWriting(existing: .fail, permissions: 0o640, locked: true, using: io) { stream in
                try await stream.write([pattern(50_000), pattern(3), pattern(70_000, seed: 1)])
                try await stream.sync(.fullAndDirectory)
                try await stream.truncate(to: 60_000)
            }
            #expect(mode(of: file) == 0o640)
            try await file.withFileForWriting(existing: .append, using: io) { try await $0.write(pattern(10)) }
            let wanted = pattern(50_000) + pattern(3) + pattern(70_000, seed: 1).prefix(9997) + pattern(10)
            var chunks = Data()
            for try await chunk in file.chunks(of: 4096, using: io) { chunks += chunk }
            try expectSame(chunks, wanted)
            try await file.withFileForReading(using: io) { stream in
                try expectSame(await stream.read(upToCount: 7000), wanted.prefix(7000))
                try expectSame(await stream.readToEnd(), wanted.dropFirst(7000))
            }
            await expectFileError(.exists) { try await file.withFileForWriting(existing: .fail, using: io) { _ in } }
        }
    }

    @Test(arguments: FileSystem.all)
    func `one of several renames wins, and a tree with unusual names is removed`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let file = directory.appending(path: "file")
            let winners = try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<8 {
                    group.addTask {
                        let own = directory.appending(path: "own-\(index)")
                        try await pattern(10, seed: UInt8(index)).asyncWrite(
                            to: own, options: .init(durability: .none), using: io)
                        do {
                            try await io.rename(own, to: file, existing: .fail)
                            return 1
                        } catch let error as FileError where error.code == .exists {
                            try await io.remove(own)
                            return 0
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(winners == 1)
            #expect(names(in: directory) == ["file"])

            let tree = directory.appending(path: "tree")
            try await io.createDirectory(at: tree.appending(path: "a/b/c"))
            let long = String(repeating: "n", count: 255)
            for name in ["-leading", "line\nbreak", "ü", long] {
                try await pattern(5).asyncWrite(
                    to: tree.appending(path: "a/b").appending(path: name), options: .init(durability: .none), using: io)
            }
            await expectFileError(.nameTooLong) {
                try await pattern(5).asyncWrite(to: tree.appending(path: long + "n"), using: io)
            }
            #expect(symlink(file.path, tree.appending(path: "link").path) == 0)
            #expect(try await io.status(of: tree.appending(path: "a/b"))?.kind == .directory)
            await expectFileError(.notEmpty) { try await io.remove(tree) }
            try await io.removeTree(tree)
            #expect(names(in: directory) == ["file"])
        }
    }

    @Test(arguments: FileSystem.all)
    func `a lock keeps out a second opener, and a file is published only once`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let (part, whole) = (directory.appending(path: "part"), directory.appending(path: "whole"))
            let stream = try await part.openForWriting(locked: true, using: io)
            try await stream.write(pattern(9000))
            await expectFileError(.locked) { try await part.openForWriting(locked: true, using: io).close() }
            try await stream.publish(as: whole, existing: .fail, durability: .fullAndDirectory)
            try expectSame(contents(of: whole), pattern(9000))
            await expectFileError(.exists) {
                let second = try await part.openForWriting(locked: true, using: io)
                try await second.publish(as: whole, existing: .fail, removesOnFailure: true)
            }
            #expect(names(in: directory) == ["whole"])
        }
    }

    @Test(arguments: FileSystem.all)
    func `a hundred tasks read, replace and remove concurrently`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<100 {
                    group.addTask {
                        let file = directory.appending(path: "\(index % 5)")
                        let data = pattern(5000, seed: UInt8(index % 5))
                        do {
                            switch index % 4 {
                            case 0, 1: try await data.asyncWrite(to: file, options: .init(durability: .none), using: io)
                            case 2: try expectSame(await Data(asyncContentsOf: file, using: io), data)
                            default: try await io.remove(file)
                            }
                        } catch let error as FileError where error.code == .notFound {
                            // Not there yet, or no longer.
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(names(in: directory).allSatisfy { Int($0) != nil })
        }
    }
}

/// Serialized, with all tests that use ``FileSystem/small``, because each fills it up.
@Suite(
    .serialized, .timeLimit(.minutes(15)),
    .enabled(if: !FileSystem.small.isEmpty, "skipped: no small file systems; see Scripts/checks/file-systems.sh"))
struct `A full file system` {
    /// More than any of them holds.
    static let much = Data(repeating: 0x6D, count: 32 << 20)

    @Test(arguments: FileSystem.small, [nil, "file.part"])
    func `a write that doesn't fit leaves the destination unchanged and no other file`(
        system: FileSystem, name: String?
    ) async throws {
        try await withIO(in: system.directory) { io, directory in
            let file = directory.appending(path: "file")
            try await pattern(3000).asyncWrite(to: file, using: io)
            let error = await expectFileError(.noSpace) {
                try await Self.much.asyncWrite(to: file, options: .init(temporaryName: name), using: io)
            }
            #expect(error?.remedy != nil)
            #expect(error.map { $0.bytesWritten > 0 && $0.bytesWritten < Self.much.count } == true)
            try expectSame(contents(of: file), pattern(3000))
            #expect(names(in: directory) == ["file"])
            // The space is free again.
            try await pattern(200_000).asyncWrite(to: file, options: .init(temporaryName: name), using: io)
            try expectSame(contents(of: file), pattern(200_000))
        }
    }

    @Test(arguments: FileSystem.small)
    func `a stream reports how many bytes it wrote, and the file has them`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let file = directory.appending(path: "file")
            let stream = try await file.openForWriting(using: io)
            try await stream.write(pattern(1000))
            let error = await expectFileError(.noSpace) { try await stream.write(Self.much) }
            try? await stream.close()
            let size = try await io.status(of: file)?.size
            #expect(error.map { 1000 + Int64($0.bytesWritten) } == size.map { Int64($0) })
            #expect(contents(of: file).starts(with: pattern(1000)))
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Files that lie` {
    @Test(.enabled(if: access("/dev/full", W_OK) == 0))
    func `a device that is always full reports it at the first byte`() async throws {
        try await withIO { io, _ in
            let full = URL(filePath: "/dev/full")
            let error = await expectFileError(.noSpace) {
                try await full.withFileForWriting(existing: .append, using: io) { try await $0.write(pattern(10)) }
            }
            #expect(error?.bytesWritten == 0)
        }
    }

    /// Files with a size of 0 in /proc or 4096 in /sys, some of them longer than one read returns.
    @Test(arguments: [
        "/proc/kallsyms", "/proc/self/maps", "/proc/self/status", "/proc/cpuinfo", "/proc/modules",
        "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/notes", "/sys/devices/system/cpu/online",
    ])
    func `files in /proc and /sys are read whole by every way of reading`(path: String) async throws {
        guard access(path, R_OK) == 0 else { return }
        try await withIO { io, _ in
            let url = URL(filePath: path)
            let size = Self.size(of: path)
            var chunks = Data()
            for try await chunk in url.chunks(of: 1000, using: io) { chunks += chunk }
            let stream = try await url.withFileForReading(using: io) {
                try await $0.read(upToCount: 100) + $0.readToEnd()
            }
            for _ in 0..<2 {
                let whole = try await Data(asyncContentsOf: url, using: io)
                for read in [whole, chunks, stream] {
                    #expect(!read.isEmpty)
                    // The others describe this process, or change.
                    if path.hasPrefix("/sys/") || path == "/proc/kallsyms" { #expect(read.count == size) }
                }
            }
        }
    }

    /// Counts the bytes without Foundation, which returns 4071 of the five million bytes of /proc/kallsyms.
    private static func size(of path: String) -> Int {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var (size, buffer) = (0, [UInt8](repeating: 0, count: 1 << 16))
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count <= 0 { return size }
            size += count
        }
    }

    /// Another process appends to the file or truncates it before each of the first reads.
    @Test(arguments: [true, false])
    func `a file that grows or shrinks while it is read has no wrong bytes`(isGrowing: Bool) async throws {
        let target = Guarded<(path: String, left: Int)>(("", 0))
        let calls = SystemCalls.system.intercepted { call in
            guard [.read, .inlineRead].contains(call) else { return nil }
            let path = target.withLock { target -> String? in
                if target.left == 0 { return nil }
                target.left -= 1
                return target.path
            }
            guard let path else { return nil }
            if isGrowing {
                let writer = FileHandle(forWritingAtPath: path)
                writer?.seekToEndOfFile()
                writer?.write(pattern(5000))
                try? writer?.close()
            } else {
                truncate(path, 1000)
            }
            return nil
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "log")
            func begin() throws {
                try pattern(300_000).write(to: url)
                target.withLock { $0 = (url.path, 3) }
            }
            // At most as many bytes as it had, and the right ones.
            func check(_ data: Data) {
                if isGrowing {
                    #expect(data.starts(with: pattern(300_000)) && data.count <= 315_000)
                } else {
                    #expect(pattern(300_000).starts(with: data))
                }
            }
            try begin()
            check(try await Data(asyncContentsOf: url, using: io))
            if isGrowing { #expect(contents(of: url).count == 315_000) }
            try begin()
            check(try await Data(asyncContentsOf: url, using: io))
            try begin()
            check(try await url.withFileForReading(using: io) { try await $0.readToEnd() })
            try begin()
            var chunks = Data()
            for try await chunk in url.chunks(of: 10_000, using: io) { chunks += chunk }
            check(chunks)
        }
    }

    enum Reading: CaseIterable { case whole, stream, pieces, chunks, descriptor }

    @Test(arguments: Reading.allCases)
    func `a FIFO that is written in five pieces is read whole by every way of reading`(reading: Reading) async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "fifo")
            #expect(mkfifo(url.path, 0o600) == 0)
            let expected = (0..<5).reduce(into: Data()) { $0 += pattern(1000, seed: UInt8($1)) }
            async let written: Void = url.withFileForWriting(using: io) { stream in
                for piece in 0..<5 { try await stream.write(pattern(1000, seed: UInt8(piece))) }
            }
            let read: Data
            switch reading {
            case .whole: read = try await Data(asyncContentsOf: url, using: io)
            case .stream: read = try await url.withFileForReading(using: io) { try await $0.readToEnd() }
            case .pieces:
                read = try await url.withFileForReading(using: io) { stream in
                    var all = Data()
                    while true {
                        let piece = try await stream.read(upToCount: 700)
                        all += piece
                        if piece.count < 700 { return all }
                    }
                }
            case .chunks:
                var all = Data()
                for try await chunk in url.chunks(of: 700, using: io) { all += chunk }
                read = all
            case .descriptor:
                let descriptor = await offPool { open(url.path, O_RDONLY | O_CLOEXEC) }
                read = try await io.readToEnd(descriptor: descriptor, name: "fifo")
                close(descriptor)
            }
            try await written
            try expectSame(read, expected)
        }
    }
}

// MARK: - Copies

@Suite(.timeLimit(.minutes(15))) struct `Copies on every file system` {
    @Test(arguments: FileSystem.all)
    func `a copy has the original's contents, within a file system and across file systems`(system: FileSystem)
        async throws
    {
        try await withIO(in: system.directory) { io, directory in
            try await io.withTemporaryDirectory(in: memoryDirectory) { other in
                for size in [0, 1, 100_000, large] {
                    let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
                    let far = other.appending(path: "a")
                    try makeFile(a, size)
                    try makeFile(far, size, seed: 2)
                    let result = try await io.copy(
                        a, to: b, options: .init(durability: .fullAndDirectory, existing: .replace))
                    #expect(result.fileSize == size && sameFiles(a, b))
                    // The methods that these file systems support.
                    if ["btrfs", "xfs"].contains(system.name) { #expect(result.method == .clone) }
                    if ["ext4", "tmpfs"].contains(system.name), size > 0, copiesInKernel {
                        #expect(result.method == .kernelCopy)
                    }
                    try await io.copy(far, to: b, options: .init(existing: .replace))
                    #expect(sameFiles(far, b))
                    try await io.copy(a, to: far, options: .init(existing: .replace))
                    #expect(sameFiles(a, far))
                    #expect(names(in: directory) == ["a", "b"])
                }
            }
        }
    }

    @Test(arguments: FileSystem.all)
    func `a copy keeps everything that the file system supports`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 100_000)
            chmod(a.path, 0o604)
            let hasAttributes = setAttribute("user.a", of: a, to: pattern(9))
            try await io.setTimes(of: a, modification: FileTime(seconds: 1_500_000_001, nanoseconds: 500_000_007))
            try await io.copy(a, to: b, options: .init(existing: .replace, attributes: .allButOwner))
            let (old, new) = (try await io.status(of: a), try await io.status(of: b))
            #expect(new?.modificationTime == old?.modificationTime && new?.permissions == old?.permissions)
            #expect(attribute("user.a", of: b) == (hasAttributes ? pattern(9) : nil))
        }
    }

    @Test(arguments: FileSystem.all)
    func `a copy keeps holes or has the same zeros`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeSparse(a, [1 << 20, 3 << 20], size: 5 << 20)
            let result = try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(result.fileSize == 5 << 20 && sameFiles(a, b))
            let (old, new) = (try await io.status(of: a), try await io.status(of: b))
            if let old, let new { #expect(new.allocatedSize <= old.allocatedSize + (1 << 20)) }
        }
    }

}

extension `A full file system` {
    @Test(arguments: FileSystem.small)
    func `a copy that doesn't fit leaves the destination unchanged`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            try await io.withTemporaryDirectory { other in
                let (a, b) = (other.appending(path: "a"), directory.appending(path: "b"))
                try makeFile(a, 20 << 20)
                try makeFile(b, 70)
                for durability in [Durability.none, .full] {
                    // ext4 can use the blocks of a removed file only after a commit of its journal.
                    try synchronize(directory)
                    let error = await expectFileError(.noSpace) {
                        try await io.copy(a, to: b, options: .init(durability: durability, existing: .replace))
                    }
                    #expect(error?.systemError == ENOSPC && (error?.bytesWritten ?? 0) > 1 << 20)
                    #expect(error?.subject.hasPrefix(directory.path) == true)
                    #expect(same(contents(of: b), pattern(70)))
                    #expect(names(in: directory) == ["b"])
                }
                // A copy that fits.
                try makeFile(a, 1 << 20)
                try await io.copy(a, to: b, options: .init(existing: .replace))
                #expect(sameFiles(a, b))
                // A copy that fits because it is mostly a hole.
                try makeSparse(a, [], size: 20 << 20)
                try await io.copy(a, to: b, options: .init(existing: .replace))
                let status = try await io.status(of: b)
                #expect(status?.size == 20 << 20)
            }
        }
    }
}

private func synchronize(_ directory: URL) throws {
    #if os(Linux)
    let descriptor = open(directory.path, O_RDONLY | O_DIRECTORY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(fsync(descriptor) == 0)
    #endif
}
