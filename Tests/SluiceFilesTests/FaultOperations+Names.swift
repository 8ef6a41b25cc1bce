import Foundation
import SluiceFiles

extension FaultedOperation {
    // MARK: Names

    static let naming: [Self] = [
        Self("rename over", twoFiles) { io, directory in
            try await io.rename(
                directory.appending(path: "file"), to: directory.appending(path: "other"), existing: .replace)
        }.checking(oneOfBoth).believing(.status, ENOENT, ENOTDIR),
        Self("rename, not over", old()) { io, directory in
            try await io.rename(
                directory.appending(path: "file"), to: directory.appending(path: "other"), existing: .fail)
        }.checking(oneOfBoth),
        Self("rename, not over, where renameat2 is missing", old()) { io, directory in
            try await io.rename(
                directory.appending(path: "file"), to: directory.appending(path: "other"), existing: .fail)
        }.denying([.renameWithoutReplacing: EINVAL]).checking(oneOfBoth),
        Self("rename a directory, not over, where renameat2 is missing", madeDirectory) { io, directory in
            try await io.rename(
                directory.appending(path: "directory"), to: directory.appending(path: "other"), existing: .fail)
        }.denying([.renameWithoutReplacing: EINVAL]).believing(.link, EPERM).checking { directory, outcome in
            names(in: directory) == [outcome.isSuccess ? "other" : "directory"] ? nil : "has \(names(in: directory))"
        },
        Self("rename over another name of the file", oneFile) { io, directory in
            try await io.rename(
                directory.appending(path: "file"), to: directory.appending(path: "other"), existing: .replace)
        }.checking { directory, outcome in
            let left = names(in: directory)
            if outcome.isSuccess || outcome.fault.error == ENOENT {
                return left.contains("other") ? nil : "has \(left)"
            }
            // A file that can't be renamed or removed stays.
            return left == ["file", "other"] || outcome.fault.isLasting ? nil : "has \(left)"
        }.believing(.status, ENOENT, ENOTDIR).believing(.rename, ENOENT).believing(.unlink, ENOENT),
        Self("rename, not over, in a sticky directory where renameat2 is missing") { directory in
            try old()(directory)
            chmod(directory.path, 0o1777)
        } run: { io, directory in
            try await io.rename(
                directory.appending(path: "file"), to: directory.appending(path: "other"), existing: .fail)
        }.denying([.renameWithoutReplacing: EINVAL]).checking(oneOfBoth),
        Self("remove a file", old()) { io, directory in try await io.remove(directory.appending(path: "file")) }
            .checking { directory, outcome in
                outcome.isSuccess == names(in: directory).isEmpty ? nil : "is not as said"
            }
            .believing(.unlink, ENOENT),
        Self("remove a directory", madeDirectory) { io, directory in
            try await io.remove(directory.appending(path: "directory"))
        }
        // unlink(2) reports a directory as EISDIR or as EPERM.
        .believing(.unlink, EISDIR, EPERM).believing(.removeDirectory, ENOTDIR),
        Self("make a directory") { io, directory in
            try await io.createDirectory(at: directory.appending(path: "directory"), withIntermediates: false)
        },
        Self("make directories") { io, directory in try await io.createDirectory(at: directory.appending(path: "a/b/c"))
        }
        .believing(.createDirectory, ENOENT),
        Self("make a directory that is there", madeDirectory) { io, directory in
            try await io.createDirectory(at: directory.appending(path: "directory"))
        }.believing(.createDirectory, EEXIST, ENOENT).believing(.status, ENOENT, ENOTDIR),
        Self("status", old()) { io, directory in
            if try await io.status(of: directory.appending(path: "file"))?.size != 300 {
                throw WrongResult("another size")
            }
        }.believing(.status, ENOENT, ENOTDIR),
        Self("statuses", old()) { io, directory in
            for status in try await io.statuses(of: [(directory, "file"), (directory, ".")]) {
                if try status.get() == nil { throw WrongResult("is not there") }
            }
        }.believing(.status, ENOENT, ENOTDIR),
    ]

    private static let oneFile: @Sendable (URL) throws -> Void = { directory in
        try pattern(300).write(to: directory.appending(path: "file"))
        link(directory.appending(path: "file").path, directory.appending(path: "other").path)
    }

    private static let twoFiles: @Sendable (URL) throws -> Void = { directory in
        try pattern(300).write(to: directory.appending(path: "file"))
        try pattern(200).write(to: directory.appending(path: "other"))
    }

