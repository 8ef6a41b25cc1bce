import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Setting what status tells` {
    @Test(arguments: [nil, memoryDirectory])
    func `times are kept to the nanosecond, and each alone`(place: URL?) async throws {
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

    @Test func `a link is followed, or has its own times`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            try pattern(5).write(to: file)
            #expect(symlink("file", link.path) == 0)
            let (one, two) = (FileTime(seconds: 1), FileTime(seconds: 2))
            try await io.setTimes(of: link, modification: one)
            try await io.setTimes(of: link, modification: two, followingLinks: false)
            let followed = try await io.status(of: link)
            let own = try await io.status(of: link, followingLinks: false)
            #expect(followed?.modificationTime == one && own?.modificationTime == two)
        }
    }

    @Test func `modes are set whatever the umask, and links are followed`() async throws {
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
    func `owners are set, each alone, of a file or of a link itself`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            try pattern(5).write(to: file)
            #expect(symlink("file", link.path) == 0)
            try await io.setOwner(of: link, user: 7, group: 8)
            try await io.setOwner(of: file, user: 9)
            try await io.setOwner(of: file, group: 10)
            try await io.setOwner(of: file)
            try await io.setOwner(of: link, user: 11, followingLinks: false)
            let status = try await io.status(of: file)
            let own = try await io.status(of: link, followingLinks: false)
            #expect(status?.owner == 9 && status?.group == 10)
            #expect(own?.owner == 11 && own?.group != 10)
            await expectFileError(.invalidArgument) { try await io.setOwner(of: file, user: .max) }
            await expectFileError(.invalidArgument) { try await io.setOwner(of: file, group: .max) }
        }
    }

    @Test func `a missing file is named, and so is the operation`() async throws {
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
                { try await io.makeSymbolicLink(at: directory, to: "x") },
                { try await io.makeLink(at: directory, to: directory) },
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
            // The inline lane looks at the kernel once.
            #expect(made.withLock { $0.filter { !$0.rawValue.hasPrefix("inline.") } } == [])
        }
    }
}
