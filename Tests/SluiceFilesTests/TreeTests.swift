import Dispatch
import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

/// A path of thousands of bytes, hashed as a whole, because hashing the array byte by byte would take seconds.
private struct RawPath: Hashable {
    var bytes: [UInt8]

    static func == (a: RawPath, b: RawPath) -> Bool {
        a.bytes.count == b.bytes.count && memcmp(a.bytes, b.bytes, a.bytes.count) == 0
    }

    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Copying trees` {
    private func status(_ url: URL) -> stat {
        var found = stat()
        lstat(url.path, &found)
        return found
    }

    @Test func `a copied tree has the contents, modes, times, links, FIFOs and hard links of the original`()
        async throws
    {
        try await withIO { io, directory in
            let (source, copy) = (directory.appending(path: "source"), directory.appending(path: "copy"))
            try makeTree(["source/a/b/", "source/a/empty"], in: directory)
            try pattern(300_000).write(to: source.appending(path: "a/b/large"))
            #expect(link(source.appending(path: "a/b/large").path, source.appending(path: "second").path) == 0)
            #expect(symlink("../nowhere", source.appending(path: "a/link").path) == 0)
            let long = String(repeating: "long/", count: 200)
            #expect(symlink(long, source.appending(path: "long").path) == 0)
            #expect(mkfifo(source.appending(path: "fifo").path, 0o600) == 0)
            #expect(chmod(source.appending(path: "a/empty").path, 0o440) == 0)
            #expect(chmod(source.appending(path: "a/b").path, 0o500) == 0)
            for path in ["a/empty", "a/b", "a", ""] {
                try await io.setTimes(
                    of: source.appending(path: path),
                    modification: FileTime(seconds: 1_000_000, nanoseconds: 123_456_789))
            }
            for path in ["long", "fifo"] {
                try await io.setTimes(
                    of: source.appending(path: path),
                    modification: FileTime(seconds: 2_000_000, nanoseconds: 987_654_321),
                    followsLinks: false)
            }
            let result = try await io.copyTree(source, to: copy)
            #expect(result.files == 3 && result.directories == 3 && result.symbolicLinks == 2 && result.fifos == 1)
            #expect(
                result.totalFileSize == 300_000 + 14 || result.totalFileSize == 300_000 + "source/a/empty".utf8.count)
            #expect(same(contents(of: copy.appending(path: "a/b/large")), pattern(300_000)))
            for path in ["a/empty", "a/b", "a", "", "second", "a/link", "long", "fifo"] {
                let (old, new) = (status(source.appending(path: path)), status(copy.appending(path: path)))
                #expect(old.st_mode == new.st_mode && old.st_nlink == new.st_nlink, "\(path)")
                #expect(
                    old.st_mtim.tv_sec == new.st_mtim.tv_sec && old.st_mtim.tv_nsec == new.st_mtim.tv_nsec, "\(path)")
            }
            #expect(status(copy.appending(path: "second")).st_ino == status(copy.appending(path: "a/b/large")).st_ino)
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: copy.appending(path: "long").path)
            #expect(target == long)
            #expect(
                chmod(copy.appending(path: "a/b").path, 0o700) == 0
                    && chmod(source.appending(path: "a/b").path, 0o700) == 0)
        }
    }

    @Test func `a tree with hostile names and a depth beyond any path is copied`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let source = directory.appending(path: "source")
            try makeTree(["source/"], in: directory)
            for name in hostileNames { makeFile(name, in: source, "x") }
            makeDeepTree(1500, in: source, name: "deeper")
            let counter = DescriptorCounter()
            let counted = FileIO(configuration: .init(concurrency: 2), calls: counter.counting())
            let result = try await counted.copyTree(source, to: directory.appending(path: "copy"))
            await counted.shutdown()
            #expect(result.files == hostileNames.count && result.directories == 1501)
            #expect(counter.most < 150 && counted.statistics.openCount == 0)
            let (old, new) = (io.walk(source), io.walk(directory.appending(path: "copy")))
            var (oldPaths, newPaths): (Set<RawPath>, Set<RawPath>) = ([], [])
            for try await item in old { oldPaths.insert(RawPath(bytes: item.rawRelativePath)) }
            for try await item in new { newPaths.insert(RawPath(bytes: item.rawRelativePath)) }
            let areSame = oldPaths == newPaths
            #expect(areSame && oldPaths.count == 1500 + hostileNames.count)
        }
    }

    @Test func `an existing destination stays, and a tree isn't copied into itself`() async throws {
        try await withIO { io, directory in
            let source = directory.appending(path: "source")
            try makeTree(["source/a/b", "taken", "other/"], in: directory)
            for name in ["taken", "other", "source"] {
                let error = await expectFileError(.exists) {
                    try await io.copyTree(directory.appending(path: "other"), to: directory.appending(path: name))
                }
                #expect(error?.subject == directory.appending(path: name).path)
            }
            #expect(symlink("source/a", directory.appending(path: "link").path) == 0)
            for path in ["source/new", "source/a/new", "link/new"] {
                await expectFileError(.invalidArgument) {
                    try await io.copyTree(source, to: directory.appending(path: path))
                }
            }
            await expectFileError(.notDirectory) {
                try await io.copyTree(source.appending(path: "a/b"), to: directory.appending(path: "new"))
            }
            await expectFileError(.notFound) { try await io.copyTree(source, to: directory.appending(path: "no/new")) }
            #expect(names(in: directory) == ["link", "other", "source", "taken"] && names(in: source) == ["a"])
            #expect(names(in: source.appending(path: "a")) == ["b"])
        }
    }

    @Test func `a copy with fullAndDirectory syncs the directory that contains it`() async throws {
        let synced = Guarded<Set<UInt64>>([])
        var calls = SystemCalls.system
        calls.syncDirectory = { descriptor in
            var found = stat()
            fstat(descriptor, &found)
            let inode = UInt64(found.st_ino)
            _ = synced.withLock { $0.insert(inode) }
            return SystemCalls.system.syncDirectory(descriptor)
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["source/a/b"], in: directory)
            let copy = directory.appending(path: "copy")
            try await io.copyTree(
                directory.appending(path: "source"), to: copy, options: .init(durability: .fullAndDirectory))
            let wanted = [directory, copy, copy.appending(path: "a")].map { UInt64(status($0).st_ino) }
            #expect(synced.withLock { $0 } == Set(wanted))
        }
    }

    @Test(arguments: [[], .allButOwner] as [FileCopyOptions.Attributes])
    func `removing a source directory while it is copied ends only the copy of that directory`(
        keeping: FileCopyOptions.Attributes
    ) async throws {
        try await withIO { outer, directory in
            try makeTree(["source/gone/a", "source/stays/b"], in: directory)
            let gone = directory.appending(path: "source/gone")
            var calls = SystemCalls.system
            calls.directories.createAt = { descriptor, name, flags, mode in
                if String(cString: name) == "a" { try? FileManager.default.removeItem(at: gone) }
                return SystemCalls.system.directories.createAt(descriptor, name, flags, mode)
            }
            let io = FileIO(calls: calls)
            let copy = directory.appending(path: "copy")
            let result = try await io.copyTree(
                directory.appending(path: "source"), to: copy, options: .init(attributes: keeping))
            await io.shutdown()
            #expect(result.directories == 3 && io.statistics.openCount == 0)
            #expect(same(contents(of: copy.appending(path: "stays/b")), Data("source/stays/b".utf8)))
        }
    }

    @Test(.enabled(if: getuid() == 0)) func `owners are kept on request, even of links and FIFOs`() async throws {
        try await withIO { io, directory in
            let source = directory.appending(path: "source")
            try makeTree(["source/a"], in: directory)
            #expect(symlink("nowhere", source.appending(path: "link").path) == 0)
            #expect(mkfifo(source.appending(path: "fifo").path, 0o600) == 0)
            let paths = ["", "a", "link", "fifo"]
            for (number, path) in paths.enumerated() {
                let (user, group) = (UInt32(100 + number), UInt32(200 + number))
                try await io.setOwner(of: source.appending(path: path), user: user, group: group, followsLinks: false)
            }
            for isKept in [true, false] {
                let copy = directory.appending(path: "copy \(isKept)")
                let keeping: FileCopyOptions.Attributes = isKept ? [.permissions, .owner] : [.permissions]
                try await io.copyTree(source, to: copy, options: .init(attributes: keeping))
                for (number, path) in paths.enumerated() {
                    let status = status(copy.appending(path: path))
                    #expect(status.st_uid == (isKept ? UInt32(100 + number) : 0), "\(path)")
                    #expect(status.st_gid == (isKept ? UInt32(200 + number) : 0), "\(path)")
                }
            }
        }
    }

    @Test func `sockets and devices are refused or left out`() async throws {
        try await withIO { io, directory in
            let (source, copy) = (directory.appending(path: "source"), directory.appending(path: "copy"))
            try makeTree(["source/a"], in: directory)
            // Only root makes devices.
            for (name, kind, device) in [("socket", S_IFSOCK, 0), ("null", S_IFCHR, 0x103)] as [(String, mode_t, dev_t)]
            where kind == S_IFSOCK || getuid() == 0 {
                let special = source.appending(path: name)
                try #require(
                    mknod(special.path, kind | 0o600, device) == 0, "\(name): \(String(cString: strerror(errno)))")
                let error = await expectFileError(.notRegularFile) { try await io.copyTree(source, to: copy) }
                #expect(error?.subject == special.path)
                #expect(names(in: directory) == ["source"])
                let result = try await io.copyTree(source, to: copy, options: .init(specialFiles: .skip))
                #expect(result.skipped == 1 && result.files == 1 && names(in: copy) == ["a"])
                try await io.removeTree(copy)
                try await io.remove(special)
            }
        }
    }

    @Test(arguments: [true, false])
    func `a failed copy leaves nothing, or only whole files`(isRemoved: Bool) async throws {
        let writes = Atomic(0)
        var calls = SystemCalls.system
        calls.copying.clone = { _, _ in -EXDEV }
        calls.copying.copyRange = { _, _, _ in -Int(EXDEV) }
        calls.write = { descriptor, bytes in
            if writes.add(1, ordering: .relaxed).newValue == 6 { return -Int(ENOSPC) }
            return SystemCalls.system.write(descriptor, bytes)
        }
        try await withIO(calls: calls) { io, directory in
            let (source, copy) = (directory.appending(path: "source"), directory.appending(path: "copy"))
            try makeTree(["source/"], in: directory)
            for index in 0..<10 { try pattern(1000).write(to: source.appending(path: "\(index)")) }
            let error = await expectFileError(.noSpace) {
                try await io.copyTree(source, to: copy, options: .init(removesOnFailure: isRemoved))
            }
            #expect(error?.subject.hasPrefix(copy.path) == true)
            if isRemoved { return #expect(names(in: directory) == ["source"]) }
            #expect(names(in: copy).count == 5)
            for name in names(in: copy) { #expect(same(contents(of: copy.appending(path: name)), pattern(1000))) }
        }
    }

    @Test func `cancelling a copy stops it between files and leaves nothing`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let (source, copy) = (directory.appending(path: "source"), directory.appending(path: "copy"))
            try makeTree((0..<2000).map { "source/\($0 % 10)/\($0)" }, in: directory)
            let task = Guarded<Task<TreeCopyResult, any Error>?>(nil)
            // The closure runs on a worker's thread, which may block.
            let isKnown = DispatchSemaphore(value: 0)
            let copying = Task {
                try await io.copyTree(source, to: copy) { _ in
                    isKnown.wait()
                    isKnown.signal()
                    task.withLock { $0 }?.cancel()
                }
            }
            task.withLock { $0 = copying }
            isKnown.signal()
            await #expect(throws: CancellationError.self) { try await copying.value }
            #expect(names(in: directory) == ["source"])
            let before = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await io.copyTree(source, to: copy)
            }
            await #expect(throws: CancellationError.self) { try await before.value }
            #expect(names(in: directory) == ["source"])
        }
    }

    @Test func `progress counts all entries and bytes`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let source = directory.appending(path: "source")
            try makeTree((0..<300).map { "source/\($0 % 10)/\($0)" }, in: directory)
            let reports = Guarded<[FileProgress]>([])
            let result = try await io.copyTree(source, to: directory.appending(path: "copy")) { report in
                reports.withLock { $0.append(report) }
            }
            let last = reports.withLock { $0.last }
            #expect(
                last?.isFinished == true && last?.completedEntries == 311
                    && last?.completedBytes == result.totalFileSize)
            #expect(reports.withLock { $0.count } >= 3)
        }
    }

    @Test func `a directory of the copy that is replaced by a link isn't written through`() async throws {
        let paths = Guarded<(inner: String, outside: String)?>(nil)
        var calls = SystemCalls.system
        calls.directories.makeDirectoryAt = { directory, name, mode in
            let result = SystemCalls.system.directories.makeDirectoryAt(directory, name, mode)
            if let names = paths.withLock({ $0.take() }) {
                _ = rmdir(names.inner)
                _ = symlink(names.outside, names.inner)
            }
            return result
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["source/inner/file", "outside/"], in: directory)
            let copy = directory.appending(path: "copy")
            paths.withLock { $0 = (copy.appending(path: "inner").path, directory.appending(path: "outside").path) }
            await expectFileError(.notDirectory) {
                try await io.copyTree(directory.appending(path: "source"), to: copy)
            }
            #expect(names(in: directory.appending(path: "outside")) == [])
            #expect(names(in: directory) == ["outside", "source"])
        }
    }
}