    static let madeDirectory: @Sendable (URL) throws -> Void = { directory in
        try FileManager.default.createDirectory(
            at: directory.appending(path: "directory"), withIntermediateDirectories: false)
    }

    /// The file has its old name or its new one, never both and never neither.
    private static let oneOfBoth: @Sendable (URL, Outcome) -> String? = { directory, outcome in
        let isRenamed = same(contents(of: directory.appending(path: "other")), pattern(300))
        let isThere = names(in: directory).contains("file")
        if outcome.isStuckWithBothNames { return nil }
        if isRenamed == isThere { return isThere ? "has both names" : "has neither name" }
        return outcome.isSuccess == isRenamed ? nil : "is not as said"
    }

    // MARK: Trees

    static let trees: [Self] = [
        Self("remove a tree") { directory in
            var level = directory.appending(path: "tree")
            // Deeper than the number of directories that are open at a time.
            for depth in 0..<18 {
                try FileManager.default.createDirectory(at: level, withIntermediateDirectories: false)
                if depth % 9 == 0 { try pattern(3).write(to: level.appending(path: "file")) }
                level = level.appending(path: "n")
            }
        } run: { io, directory in
            try await io.removeTree(directory.appending(path: "tree"))
        }.checking { directory, outcome in
            outcome.isSuccess && !names(in: directory).isEmpty ? "is still there" : nil
        }.removingTrees(),
        Self("temporary directory") { io, directory in
            try await io.withTemporaryDirectory(in: directory) { temporary in
                try pattern(9).write(to: temporary.appending(path: "x"))
            }
        }.removingTrees().believing(.createDirectory, EEXIST)
            .believing(.open, ENOENT, EACCES).believing(.unlinkAt, EACCES).believing(.list, ENOENT).believing(
                .unlink, ENOENT
            ).believing(
                .removeDirectory, ENOENT),
        Self("temporary directory with one that may not be opened") { io, directory in
            try await io.withTemporaryDirectory(in: directory) { temporary in
                try FileManager.default.createDirectory(
                    at: temporary.appending(path: "a/b"), withIntermediateDirectories: true)
            }
        }.denyingOnce([.openAt: EACCES, .open: EACCES]).removingTrees().believing(.createDirectory, EEXIST)
            .believing(.open, ENOENT, EACCES).believing(.openAt, EACCES).believing(.unlinkAt, EACCES)
            .believing(.list, ENOENT).believing(.unlink, ENOENT).believing(.removeDirectory, ENOENT)
            // If the mode can't be set, the error is the directory's.
            .believing(.changeMode, EACCES, EIO, ENOMEM, EPERM, EROFS, EOPNOTSUPP)
            .believing(.changeModeAt, EACCES, EIO, ENOENT, ENOTDIR, EOPNOTSUPP, EPERM, EROFS),
    ]

    /// Changes that another process may make to a tree at the same time: removing or swapping its entries. Directories were only read.
    private func removingTrees() -> Self {
        ignoring(.close).believing(.open, ENOTDIR, ELOOP).believing(.openAt, ENOENT, ENOTDIR, ELOOP)
            .believing(.unlinkAt, ENOENT, EISDIR, EPERM, ENOTEMPTY).believing(.unlink, EISDIR, EPERM)
            .believing(.removeDirectory, ENOTDIR)
    }

    // MARK: Descriptors of the caller

    static let descriptors: [Self] = [
        Self("write to a descriptor") { io, directory in
            let url = directory.appending(path: "file")
            let descriptor = Foundation.open(url.path, O_WRONLY | O_CREAT, 0o600)
            defer { Foundation.close(descriptor) }
            try await io.write(pattern(900), descriptor: descriptor, name: url.path)
            try expectSame(contents(of: url), pattern(900))
        },
        Self("read a descriptor", old()) { io, directory in
            let url = directory.appending(path: "file")
            let descriptor = Foundation.open(url.path, O_RDONLY)
            defer { Foundation.close(descriptor) }
            try expectSame(await io.readToEnd(descriptor: descriptor, name: url.path), pattern(300))
        },
        Self("write to a pipe that has room, and read it") { io, directory in
            var ends: [CInt] = [0, 0]
            _ = pipe(&ends)
            let (reader, writer) = (ends[0], ends[1])
            defer { Foundation.close(reader) }
            do {
                defer { Foundation.close(writer) }
                try await io.write(pattern(900), descriptor: writer, name: directory.path + "/pipe")
            }
            try expectSame(await io.readToEnd(descriptor: reader, name: directory.path + "/pipe"), pattern(900))
        },
        Self("write to a file that is not ready, and read it") { io, directory in
            let path = directory.path + "/file"
            let writer = open(path, O_WRONLY | O_CREAT, 0o600)
            let reader = open(path, O_RDONLY)
            defer {
                Foundation.close(reader)
                Foundation.close(writer)
            }
            try await io.write(pattern(900), descriptor: writer, name: path)
            try expectSame(await io.readToEnd(descriptor: reader, name: path), pattern(900))
        }.denyingOnce([.write: EAGAIN, .read: EAGAIN]),
    ]
}

