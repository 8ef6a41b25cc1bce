import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Names and directories` {
    @Test func `renaming replaces an existing file or fails, as requested`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(1).write(to: a)
            try pattern(2).write(to: b)
            let error = await expectFileError(.exists) { try await io.rename(a, to: b, existing: .fail) }
            #expect(error?.subject == b.path)
            #expect(same(contents(of: b), pattern(2)))
            try await io.rename(a, to: b, existing: .replace)
            #expect(same(contents(of: b), pattern(1)))
            try await io.rename(b, to: a, existing: .fail)
            #expect(names(in: directory) == ["a"])
            await expectFileError(.notFound) { try await io.rename(b, to: a, existing: .replace) }
        }
    }

    @Test(arguments: [EINVAL, ENOSYS])
    func `without renameat2, renaming without replacing uses link and unlink`(number: CInt) async throws {
        let log = CallLog()
        var calls = SystemCalls.recorded(in: log)
        calls.fail(.renameWithoutReplacing, with: number)
        try await withIO(calls: calls) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(1).write(to: a)
            try await io.rename(a, to: b, existing: .fail)
            #expect(log.all == ["link", "unlink"])
            #expect(names(in: directory) == ["b"])
            try pattern(2).write(to: a)
            await expectFileError(.exists) { try await io.rename(a, to: b, existing: .fail) }
            #expect(same(contents(of: b), pattern(1)))
            #expect(names(in: directory) == ["a", "b"])
        }
    }

    @Test(arguments: [EINVAL, ENOSYS, EPERM])
    func `without renameat2, renaming a directory creates an empty one and replaces it`(number: CInt) async throws {
        try await withIO(calls: .failing(.renameWithoutReplacing, with: number)) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try await io.createDirectory(at: a)
            try pattern(1).write(to: a.appending(path: "x"))
            try await io.rename(a, to: b, existing: .fail)
            #expect(names(in: directory) == ["b"])
            #expect(same(contents(of: b.appending(path: "x")), pattern(1)))
            // An existing empty directory stays too, although rename(2) would replace it.
            try await io.createDirectory(at: a)
            let error = await expectFileError(.exists) { try await io.rename(b, to: a, existing: .fail) }
            #expect(error?.subject == a.path)
            #expect(names(in: directory) == ["a", "b"])
            // Renaming a directory into itself leaves nothing there.
            await expectFileError(.invalidArgument) {
                try await io.rename(b, to: b.appending(path: "inner"), existing: .fail)
            }
            #expect(names(in: b) == ["x"])
        }
    }

    @Test func `remove deletes files, links and empty directories, and refuses other directories`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            let inner = directory.appending(path: "inner/")
            try pattern(1).write(to: file)
            #expect(symlink(file.path, link.path) == 0)
            try await io.remove(link)
            #expect(names(in: directory) == ["file"])
            try await io.createDirectory(at: inner)
            try pattern(1).write(to: inner.appending(path: "x"))
            await expectFileError(.notEmpty) { try await io.remove(inner) }
            try await io.remove(inner.appending(path: "x"))
            try await io.remove(inner)
            try await io.remove(file)
            await expectFileError(.notFound) { try await io.remove(file) }
            #expect(names(in: directory) == [])
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `creating a directory under an existing parent that reports ENOENT fails without endless retries`()
        async throws
    {
        try await withIO { io, _ in
            // The kernel reports this in /proc for every name.
            let directory = URL(filePath: "/proc/sluice-none/deeper")
            await expectFileError(.notFound) { try await io.createDirectory(at: directory) }
        }
    }

    @Test func `creating a directory creates its parents, and an error names a file in the way`() async throws {
        try await withIO { io, directory in
            let deep = directory.appending(path: "a/b/c/d")
            await expectFileError(.notFound) { try await io.createDirectory(at: deep, withIntermediates: false) }
            try await io.createDirectory(at: deep, permissions: 0o750)
            #expect(mode(of: deep) == 0o750)
            try await io.createDirectory(at: deep)
            try await io.createDirectory(at: deep, withIntermediates: false)
            let file = directory.appending(path: "a/file")
            try pattern(1).write(to: file)
            var error = await expectFileError(.exists) { try await io.createDirectory(at: file) }
            #expect(error?.subject == file.path)
            error = await expectFileError(.notDirectory) {
                try await io.createDirectory(at: file.appending(path: "x/y/z"))
            }
            #expect(error?.subject == file.path)
        }
    }

    @Test func `many tasks create one deep directory concurrently, and all succeed`() async throws {
        try await withIO(concurrency: 8) { io, directory in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<32 {
                    group.addTask {
                        try await io.createDirectory(at: directory.appending(path: "a/b/c/d/e/f/\(index % 4)"))
                    }
                }
                try await group.waitForAll()
            }
            #expect(names(in: directory.appending(path: "a/b/c/d/e/f")) == ["0", "1", "2", "3"])
        }
    }

    @Test func `status has the kind, size, mode and time, or is nil if nothing is there`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            try pattern(1234).write(to: file)
            #expect(chmod(file.path, 0o640) == 0)
            let status = try await io.status(of: file)
            #expect(status?.kind == .file && status?.size == 1234 && status?.permissions == 0o640)
            #expect(abs(status?.modificationTime.date.timeIntervalSinceNow ?? .infinity) < 600)
            #expect(try await io.status(of: directory)?.kind == .directory)
            #expect(try await io.status(of: URL(filePath: "/dev/null"))?.kind == .characterDevice)
            #expect(symlink(file.path, link.path) == 0)
            #expect(try await io.status(of: link)?.kind == .file)
            #expect(try await io.status(of: link, followsLinks: false)?.kind == .symbolicLink)
            try await io.remove(file)
            #expect(try await io.status(of: file) == nil)
            #expect(try await io.status(of: link) == nil)
            #expect(try await io.status(of: URL(filePath: "/dev/null/below")) == nil)
            #expect(symlink(link.path, file.path) == 0)
            await expectFileError(.tooManyLinks) { try await io.status(of: file) }
            await expectFileError(.nameTooLong) {
                try await io.status(of: directory.appending(path: String(repeating: "x", count: 256)))
            }
        }
    }

    // MARK: Trees

    @Test func `removing a tree removes its contents but not the targets of links`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let outside = directory.appending(path: "outside")
            try await io.createDirectory(at: outside)
            try pattern(1).write(to: outside.appending(path: "kept"))
            let tree = directory.appending(path: "tree")
            try await io.createDirectory(at: tree.appending(path: "a/b"))
            #expect(symlink(outside.path, tree.appending(path: "a/link").path) == 0)
            #expect(mkfifo(tree.appending(path: "a/fifo").path, 0o600) == 0)
            // Not UTF-8, and more entries than one listing takes.
            let odd = Array(tree.path.utf8).map { CChar(bitPattern: $0) } + "/a/b/".utf8.map { CChar(bitPattern: $0) }
            let descriptor = creat(odd + [-1, -2, 0x20, 0x0A, 0], 0o600)
            #expect(descriptor >= 0)
            close(descriptor)
            for index in 0..<2500 { close(creat(tree.appending(path: "a/b/\(index)").path, 0o600)) }
            try await io.removeTree(tree)
            #expect(names(in: directory) == ["outside"])
            #expect(names(in: outside) == ["kept"])

            let link = directory.appending(path: "link")
            #expect(symlink(outside.path, link.path) == 0)
            try await io.removeTree(link)
            try await io.removeTree(outside.appending(path: "kept"))
            #expect(names(in: directory) == ["outside"])
            await expectFileError(.notFound) { try await io.removeTree(tree) }
        }
    }

    @Test func `a tree too deep for any path, stack or number of descriptors is removed`() async throws {
        let most = Guarded(0)
        let open = Guarded(0)
        var calls = SystemCalls.system
        calls.openAt = { directory, name, flags in
            let result = SystemCalls.system.openAt(directory, name, flags)
            let now = open.withLock {
                $0 += 1; return $0
            }
            most.withLock { $0 = max($0, now) }
            return result
        }
        calls.close = { descriptor in
            open.withLock { $0 -= 1 }
            return SystemCalls.system.close(descriptor)
        }
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let tree = directory.appending(path: "deep")
            try await io.createDirectory(at: tree)
            var descriptor = Glibc.open(tree.path, O_RDONLY | O_DIRECTORY)
            for _ in 0..<3000 {
                mkdirat(descriptor, "deeper", 0o700)
                let next = openat(descriptor, "deeper", O_RDONLY | O_DIRECTORY)
                close(descriptor)
                descriptor = next
            }
            #expect(descriptor >= 0)
            close(descriptor)
            try await io.removeTree(tree)
            #expect(names(in: directory) == [])
            #expect(most.withLock { $0 } <= 20)
        }
    }

    @Test func `an entry that can't be removed is named in the error`() async throws {
        var calls = SystemCalls.system
        calls.unlinkAt = { directory, name, flags in
            String(cString: name) == "stuck" ? -EPERM : SystemCalls.system.unlinkAt(directory, name, flags)
        }
        try await withIO(calls: calls) { io, directory in
            let tree = directory.appending(path: "tree")
            try await io.createDirectory(at: tree.appending(path: "a/b"))
            try pattern(1).write(to: tree.appending(path: "a/b/stuck"))
            let error = await expectFileError(.permissionDenied) { try await io.removeTree(tree) }
            #expect(error?.subject == tree.appending(path: "a/b/stuck").path)
        }
    }

    @Test func `a directory that is replaced by a link during its removal isn't followed`() async throws {
        let paths = Guarded<(inner: String, outside: String)?>(nil)
        var calls = SystemCalls.system
        calls.openAt = { directory, name, flags in
            if let names = paths.withLock({ $0.take() }) {
                _ = rmdir(names.inner)
                _ = symlink(names.outside, names.inner)
            }
            return SystemCalls.system.openAt(directory, name, flags)
        }
        try await withIO(calls: calls) { io, directory in
            let (tree, outside) = (directory.appending(path: "tree"), directory.appending(path: "outside"))
            try await io.createDirectory(at: tree.appending(path: "inner"))
            try await io.createDirectory(at: outside)
            try pattern(1).write(to: outside.appending(path: "kept"))
            paths.withLock { $0 = (tree.appending(path: "inner").path, outside.path) }
            try await io.removeTree(tree)
            #expect(names(in: directory) == ["outside"])
            #expect(names(in: outside) == ["kept"])
        }
    }

    // MARK: Temporary directories

    @Test func `a temporary directory is removed after success, failure and cancellation`() async throws {
        struct Mine: Error {}
        try await withIO { io, directory in
            let name = try await io.withTemporaryDirectory(prefix: "mine", in: directory) { temporary in
                try pattern(1).write(to: temporary.appending(path: "x"))
                #expect(mode(of: temporary) == 0o700)
                return temporary.lastPathComponent
            }
            #expect(name.hasPrefix("mine-"))
            #expect(names(in: directory) == [])
            await #expect(throws: Mine.self) {
                try await io.withTemporaryDirectory(in: directory) { _ in throw Mine() }
            }
            #expect(names(in: directory) == [])
            let task = Task {
                try await io.withTemporaryDirectory(in: directory) { temporary in
                    try pattern(1).write(to: temporary.appending(path: "x"))
                    withUnsafeCurrentTask { $0?.cancel() }
                    try Task.checkCancellation()
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(names(in: directory) == [])
            try await io.withTemporaryDirectory(in: directory) { try FileManager.default.removeItem(at: $0) }
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `URLs as paths` {
    @Test(arguments: [
        ("https://user:secret@example.org/secret/song?token=secret#secret", "https://example.org"),
        ("https://example.org:8080/secret", "https://example.org"), ("data:text/plain,secret", "data:…"),
        ("secret/song?token=secret", "URL without a scheme"), ("file://music/secret", "file://music"),
    ])
    func `an error about a URL that isn't a file URL shows only its scheme and host`(text: String, shown: String)
        async throws
    {
        let url = try #require(URL(string: text))
        try await withIO { io, _ in
            let error = await expectFileError(.invalidPath) { try await Data(asyncContentsOf: url, using: io) }
            #expect(error?.subject == shown)
            #expect(error.map { "\($0)".contains("secret") } == false)
        }
    }

    @Test func `a file URL may name this machine as its host`() async throws {
        try await withIO { io, directory in
            let file = directory.appending(path: "file")
            try pattern(3).write(to: file)
            for host in ["", "localhost"] {
                let url = try #require(URL(string: "file://\(host)\(file.path)"))
                #expect(try await Data(asyncContentsOf: url, using: io) == pattern(3))
            }
        }
    }

    @Test(arguments: ["a\u{600}", "a\u{301}", "\u{301}", "a\u{200D}", "\u{600}"])
    func `trailing slashes are removed, and no part of the name with them`(name: String) async throws {
        try await withIO { io, directory in
            for slashes in ["", "/", "//"] {
                let url = URL(filePath: "\(directory.path)/\(name)\(slashes)")
                try await pattern(5).asyncWrite(to: url, using: io)
                #expect(names(in: directory).map { Array($0.utf8) } == [Array(name.utf8)])
            }
        }
    }
}

// MARK: - Links

@Suite(.timeLimit(.minutes(15))) struct Links {
    @Test func `a symbolic link keeps its destination unchanged`() async throws {
        try await withIO { io, directory in
            for (index, target) in ["nowhere", "../a/./b//c", "/", "a\nb", "-rf", " ", "é", "file://x"].enumerated() {
                let link = directory.appending(path: "\(index)")
                try await io.createSymbolicLink(at: link, to: target)
                #expect(try await io.destination(ofSymbolicLink: link) == target)
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == target)
            }
            let error = await expectFileError(.exists) {
                try await io.createSymbolicLink(at: directory.appending(path: "0"), to: "other")
            }
            #expect(error?.subject == directory.appending(path: "0").path)
            await expectFileError(.notFound) {
                try await io.createSymbolicLink(at: directory.appending(path: "x"), to: "")
            }
            await expectFileError(.invalidPath) {
                try await io.createSymbolicLink(at: directory.appending(path: "x"), to: "a\0b")
            }
            await expectFileError(.nameTooLong) {
                try await io.createSymbolicLink(
                    at: directory.appending(path: "x"), to: String(repeating: "x", count: 5000))
            }
        }
    }

    @Test(arguments: [1, 255, 256, 257, 1023, 1024, 1025, 4095])
    func `a destination of any length is read whole`(length: Int) async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let link = directory.appending(path: "link")
            let target = String((0..<length).map { index in Character(UnicodeScalar(UInt8(97 + index % 26))) })
            #expect(symlink(target, link.path) == 0)
            let read = try await io.destination(ofSymbolicLink: link)
            #expect(read == target)
        }
    }

    @Test func `reading the destination fails if the file isn't a link or the destination isn't text`() async throws {
        try await withIO { io, directory in
            let odd = directory.appending(path: "odd")
            #expect(symlink([0x61, -1, 0], odd.path) == 0)
            var error = await expectFileError(.invalidArgument) { try await io.destination(ofSymbolicLink: directory) }
            #expect(error?.remedy?.contains("symbolic link") == true)
            error = await expectFileError(.invalidPath) { try await io.destination(ofSymbolicLink: odd) }
            #expect(error?.subject == odd.path && error?.remedy != nil)
            await expectFileError(.notFound) {
                try await io.destination(ofSymbolicLink: directory.appending(path: "none"))
            }
        }
    }

    @Test func `a link without an end is an error`() async throws {
        var calls = SystemCalls.system
        calls.metadata.readLink = { _, buffer in buffer.count }
        calls.metadata.resolve = { _, _ in -Int(ERANGE) }
        try await withIO(calls: calls) { io, directory in
            await expectFileError(.invalidArgument) { try await io.destination(ofSymbolicLink: directory) }
            await expectFileError(.invalidArgument) { try await io.resolve(directory) }
        }
    }

    @Test func `a hard link is the same file and doesn't replace an existing name`() async throws {
        try await withIO { io, directory in
            let (a, b, c) = (
                directory.appending(path: "a"), directory.appending(path: "b"), directory.appending(path: "c")
            )
            let link = directory.appending(path: "link")
            try pattern(5).write(to: a)
            try await io.createLink(at: b, to: a)
            #expect(try await io.status(of: b)?.identity == io.status(of: a)?.identity)
            let error = await expectFileError(.exists) { try await io.createLink(at: b, to: a) }
            #expect(error?.subject == b.path)
            #expect(error?.operation == "link '\(a.path)' as")
            try await io.createSymbolicLink(at: link, to: "a")
            try await io.createLink(at: c, to: link)
            #expect(try await io.status(of: c, followsLinks: false)?.kind == .file)
            try await io.remove(c)
            try await io.createLink(at: c, to: link, followsLinks: false)
            #expect(try await io.status(of: c, followsLinks: false)?.kind == .symbolicLink)
            await expectFileError(.permissionDenied) {
                try await io.createLink(at: directory.appending(path: "d"), to: directory)
            }
            if let memoryDirectory {
                try await FileIO.shared.withTemporaryDirectory(in: memoryDirectory) { other in
                    _ = await expectFileError(.differentFileSystems) {
                        try await io.createLink(at: other.appending(path: "a"), to: a)
                    }
                }
            }
        }
    }

    @Test func `resolving a path removes links and dots`() async throws {
        try await withIO { io, directory in
            let deep = directory.appending(path: "a/b", directoryHint: .isDirectory)
            try await io.createDirectory(at: deep)
            try await io.createSymbolicLink(at: directory.appending(path: "link"), to: "a/b/..")
            let base = try await io.resolve(directory).path
            let found = try await io.resolve(URL(filePath: directory.path + "/./link/b"))
            #expect(found.path == base + "/a/b")
            #expect(try await io.resolve(deep).hasDirectoryPath)
            let error = await expectFileError(.notFound) { try await io.resolve(directory.appending(path: "none")) }
            #expect(error?.operation == "resolve")
            try await io.createSymbolicLink(at: directory.appending(path: "loop"), to: "loop")
            await expectFileError(.tooManyLinks) { try await io.resolve(directory.appending(path: "loop")) }

            // Longer than the first buffers.
            var long = directory
            for _ in 0..<12 { long.append(path: String(repeating: "x", count: 200)) }
            try await io.createDirectory(at: long)
            #expect(try await io.resolve(long).path.utf8.count > 2400)

            // A directory whose name isn't text.
            #expect(mkdir(Array(directory.path.utf8CString.dropLast()) + [0x2F, -1, 0], 0o700) == 0)
            #expect(symlink([-1, 0], directory.appending(path: "odd").path) == 0)
            await expectFileError(.invalidPath) { try await io.resolve(directory.appending(path: "odd")) }
        }
    }
}
