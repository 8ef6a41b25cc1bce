import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Extended attributes` {
    @Test(arguments: [nil, memoryDirectory])
    func `an extended attribute can be set, listed, read and removed`(place: URL?) async throws {
        try await withIO(in: place) { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            #expect(try await io.extendedAttributes(of: file).filter { $0.hasPrefix("user.") } == [])
            let values = [
                "user.empty": Data(), "user.a b\n": pattern(1), "user.é": pattern(255), "user.k": pattern(1000),
            ]
            for (name, value) in values { try await io.setExtendedAttribute(name, of: file, to: value) }
            let listed = try await io.extendedAttributes(of: file).filter { $0.hasPrefix("user.") }
            #expect(Set(listed) == Set(values.keys) && listed.count == values.count)
            for (name, value) in values {
                #expect(try await io.extendedAttribute(name, of: file) == value)
                #expect(attribute(name, of: file) == value)
            }
            try await io.removeExtendedAttribute("user.empty", of: file)
            #expect(try await io.extendedAttribute("user.empty", of: file) == nil)
            let error = await expectFileError(.noAttribute) {
                try await io.removeExtendedAttribute("user.empty", of: file)
            }
            #expect(error?.operation == "remove the attribute 'user.empty' of" && error?.subject == file.path)
        }
    }

    @Test func `create fails if the attribute exists, and replace fails if it doesn't`() async throws {
        try await withIO { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            await expectFileError(.noAttribute) {
                try await io.setExtendedAttribute("user.a", of: file, to: pattern(1), .replace)
            }
            try await io.setExtendedAttribute("user.a", of: file, to: pattern(1), .create)
            let error = await expectFileError(.exists) {
                try await io.setExtendedAttribute("user.a", of: file, to: pattern(2), .create)
            }
            #expect(error?.operation == "set the attribute 'user.a' of")
            #expect(try await io.extendedAttribute("user.a", of: file) == pattern(1))
            try await io.setExtendedAttribute("user.a", of: file, to: pattern(3), .replace)
            try await io.setExtendedAttribute("user.a", of: file, to: pattern(4))
            #expect(try await io.extendedAttribute("user.a", of: file) == pattern(4))
        }
    }

    @Test func `many names and long values are returned completely`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            let names = (0..<100).map { "user.\($0)-" + String(repeating: "x", count: 200) }
            for name in names { try await io.setExtendedAttribute(name, of: file, to: Data()) }
            #expect(try await Set(io.extendedAttributes(of: file)) == Set(names))
            for size in [255, 256, 257, 512, 513, 65_536] {
                do {
                    try await io.setExtendedAttribute("user.long", of: file, to: pattern(size))
                } catch let error as FileError where error.code == .noSpace && size == 65_536 {
                    continue  // tmpfs counts them against a separate limit.
                }
                #expect(try await io.extendedAttribute("user.long", of: file) == pattern(size))
            }
        }
    }

    @Test func `an attribute that grows between two calls is read whole, and one that never stops growing is an error`()
        async throws
    {
        let size = Guarded(10)
        var calls = SystemCalls.system
        let grow: @Sendable (UnsafeMutableRawBufferPointer) -> Int = { buffer in
            // Adds 300 bytes for each request, up to 3,000.
            let now = size.withLock {
                $0 = min($0 + 300, 3000); return $0
            }
            if buffer.isEmpty { return now }
            if buffer.count < now { return -Int(ERANGE) }
            buffer.copyBytes(from: repeatElement(UInt8(ascii: "x"), count: now))
            return now
        }
        calls.metadata.attribute = { _, _, buffer in grow(buffer) }
        calls.metadata.listAttributes = { _, buffer in grow(buffer) }
        try await withIO(calls: calls) { io, directory in
            let value = try await io.extendedAttribute("user.a", of: directory)
            #expect(value?.count == 3000)
            size.withLock { $0 = 10 }
            #expect(try await io.extendedAttributes(of: directory) == [String(repeating: "x", count: 3000)])
        }
        calls.metadata.attribute = { _, _, buffer in buffer.isEmpty ? 1 : -Int(ERANGE) }
        try await withIO(calls: calls) { io, directory in
            await expectFileError(.invalidArgument) { try await io.extendedAttribute("user.a", of: directory) }
        }
    }

    @Test func `invalid attribute names are reported differently from full disks`() async throws {
        try await withIO { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            var error = await expectFileError(.unsupported) {
                try await io.setExtendedAttribute("digest", of: file, to: Data())
            }
            #expect(error?.remedy?.contains("user.") == true)
            error = await expectFileError(.nameTooLong) {
                try await io.setExtendedAttribute("user." + String(repeating: "x", count: 251), of: file, to: Data())
            }
            error = await expectFileError(.invalidArgument) { try await io.extendedAttribute("", of: file) }
            error = await expectFileError(.invalidArgument) { try await io.extendedAttribute("user.a\0b", of: file) }
            // ext4 returns ENOSPC; the kernel returns E2BIG above 64 KiB.
            error = await expectFileError(.fileTooLarge) {
                try await io.setExtendedAttribute("user.a", of: file, to: Data(count: 65_537))
            }
            await expectFileError(.notFound) { try await io.extendedAttributes(of: directory.appending(path: "none")) }
        }
        for number in [ENOTSUP, EOPNOTSUPP] {
            let calls = SystemCalls.system.intercepted {
                [.metadataListAttributes, .metadataAttribute, .metadataRemoveAttribute].contains($0) ? number : nil
            }
            try await withIO(calls: calls) { io, directory in
                await expectFileError(.unsupported) { try await io.extendedAttributes(of: directory) }
                await expectFileError(.unsupported) { try await io.extendedAttribute("user.a", of: directory) }
                let error = await expectFileError(.unsupported) {
                    try await io.removeExtendedAttribute("user.a", of: directory)
                }
                #expect(error?.remedy?.contains("user.") == true)
            }
        }
    }

    @Test func `a link's attributes are separate from those of its target`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            try pattern(5).write(to: file)
            try await io.createSymbolicLink(at: link, to: "file")
            try await io.setExtendedAttribute("user.a", of: link, to: pattern(1))
            #expect(attribute("user.a", of: file) == pattern(1))
            #expect(try await io.extendedAttribute("user.a", of: link) == pattern(1))
            await expectFileError(.permissionDenied) {
                try await io.setExtendedAttribute("user.a", of: link, to: pattern(1), followsLinks: false)
            }
            #expect(try await !io.extendedAttributes(of: link, followsLinks: false).contains("user.a"))
            if getuid() == 0 {
                try await io.setExtendedAttribute("trusted.a", of: link, to: pattern(2), followsLinks: false)
                #expect(try await io.extendedAttribute("trusted.a", of: link, followsLinks: false) == pattern(2))
                #expect(try await io.extendedAttribute("trusted.a", of: link) == nil)
                try await io.removeExtendedAttribute("trusted.a", of: link, followsLinks: false)
            }
        }
    }
}

