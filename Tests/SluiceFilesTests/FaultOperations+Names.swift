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
            // What can't be renamed or removed stays.
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
        // That it is a directory is what unlink(2) says: as EISDIR or as EPERM.
        .believing(.unlink, EISDIR, EPERM).believing(.removeDirectory, ENOTDIR),
        Self("make a directory") { io, directory in
            try await io.makeDirectory(at: directory.appending(path: "directory"), withIntermediates: false)
        },
        Self("make directories") { io, directory in try await io.makeDirectory(at: directory.appending(path: "a/b/c")) }
            .believing(.makeDirectory, ENOENT),
        Self("make a directory that is there", madeDirectory) { io, directory in
            try await io.makeDirectory(at: directory.appending(path: "directory"))
        }.believing(.makeDirectory, EEXIST, ENOENT).believing(.status, ENOENT, ENOTDIR),
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

    /// The file under its old name or its new one, never both and never none.
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
            // Deeper than the directories that are open concurrently.
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
        }.removingTrees().believing(.makeDirectory, EEXIST)
            .believing(.open, ENOENT, EACCES).believing(.unlinkAt, EACCES).believing(.list, ENOENT).believing(
                .unlink, ENOENT
            ).believing(
                .removeDirectory, ENOENT),
        Self("temporary directory with one that may not be opened") { io, directory in
            try await io.withTemporaryDirectory(in: directory) { temporary in
                try FileManager.default.createDirectory(
                    at: temporary.appending(path: "a/b"), withIntermediateDirectories: true)
            }
        }.denyingOnce([.openAt: EACCES, .open: EACCES]).removingTrees().believing(.makeDirectory, EEXIST)
            .believing(.open, ENOENT, EACCES).believing(.openAt, EACCES).believing(.unlinkAt, EACCES)
            .believing(.list, ENOENT).believing(.unlink, ENOENT).believing(.removeDirectory, ENOENT)
            // If the mode can't be set, the error is that of the directory.
            .believing(.changeMode, EACCES, EIO, ENOMEM, EPERM, EROFS, EOPNOTSUPP)
            .believing(.changeModeAt, EACCES, EIO, ENOENT, ENOTDIR, EOPNOTSUPP, EPERM, EROFS),
    ]

    /// Changes that another process may make to a tree meanwhile: removing or swapping its entries. Directories were only read.
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
