import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct `Destinations of copies` {
    @Test(arguments: [
        (Durability.none, ["rename"]), (.data, ["fdatasync", "rename"]), (.full, ["fsync", "rename"]),
        (.fullAndDirectory, ["fsync", "rename", "fsync directory"]),
    ])
    func `the order of the calls is the promise of each level`(durability: Durability, order: [String]) async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 5000)
            try await io.copy(a, to: b, options: .init(durability: durability, existing: .replace))
            #expect(log.all.filter { order.contains($0) || $0.hasPrefix("f") } == order)
            #expect(log.all.firstIndex(of: "close")! < log.all.firstIndex(of: "rename")!, "delayed errors come first")
        }
    }

    @Test func `an existing destination is replaced, or left alone and named`() async throws {
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

    @Test func `of many that must not replace, one succeeds`() async throws {
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

    @Test func `a copy of a file to itself is refused, under whatever name, and the file stays`() async throws {
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
                try await io.copy(link, to: link, options: .init(existing: .replace, followingLinks: false))
            }
            #expect(same(contents(of: a), contents(of: name)) && contents(of: a).count == 5000)
            #expect(names(in: directory) == ["a", "link", "name"])
        }
    }

    @Test func `only a regular file is copied, and nothing else is opened`() async throws {
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
    func `a file that replaced the original after the check does not block, and is refused`(
        kind: String
    ) async throws {
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
            // Without it, opening the FIFO would hang here and not fail.
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
                    a, to: directory.appending(path: "b"), options: .init(existing: .replace, followingLinks: false))
            }
            #expect(names(in: directory) == ["a"])
        }
    }

    @Test func `a FIFO or directory at the destination is refused, a link replaced itself`() async throws {
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
            let status = try await io.status(of: link, followingLinks: false)
            #expect(status?.kind == .file)
            #expect(names(in: directory) == ["a", "fifo", "link", "target"])
        }
    }

    @Test func `names of any kind are copied`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let hostile = ["-rf", "a\nb", String(repeating: "x", count: 255), " ", "\u{202E}", "%2F", "é"]
            for name in hostile {
                let (a, b) = (directory.appending(path: name), directory.appending(path: "copy/" + name))
                try await io.makeDirectory(at: directory.appending(path: "copy"))
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

    @Test func `a link is followed, or copied with its target as it is written there`() async throws {
        try await withIO { io, directory in
            let (a, b, link) = (
                directory.appending(path: "a"), directory.appending(path: "b"), directory.appending(path: "link")
            )
            try makeFile(a, 5000)
            #expect(symlink("a", link.path) == 0)
            try await io.copy(link, to: b, options: .init(existing: .replace))
            #expect(sameFiles(a, b))
            var result = try await io.copy(link, to: b, options: .init(existing: .replace, followingLinks: false))
            #expect(result == FileCopyResult(bytes: 0, method: .symbolicLink))
            #expect(try await io.destination(ofSymbolicLink: b) == "a")

            // One that leads nowhere, and not in UTF-8.
            let odd = directory.appending(path: "odd")
            #expect(symlink([0x2E, 0x2E, 0x2F, -1, -2, 0x0A, 0], odd.path) == 0)
            await expectFileError(.notFound) { try await io.copy(odd, to: b, options: .init(existing: .replace)) }
            result = try await io.copy(odd, to: b, options: .init(existing: .replace, followingLinks: false))
            var target = [CChar](repeating: 0, count: 10)
            #expect(readlink(b.path, &target, 10) == 6 && target.prefix(6) == [0x2E, 0x2E, 0x2F, -1, -2, 0x0A])
            await expectFileError(.exists) {
                try await io.copy(odd, to: b, options: .init(existing: .fail, followingLinks: false))
            }
            await expectFileError(.isDirectory) {
                try await io.copy(odd, to: directory, options: .init(existing: .replace, followingLinks: false))
            }
            #expect(names(in: directory) == ["a", "b", "link", "odd"])
        }
    }

    @Test func `a link's own times and owner are kept if asked`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            #expect(symlink("nowhere", a.path) == 0)
            let time = FileTime(seconds: 1_000_000_007, nanoseconds: 123_456_789)
            try await io.setTimes(of: a, modification: time, access: .epoch, followingLinks: false)
            var keeping = FileCopyOptions.Attributes.allButOwner
            if getuid() == 0 {
                try await io.setOwner(of: a, user: 7, group: 8, followingLinks: false)
                #expect(setAttribute("trusted.link", of: a, to: Data("t".utf8)))
                keeping.insert(.owner)
            }
            try await io.copy(a, to: b, options: .init(existing: .replace, followingLinks: false, keeping: keeping))
            let (old, new) = (
                try await io.status(of: a, followingLinks: false), try await io.status(of: b, followingLinks: false)
            )
            #expect(new?.modificationTime == time && new?.kind == .symbolicLink)
            #expect(new?.owner == old?.owner && new?.group == old?.group)
            #expect(attribute("trusted.link", of: b) == attribute("trusted.link", of: a))
        }
    }
}