// MARK: - Directories

extension FaultedOperation {
    /// Directories and their entries, for the table in FaultOperations.
    static let directories: [Self] = [
        Self("list a directory", old()) { io, directory in
            if try await io.entries(of: directory).map(\.name) != ["file"] { throw WrongResult("other entries") }
        }.onlyReading(),
        Self("list a directory entry by entry", old()) { io, directory in
            var count = 0
            for try await _ in io.listing(of: directory) { count += 1 }
            if count != 1 { throw WrongResult("\(count) entries") }
        }.onlyReading(),
        Self("walk a tree", deepTree) { io, directory in
            var options = WalkOptions()
            options.leavingDirectories = true
            for try await _ in io.walk(directory, options: options) {}
        }.onlyReading(),
        Self("walk a tree and follow links", deepTree) { io, directory in
            var options = WalkOptions()
            options.followsLinks = true
            for try await _ in io.walk(directory, options: options) {}
        }.onlyReading(),
        Self("use an entry", old()) { io, directory in
            for entry in try await io.entries(of: directory) {
                if try await entry.status()?.size != 300 { throw WrongResult("another size") }
                let renamed = try await entry.rename(to: "new").rename(to: "newer", existing: .replace)
                let input = try await renamed.openForReading()
                try await input.close()
                let output = try await renamed.openForWriting()
                try await output.close()
                try await renamed.remove()
            }
        }.onlyReading().checking { directory, outcome in
            !outcome.isSuccess || outcome.fault.call == .readEntries || names(in: directory).isEmpty ? nil : "is there"
        }.believing(.statusAt, ENOENT, ENOTDIR).believing(.unlinkAt, EISDIR, EPERM),
        Self("rename an entry where renameat2 is missing", old()) { io, directory in
            for entry in try await io.entries(of: directory) { try await entry.rename(to: "new") }
        }.denying([.renameAtWithoutReplacing: ENOSYS]).onlyReading().checking { directory, outcome in
            // The old name couldn't be removed, and neither can the new one.
            if outcome.fault.call == .unlinkAt && outcome.fault.isLasting { return nil }
            return names(in: directory).count == 1 ? nil : "has \(names(in: directory))"
        },
        Self("rename the entry of a directory where renameat2 is missing", madeDirectory) { io, directory in
            for entry in try await io.entries(of: directory) { try await entry.rename(to: "new") }
        }.denying([.renameAtWithoutReplacing: ENOSYS]).believing(.linkAt, EPERM).onlyReading()
            .checking { directory, outcome in
                names(in: directory).count == 1 ? nil : "has \(names(in: directory))"
            },
        Self("temporary file") { io, directory in
            try await io.withTemporaryFile(in: directory) { _ in }
        }.checking { directory, outcome in
            // If the file is reported as gone, the engine believes it.
            if outcome.fault.error == ENOENT { return nil }
            return outcome.isSuccess && !names(in: directory).isEmpty ? "is still there" : nil
        }.believing(.open, EEXIST, ENOENT, ENOTDIR, ELOOP, EACCES).ignoring(.close).believing(
            .unlink, ENOENT, EISDIR, EPERM
        )
        .believing(.removeDirectory, ENOTDIR),
        Self("remove the tree of an entry", deepTree) { io, directory in
            for entry in try await io.entries(of: directory) { try await entry.removeTree() }
        }.onlyReading().believing(.list, ENOENT).believing(.unlinkAt, ENOENT, EISDIR, EPERM, ENOTEMPTY, ENOTDIR),
        Self("copy a tree") { directory in
            let source = directory.appending(path: "source")
            try FileManager.default.createDirectory(
                at: source.appending(path: "inner"), withIntermediateDirectories: true)
            try pattern(300).write(to: source.appending(path: "inner/file"))
            _ = Foundation.link(source.appending(path: "inner/file").path, source.appending(path: "second").path)
            _ = Foundation.symlink("nowhere", source.appending(path: "link").path)
            _ = mkfifo(source.appending(path: "fifo").path, 0o600)
        } run: { io, directory in
            try await io.copyTree(
                directory.appending(path: "source"), to: directory.appending(path: "copy"),
                options: .init(attributes: [.permissions, .times, .owner], durability: .fullAndDirectory))
        }.onlyReading().checking { directory, outcome in
            if outcome.isSuccess { return names(in: directory) == ["copy", "source"] ? nil : "is not there" }
            // A name that can't be removed stays.
            let isStuck =
                outcome.fault.isLasting
                && [.unlinkAt, .removeDirectory, .openAt, .open, .list, .statusOfDescriptor, .status].contains(
                    outcome.fault.call)
            let isSmall = [.open, .statusOfDescriptor, .openAt, .list, .unlink, .removeDirectory, .status].contains(
                outcome.fault.call)
            return names(in: directory) == ["source"] || isStuck || isSmall ? nil : "leaves the copy"
        }.believing(.statusAt, ENOENT, ENOTDIR).believing(.readLinkAt, ENOENT)
            .believing(.changeMode, EPERM, EOPNOTSUPP).believing(.removeDirectory, ENOTDIR).withoutLists()
            // Another way to copy, and a second copy if a link can't be made.
            .ignoring(.copyingClone).ignoring(.copyingCopyRange).ignoring(.copyingNextData).ignoring(.copyingNextHole)
            .ignoring(.linkAt).ignoring(.openAt).ignoring(.statusOfDescriptor),
        Self("watch a directory") { io, directory in
            var changes = try await io.changes(of: directory).makeAsyncIterator()
            makeFile("a", in: directory, "a")
            if try await changes.next()?.kind != .created { throw WrongResult("another change") }
        }.ignoring(.close),
    ]