// MARK: - Removing

@Suite(.timeLimit(.minutes(15))) struct `Removing trees` {
    @Test func `progress counts each removed entry`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            try makeTree((0..<1000).map { "tree/\($0 % 10)/\($0)" }, in: directory)
            let reports = Guarded<[FileProgress]>([])
            try await io.removeTree(directory.appending(path: "tree")) { report in
                reports.withLock { $0.append(report) }
            }
            let counts = reports.withLock { $0.map(\.completedEntries) }
            #expect(counts == counts.sorted() && counts.last == 1011 && counts.count > 5)
            #expect(reports.withLock { $0.map(\.isFinished) }.firstIndex(of: true) == counts.count - 1)
            makeFile("file", in: directory)
            try await io.removeTree(directory.appending(path: "file")) { #expect($0.completedEntries == 1) }
        }
    }

    @Test func `removing an entry removes its tree, and never the target of a link`() async throws {
        try await withIO { io, directory in
            try makeTree(["tree/a/b/c", "file", "outside/kept"], in: directory)
            #expect(symlink("outside", directory.appending(path: "link").path) == 0)
            for entry in try await io.entries(of: directory) where entry.name != "outside" {
                try await entry.removeTree()
                await expectFileError(.notFound) { try await entry.removeTree() }
            }
            #expect(names(in: directory) == ["outside"])
            #expect(names(in: directory.appending(path: "outside")) == ["kept"])
        }
    }

    @Test(arguments: ["link", "link/"])
    func `only the link to a directory is removed, however its path ends`(path: String) async throws {
        try await withIO { io, directory in
            try makeTree(["outside/kept"], in: directory)
            #expect(symlink("outside", directory.appending(path: "link").path) == 0)
            try await io.removeTree(URL(filePath: directory.path + "/" + path))
            #expect(names(in: directory) == ["outside"])
            #expect(names(in: directory.appending(path: "outside")) == ["kept"])
        }
    }

    @Test func `cancelling a removal stops it between two entries`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let tree = directory.appending(path: "tree")
            try makeTree((0..<2000).map { "tree/\($0)" }, in: directory)
            let task = Guarded<Task<Void, any Error>?>(nil)
            // The closure runs on a worker's thread, which may block.
            let isKnown = DispatchSemaphore(value: 0)
            let removal = Task {
                try await io.removeTree(tree) { _ in
                    // Every report comes after some entries and before the rest.
                    isKnown.wait()
                    isKnown.signal()
                    task.withLock { $0 }?.cancel()
                }
            }
            task.withLock { $0 = removal }
            isKnown.signal()
            await #expect(throws: CancellationError.self) { try await removal.value }
            #expect((1...1999).contains(names(in: tree).count))
        }
    }

    @Test func `a directory whose entries can't be removed ends in an error`() async throws {
        var calls = SystemCalls.system
        calls.unlinkAt = { directory, name, flags in
            String(cString: name) == "ghost" ? -ENOENT : SystemCalls.system.unlinkAt(directory, name, flags)
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["tree/a/ghost", "tree/a/file"], in: directory)
            let error = await expectFileError(.notEmpty) { try await io.removeTree(directory.appending(path: "tree")) }
            #expect(error?.subject == directory.appending(path: "tree/a").path)
        }
        calls = .system
        calls.unlinkAt = { directory, name, flags in
            flags == 0 ? SystemCalls.system.unlinkAt(directory, name, flags) : -ENOTEMPTY
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["tree/a/b/"], in: directory)
            await expectFileError(.notEmpty) { try await io.removeTree(directory.appending(path: "tree")) }
        }
    }
}
