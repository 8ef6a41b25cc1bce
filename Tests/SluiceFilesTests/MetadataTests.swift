import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Status of files` {
    @Test func `each kind of file is recognized`() async throws {
        try await withIO { io, directory in
            let fifo = directory.appending(path: "fifo")
            let socket = directory.appending(path: "socket")
            let block = directory.appending(path: "block")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            #expect(mknod(socket.path, mode_t(S_IFSOCK) | 0o600, 0) == 0)
            var expected: [(URL, FileStatus.Kind)] = [
                (fifo, .fifo), (socket, .socket), (URL(filePath: "/dev/null"), .characterDevice),
                (directory, .directory),
            ]
            // Only root may create a block device.
            if mknod(block.path, mode_t(S_IFBLK) | 0o600, 0x700) == 0 { expected.append((block, .blockDevice)) }
            for (url, kind) in expected {
                let status = try await io.status(of: url)
                #expect(status?.kind == kind)
            }
        }
    }

    @Test(arguments: [nil, memoryDirectory])
    func `the status agrees with stat, to the nanosecond`(parent: URL?) async throws {
        try await withIO(in: parent) { io, directory in
            let (file, name) = (directory.appending(path: "file"), directory.appending(path: "name"))
            let before = FileTime.now
            try pattern(10_000).write(to: file)
            #expect(chmod(file.path, 0o4751) == 0 && Glibc.link(file.path, name.path) == 0)
            var found = stat()
            #expect(stat(file.path, &found) == 0)
            let status = try #require(try await io.status(of: file))
            #expect(status.kind == .file && status.size == 10_000 && status.permissions == 0o4751)
            #expect(status.allocatedSize == Int(found.st_blocks) * 512 && status.allocatedSize >= 10_000)
            #expect(status.owner == found.st_uid && status.group == found.st_gid && status.linkCount == 2)
            #expect(status.identity == FileIdentity(device: UInt64(found.st_dev), inode: UInt64(found.st_ino)))
            #expect(status.accessTime == time(found.st_atim))
            #expect(status.modificationTime == time(found.st_mtim))
            #expect(status.changeTime == time(found.st_ctim))
            // ext4 and tmpfs store it. Without statx, which sandboxes deny, no file system reports it.
            if ProcessInfo.processInfo.environment["SLUICE_DENIED"] == nil {
                let created = try #require(status.creationTime)
                #expect(abs(created.date.timeIntervalSince(before.date)) < 600)
                #expect(created <= status.changeTime)
            }
            #expect(try await io.status(of: name)?.identity == status.identity)
            #expect(try await io.status(of: directory)?.identity != status.identity)
            #expect(try await io.exists(file))
        }
    }

    @Test func `a file with holes takes less space than its size`() async throws {
        try await withIO { io, directory in
            let file = directory.appending(path: "file")
            close(creat(file.path, 0o600))
            #expect(truncate(file.path, 1 << 30) == 0)
            let status = try #require(try await io.status(of: file))
            #expect(status.size == 1 << 30 && status.allocatedSize < 1 << 20)
        }
    }

    @Test func `existence follows links or not, and a failed lookup throws`() async throws {
        try await withIO { io, directory in
            let link = directory.appending(path: "link")
            #expect(symlink("nowhere", link.path) == 0)
            var exists = try await io.exists(link)
            #expect(!exists)
            exists = try await io.exists(link, followsLinks: false)
            #expect(exists)
            exists = try await io.exists(directory.appending(path: "a/b/c"))
            #expect(!exists)
        }
        try await withIO(calls: .failing(.status, with: EACCES)) { io, directory in
            let error = await expectFileError(.permissionDenied) { try await io.exists(directory) }
            #expect(
                error?.operation == "read the status of"
                    && error?.subject == String(directory.path(percentEncoded: false).dropLast()))
        }
    }
}

struct `Times of files` {
    @Test(
        arguments: [
            (0.0, 978_307_200, 0), (0.5, 978_307_200, 500_000_000), (-0.25, 978_307_199, 750_000_000),
            (-978_307_200, 0, 0), (-978_307_200.5, -1, 500_000_000),
            (.infinity, .max, 0), (-.infinity, .min, 0), (1e19, .max, 0), (-1e19, .min, 0),
        ] as [(Double, Int64, Int)])
    func `every date converts to a time`(interval: Double, seconds: Int64, nanoseconds: Int) {
        let time = FileTime(Date(timeIntervalSinceReferenceDate: interval))
        #expect(time == FileTime(seconds: seconds, nanoseconds: nanoseconds))
    }

    @Test func `a time converts to the nearest date`() {
        #expect(FileTime(seconds: 1, nanoseconds: 500_000_000).date == Date(timeIntervalSince1970: 1.5))
        #expect(FileTime(seconds: -1, nanoseconds: 500_000_000).date == Date(timeIntervalSince1970: -0.5))
        #expect(FileTime(seconds: .min).date < .distantPast)
        #expect(FileTime(Date(timeIntervalSinceReferenceDate: .nan)).nanoseconds == 0)
        #expect(abs(FileTime.now.date.timeIntervalSinceNow) < 60)
    }

    @Test func `times are ordered`() {
        let times = [(-2, 5), (-1, 0), (0, 0), (0, 1), (1, 0)].map { FileTime(seconds: $0, nanoseconds: $1) }
        #expect(times.shuffled().sorted() == times)
        #expect(times[2] == .epoch)
    }

    @Test func `nanoseconds out of range are clamped`() {
        for (given, wanted) in [(-1, 0), (0, 0), (999_999_999, 999_999_999), (.max, 999_999_999), (.min, 0)]
            as [(Int64, Int)]
        {
            #expect(FileTime(seconds: 5, clamping: given) == FileTime(seconds: 5, nanoseconds: wanted))
        }
    }

    /// What a damaged file system or a broken server may report.
    enum Damage: CaseIterable {
        case negativeSize, hugeSize, negativeAllocation, hugeAllocation, noLinks, manyLinks, extremeTimes

        func apply(to status: inout RawStatus) {
            switch self {
            case .negativeSize: status.size = .min
            case .hugeSize: status.size = .max
            case .negativeAllocation: status.allocated = .min
            case .hugeAllocation: status.allocated = .max
            case .noLinks: status.links = 0
            case .manyLinks: status.links = .max
            case .extremeTimes:
                status.modified = FileTime(seconds: .max, nanoseconds: 999_999_999)
                status.accessed = FileTime(seconds: .min)
                status.created = FileTime(seconds: .max)
            }
        }
    }

    @Test(arguments: Damage.allCases)
    func `impossible numbers are reported or refused, and never end the process`(damage: Damage) async throws {
        let real = SystemCalls.system
        var calls = real
        calls.status = { path, following, status in
            defer { damage.apply(to: &status) }
            return real.status(path, following, &status)
        }
        calls.statusOfDescriptor = { descriptor, status in
            defer { damage.apply(to: &status) }
            return real.statusOfDescriptor(descriptor, &status)
        }
        calls.directories.statusAt = { directory, name, following, status in
            defer { damage.apply(to: &status) }
            return real.directories.statusAt(directory, name, following, &status)
        }
        try await withIO(calls: calls) { io, directory in
            let (file, copy) = (directory.appending(path: "tree/file"), directory.appending(path: "copy"))
            try makeTree(["tree/file"], in: directory)
            let status = try #require(try await io.status(of: file))
            _ = [status.modificationTime.date, status.accessTime.date]
            // Whether these succeed depends on the damage, but none may end the process.
            _ = try? await Data(asyncContentsOf: file, using: io)
            _ = try? await Data(asyncContentsOf: file, options: .mappedIfSafe, using: io)
            _ = try? await io.contents(of: file, size: 9)
            _ = try? await file.withFileForReading(using: io) { stream in
                _ = try await stream.read(upToCount: 3)
                _ = try await stream.readToEnd()
            }
            _ = try? await { for try await _ in file.chunks(of: 4, using: io) {} }()
            _ = try? await { for try await _ in file.chunks(using: io).lines() {} }()
            _ = try? await file.withMappedFile(using: io) { _ in }
            _ = try? await file.withRandomAccessFile(using: io) { try await $0.read(at: 0, upToCount: 8 << 20) }
            _ = try? await io.copy(file, to: copy, options: .init(attributes: .allButOwner)) {
                _ = $0.fractionCompleted
            }
            _ = try? await io.copyTree(directory.appending(path: "tree"), to: directory.appending(path: "trees")) { _ in
            }
            _ = try? await pattern(10).asyncWrite(to: file, using: io)
            let places = CheckpointedFile.Places(
                file: file, checkpoint: copy, temporary: directory.appending(path: "t"))
            if let opened = try? await CheckpointedFile.openLocked(places, mode: .always, using: io) {
                _ = try? await opened.file.append([pattern(3)])
                try? await opened.file.close(appending: [], durability: .none) { _ in nil }
            }
        }
    }
}

/// The time that stat(2) returns, read as bytes, because which module defines the fields of `timespec` depends on the order of compilation.
func time(_ time: timespec) -> FileTime {
    withUnsafeBytes(of: time) { bytes in
        FileTime(
            seconds: Int64(bytes.load(as: Int.self)),
            nanoseconds: bytes.load(fromByteOffset: MemoryLayout<Int>.size, as: Int.self))
    }
}

// MARK: - Setting

@Suite(.timeLimit(.minutes(15))) struct `Setting modes, owners and times` {
    @Test(arguments: [nil, memoryDirectory])
    func `modification and access times are set to the nanosecond, together or separately`(place: URL?) async throws {
        try await withIO(in: place) { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            let (old, new) = (
                FileTime(seconds: 1_000_000_000, nanoseconds: 1),
                FileTime(seconds: 1_900_000_000, nanoseconds: 999_999_999)
            )
            try await io.setTimes(of: file, modification: old, access: new)
            var status = try #require(try await io.status(of: file))
            #expect(status.modificationTime == old && status.accessTime == new)
            try await io.setTimes(of: file, modification: new)
            status = try #require(try await io.status(of: file))
            #expect(status.modificationTime == new && status.accessTime == new)
            try await io.setTimes(of: file, access: old)
            status = try #require(try await io.status(of: file))
            #expect(status.modificationTime == new && status.accessTime == old)
            // The result of stat(2), without the code under test.
            var found = stat()
            #expect(stat(file.path, &found) == 0 && time(found.st_mtim) == new && time(found.st_atim) == old)
            // Before 1970 too.
            try await io.setTimes(of: file, modification: FileTime(seconds: -5, nanoseconds: 5))
            status = try #require(try await io.status(of: file))
            #expect(status.modificationTime == FileTime(seconds: -5, nanoseconds: 5))
            try await io.setTimes(of: file)
        }
    }

    @Test func `setting times follows a link or changes the link itself`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            try pattern(5).write(to: file)
            #expect(symlink("file", link.path) == 0)
            let (one, two) = (FileTime(seconds: 1), FileTime(seconds: 2))
            try await io.setTimes(of: link, modification: one)
            try await io.setTimes(of: link, modification: two, followsLinks: false)
            let followed = try await io.status(of: link)
            let own = try await io.status(of: link, followsLinks: false)
            #expect(followed?.modificationTime == one && own?.modificationTime == two)
        }
    }

    @Test func `modes are set regardless of the umask, and links are followed`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            try pattern(5).write(to: file)
            #expect(symlink("file", link.path) == 0)
            for permissions in [0o777, 0o000, 0o4755, 0o1640] as [FilePermissions] {
                try await io.setPermissions(permissions, of: link)
                #expect(mode(of: file) == Int(permissions.rawValue))
            }
            try await io.setPermissions(0o711, of: directory)
            #expect(mode(of: directory) == 0o711)
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root gives files away"))
    func `user and group are set together or separately, for a file or for a link itself`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            try pattern(5).write(to: file)
            #expect(symlink("file", link.path) == 0)
            try await io.setOwner(of: link, user: 7, group: 8)
            try await io.setOwner(of: file, user: 9)
            try await io.setOwner(of: file, group: 10)
            try await io.setOwner(of: file)
            try await io.setOwner(of: link, user: 11, followsLinks: false)
            let status = try await io.status(of: file)
            let own = try await io.status(of: link, followsLinks: false)
            #expect(status?.owner == 9 && status?.group == 10)
            #expect(own?.owner == 11 && own?.group != 10)
            await expectFileError(.invalidArgument) { try await io.setOwner(of: file, user: .max) }
            await expectFileError(.invalidArgument) { try await io.setOwner(of: file, group: .max) }
        }
    }

    @Test func `an error about a missing file names the file and the operation`() async throws {
        try await withIO { io, directory in
            let none = directory.appending(path: "none")
            var error = await expectFileError(.notFound) { try await io.setPermissions(0o600, of: none) }
            #expect(error?.operation == "set the mode of" && error?.subject == none.path)
            error = await expectFileError(.notFound) { try await io.setTimes(of: none, modification: .now) }
            #expect(error?.operation == "set the times of" && error?.subject == none.path)
            error = await expectFileError(.notFound) { try await io.setOwner(of: none, user: 0) }
            #expect(error?.operation == "set the owner of" && error?.subject == none.path)
        }
    }

    @Test func `a cancelled task sets nothing`() async throws {
        let made = Guarded<[Call]>([])
        let calls = SystemCalls.system.intercepted { call in
            made.withLock { $0.append(call) }
            return nil
        }
        try await withIO(calls: calls) { io, directory in
            let operations: [@Sendable () async throws -> Void] = [
                { try await io.setPermissions(0o600, of: directory) },
                { try await io.setTimes(of: directory, modification: .now) },
                { try await io.setOwner(of: directory, user: 0) },
                { try await io.createSymbolicLink(at: directory, to: "x") },
                { try await io.createLink(at: directory, to: directory) },
                { _ = try await io.destination(ofSymbolicLink: directory) },
                { _ = try await io.resolve(directory) },
                { _ = try await io.extendedAttributes(of: directory) },
                { _ = try await io.extendedAttribute("user.a", of: directory) },
                { try await io.setExtendedAttribute("user.a", of: directory, to: Data()) },
                { try await io.removeExtendedAttribute("user.a", of: directory) },
            ]
            for operation in operations {
                let task = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    try await operation()
                }
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            // The inline lane probes the kernel once.
            #expect(made.withLock { $0.filter { !$0.rawValue.hasPrefix("inline.") } } == [])
        }
    }
}