    /// Deeper than the number of directories that are open at a time, with a link at the bottom.
    private static let deepTree: @Sendable (URL) throws -> Void = { directory in
        var level = directory
        for _ in 0..<18 {
            level = level.appending(path: "n")
            try FileManager.default.createDirectory(at: level, withIntermediateDirectories: false)
        }
        try pattern(3).write(to: level.appending(path: "file"))
        try FileManager.default.createSymbolicLink(
            atPath: level.appending(path: "link").path, withDestinationPath: directory.path + "/n/n")
    }

    /// Errors of closing directories are ignored, and their entries may disappear at any time.
    private func onlyReading() -> Self {
        ignoring(.close).believing(.readEntries, ENOENT).believing(.openAt, ENOENT, ENOTDIR, ELOOP)
    }
}

// MARK: - Metadata

extension FaultedOperation {
    // MARK: Copies

    static let copies: [Self] =
        [Durability.none, .data, .full, .fullAndDirectory].map { durability in
            // Closing the original and the directory, which were only read.
            copying("copy over, \(durability)", .init(durability: durability)).ignoring(.close, at: 1, 2)
        } + [
            copying("copy, not over", .init(existing: .fail), over: false).ignoring(.close, at: 1),
            copying("copy with all", .init(attributes: [.allButOwner, .owner])).ignoring(.close, at: 1)
                // The file was removed in the meantime, or the file system has no attributes.
                .believing(.metadataAttribute, ENODATA).believing(.metadataListAttributes, EOPNOTSUPP),
            copying("copy by reading and writing", .init()).denying([.copyingCopyRange: EXDEV])
                .ignoring(.close, at: 1),
            copying("copy a file with holes", .init(), holes: true).denying([.copyingCopyRange: EXDEV])
                .ignoring(.close, at: 1),
            copying("copy without the mode", .init(attributes: [])).ignoring(.close, at: 1),
            Self("copy a link") { directory in
                try FileManager.default.createSymbolicLink(
                    atPath: directory.appending(path: "file").path, withDestinationPath: "nowhere")
            } run: { io, directory in
                let (from, to) = (directory.appending(path: "file"), directory.appending(path: "other"))
                let options = FileCopyOptions(
                    durability: .fullAndDirectory, existing: .replace, followsLinks: false,
                    attributes: [.allButOwner, .owner])
                try await io.copy(from, to: to, options: options)
            }.checking { directory, outcome in
                let isThere = names(in: directory) == ["file", "other"]
                if !isThere, names(in: directory) != ["file"] { return "left \(names(in: directory))" }
                return isThere || !outcome.isSuccess ? nil : "is not there"
            }
            // The call reports a missing file. Then the file is opened, and that error is reported.
            .believing(.status, ENOENT, ENOTDIR).believing(.metadataListAttributes, EOPNOTSUPP)
            .believing(.metadataSymbolicLink, EEXIST).ignoring(.close),
        ]