// MARK: - Copies

@Suite(.timeLimit(.minutes(15))) struct `What copies keep` {
    @Test(arguments: [nil, memoryDirectory])
    func `a copy keeps the mode, regardless of the umask and of an existing file`(place: URL?) async throws {
        try await withIO(in: place) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 100)
            for permissions in [0o777, 0o444, 0o600, 0o6755, 0o000] {
                #expect(chmod(a.path, mode_t(permissions)) == 0)
                try await io.copy(a, to: b, options: .init(existing: .replace))
                #expect(mode(of: b) == permissions)
                // Again, with an existing file.
                #expect(chmod(b.path, 0o640) == 0)
                try await io.copy(a, to: b, options: .init(existing: .replace))
                #expect(mode(of: b) == permissions)
            }
        }
    }

    @Test func `a copy that doesn't keep permissions has the default mode or the replaced file's mode`() async throws {
        try await withIO { io, directory in
            let (a, b, new) = (
                directory.appending(path: "a"), directory.appending(path: "b"), directory.appending(path: "new")
            )
            try makeFile(a, 100)
            #expect(chmod(a.path, 0o700) == 0)
            close(creat(b.path, 0o600))
            #expect(chmod(b.path, 0o4711) == 0)
            try await io.copy(a, to: b, options: .init(existing: .replace, attributes: []))
            #expect(mode(of: b) == 0o4711)
            try await io.copy(a, to: new, options: .init(existing: .replace, attributes: []))
            let plain = directory.appending(path: "plain")
            close(Glibc.open(plain.path, O_CREAT | O_WRONLY, 0o666))
            #expect(mode(of: new) == mode(of: plain))
        }
    }

    @Test func `no other user can read a secret file's copy before its mode is set`() async throws {
        let modes = Guarded<[UInt32]>([])
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            if flags & O_CREAT != 0 { modes.withLock { $0.append(mode) } }
            return SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(calls: calls) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 100)
            try await io.copy(a, to: b, options: .init(existing: .replace))
            try await io.copy(a, to: b, options: .init(existing: .replace, attributes: []))
            #expect(modes.withLock { $0 } == [0o600, 0o600])
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root gives files away"))
    func `set-user-ID and set-group-ID are kept only together with the user and the group`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 100)
            for (user, group, keeping, expected) in [
                (7, 8, .permissions, 0o755), (0, 8, .permissions, 0o755), (7, 0, .permissions, 0o755),
                (7, 8, [.permissions, .owner], 0o6755),
            ] as [(uid_t, gid_t, FileCopyOptions.Attributes, Int)] {
                #expect(chown(a.path, user, group) == 0 && chmod(a.path, 0o6755) == 0)
                try await io.copy(a, to: b, options: .init(existing: .replace, attributes: keeping))
                #expect(mode(of: b) == expected)
                let status = try await io.status(of: b)
                #expect(status?.owner == (keeping.contains(.owner) ? user : 0))
                #expect(status?.group == (keeping.contains(.owner) ? group : 0))
            }
        }
    }

    @Test(arguments: [nil, memoryDirectory], [nil, EXDEV] as [CInt?])
    func `a copy keeps times to the nanosecond, with the access time from before the copy`(place: URL?, range: CInt?)
        async throws
    {
        try await withIO(calls: `Copies of files`.without(clone: EXDEV, range: range), in: place) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 100)
            let times = (
                FileTime(seconds: 1_500_000_000, nanoseconds: 123_456_789), FileTime(seconds: 5, nanoseconds: 7)
            )
            try await io.setTimes(of: a, modification: times.0, access: times.1)
            try await io.copy(a, to: b, options: .init(existing: .replace, attributes: .times))
            let status = try #require(try await io.status(of: b))
            #expect(status.modificationTime == times.0 && status.accessTime == times.1)
            try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(try await io.status(of: b)?.modificationTime != times.0)
        }
    }

    @Test func `a copy keeps all user attributes, even those of read-only files`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 100)
            let values = ["user.empty": Data(), "user.a": pattern(1), "user.long": pattern(2000)]
            for (name, value) in values { #expect(setAttribute(name, of: a, to: value)) }
            #expect(chmod(a.path, 0o444) == 0)
            try await io.copy(a, to: b, options: .init(existing: .replace, attributes: .allButOwner))
            for (name, value) in values { #expect(attribute(name, of: b) == value) }
            #expect(mode(of: b) == 0o444)
            try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(attribute("user.a", of: b) == nil)
        }
    }

    @Test(.enabled(if: memoryDirectory != nil), arguments: [ENOTSUP, EPERM, ENOSPC, EIO])
    func `a copy fails if a user attribute can't be set, but skips a system attribute that is refused`(
        number: CInt
    ) async throws {
        for name in ["user.a", "trusted.a"] {
            if name == "trusted.a" && getuid() != 0 { continue }
            let calls = SystemCalls.system.intercepted { $0 == .metadataSetAttribute ? number : nil }
            try await withIO(calls: calls) { io, directory in
                let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
                try makeFile(a, 100)
                #expect(setAttribute(name, of: a, to: pattern(3)))
                do {
                    try await io.copy(a, to: b, options: .init(existing: .replace, attributes: .extendedAttributes))
                    #expect(name == "trusted.a" && [ENOTSUP, EPERM].contains(number))
                    #expect(sameFiles(a, b))
                } catch let error as FileError {
                    #expect(name == "user.a" || [ENOSPC, EIO].contains(number))
                    #expect(error.operation == "set the attribute '\(name)' of" && error.systemError == number)
                    #expect(names(in: directory) == ["a"])
                }
            }
        }
    }

    @Test func `a copy keeps an access control list together with its mode`() async throws {
        // Version 2; owner rw, user 7 r, group r, mask r, others none: see acl(5).
        var list = Data([2, 0, 0, 0])
        for (tag, bits, id) in [(1, 6, -1), (2, 4, 7), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
            as [(UInt16, UInt16, Int32)]
        {
            withUnsafeBytes(of: tag.littleEndian) { list.append(contentsOf: $0) }
            withUnsafeBytes(of: bits.littleEndian) { list.append(contentsOf: $0) }
            withUnsafeBytes(of: id.littleEndian) { list.append(contentsOf: $0) }
        }
        let name = "system.posix_acl_access"
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 100)
            guard setAttribute(name, of: a, to: list) else { return }  // The file system doesn't support lists.
            try await io.copy(a, to: b, options: .init(existing: .replace, attributes: .allButOwner))
            #expect(attribute(name, of: b) == list)
            #expect(mode(of: b) == mode(of: a))
        }
    }
}