    private static func copying(
        _ name: String, _ options: FileCopyOptions, over: Bool = true, holes: Bool = false
    ) -> Self {
        let contents = holes ? Data(count: 1 << 20) + pattern(300) + Data(count: 1 << 20) : pattern(300)
        return Self(name) { directory in
            let from = directory.appending(path: "file")
            if holes {
                close(creat(from.path, 0o600))
                let handle = try FileHandle(forWritingTo: from)
                try handle.seek(toOffset: 1 << 20)
                try handle.write(contentsOf: pattern(300))
                try handle.truncate(atOffset: UInt64(contents.count))
                try handle.close()
            } else {
                try contents.write(to: from)
            }
            setAttribute("user.a", of: from, to: Data("1".utf8))
            chown(from.path, 1, 1)
            if over { try pattern(50).write(to: directory.appending(path: "other")) }
        } run: { io, directory in
            let (from, to) = (directory.appending(path: "file"), directory.appending(path: "other"))
            var options = options
            options.existing = .replace
            let result = try await io.copy(from, to: to, options: options)
            if result.fileSize != contents.count { throw WrongResult("\(result)") }
        }
        .checking { directory, outcome in
            let found = (try? Data(contentsOf: directory.appending(path: "other"))) ?? Data()
            let isCopied = same(found, contents)
            if !isCopied, !same(found, over ? pattern(50) : Data()) { return "left \(found.count) bytes" }
            if names(in: directory) != (isCopied || over ? ["file", "other"] : ["file"]) {
                return "left \(names(in: directory))"
            }
            if outcome.isSuccess { return isCopied ? nil : "is not copied" }
            return isCopied && outcome.isBefore(.rename, .renameWithoutReplacing) ? "is copied" : nil
        }
        .believing(.status, ENOENT, ENOTDIR).ignoring(.copyingClone).ignoring(.copyingCopyRange)
        .ignoring(.copyingNextData).ignoring(.copyingNextHole)
        // A file system without modes.
        .believing(.changeMode, EPERM, EOPNOTSUPP).withoutLists()
        // If a unique name is taken, the file is someone else's, so the next name is tried.
        .believing(.open, EEXIST)
    }

    // MARK: Status, links, attributes

    static let metadata: [Self] = [
        Self("set the mode, the times and the owner", old()) { io, directory in
            let url = directory.appending(path: "file")
            try await io.setPermissions(0o640, of: url)
            try await io.setTimes(of: url, modification: FileTime(seconds: 5, nanoseconds: 7), access: nil)
            try await io.setOwner(of: url, user: 1, group: nil)
            let status = try await io.status(of: url)
            if status?.permissions != 0o640 || status?.modificationTime != FileTime(seconds: 5, nanoseconds: 7) {
                throw WrongResult("\(status as Any)")
            }
        }.believing(.status, ENOENT, ENOTDIR),
        Self("links", old()) { io, directory in
            let (link, name) = (directory.appending(path: "link"), directory.appending(path: "name"))
            try await io.createSymbolicLink(at: link, to: "file")
            if try await io.destination(ofSymbolicLink: link) != "file" { throw WrongResult("another target") }
            try await io.createLink(at: name, to: link)
            if try await io.resolve(link).lastPathComponent != "file" { throw WrongResult("another path") }
        },
        Self("extended attributes", old()) { io, directory in
            let url = directory.appending(path: "file")
            try await io.setExtendedAttribute("user.long", of: url, to: pattern(1000))
            if try await io.extendedAttributes(of: url).contains("user.long") == false { throw WrongResult("no name") }
            try expectSame(await io.extendedAttribute("user.long", of: url) ?? Data(), pattern(1000))
            try await io.removeExtendedAttribute("user.long", of: url)
        }.believing(.metadataAttribute, ENODATA),
    ]
}
