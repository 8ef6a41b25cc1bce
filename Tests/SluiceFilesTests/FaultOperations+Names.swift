import Foundation
import SluiceFiles

extension FaultedOperation {
    // MARK: Names

    static let naming: [Self] = [
        Self("rename over", twoFiles) { io, folder in
            try await io.rename(folder.appending(path: "file"), to: folder.appending(path: "other"))
        }.checking(oneOfBoth),
        Self("rename, not over", old()) { io, folder in
            try await io.rename(folder.appending(path: "file"), to: folder.appending(path: "other"), existing: .fail)
        }.checking(oneOfBoth),
        Self("rename, not over, where renameat2 is missing", old()) { io, folder in
            try await io.rename(folder.appending(path: "file"), to: folder.appending(path: "other"), existing: .fail)
        }.denying([.renameWithoutReplacing: EINVAL]).checking(oneOfBoth),
        Self("rename a folder, not over, where renameat2 is missing", madeFolder) { io, folder in
            try await io.rename(folder.appending(path: "folder"), to: folder.appending(path: "other"), existing: .fail)
        }.denying([.renameWithoutReplacing: EINVAL]).believing(.link, EPERM).checking { folder, outcome in
            names(in: folder) == [outcome.isSuccess ? "other" : "folder"] ? nil : "has \(names(in: folder))"
        },
        Self("remove a file", old()) { io, folder in try await io.remove(folder.appending(path: "file")) }
            .checking { folder, outcome in
                outcome.isSuccess == names(in: folder).isEmpty ? nil : "is not as said"
            }
            .believing(.unlink, ENOENT),
        Self("remove a folder", madeFolder) { io, folder in try await io.remove(folder.appending(path: "folder")) }
            // That it is a folder is what unlink(2) says: as EISDIR or as EPERM.
            .believing(.unlink, EISDIR, EPERM).believing(.removeDirectory, ENOTDIR),
        Self("make a folder") { io, folder in
            try await io.makeDirectory(at: folder.appending(path: "folder"), withIntermediates: false)
        },
        Self("make folders") { io, folder in try await io.makeDirectory(at: folder.appending(path: "a/b/c")) }
            .believing(.makeDirectory, ENOENT),
        Self("make a folder that is there", madeFolder) { io, folder in
            try await io.makeDirectory(at: folder.appending(path: "folder"))
        }.believing(.makeDirectory, EEXIST, ENOENT).believing(.status, ENOENT, ENOTDIR),
        Self("status", old()) { io, folder in
            if try await io.status(of: folder.appending(path: "file"))?.size != 300 {
                throw WrongResult("another size")
            }
        }.believing(.status, ENOENT, ENOTDIR),
        Self("statuses", old()) { io, folder in
            for status in try await io.statuses(of: [(folder, "file"), (folder, ".")]) {
                if try status.get() == nil { throw WrongResult("is not there") }
            }
        }.believing(.status, ENOENT, ENOTDIR),
    ]

    private static let twoFiles: @Sendable (URL) throws -> Void = { folder in
        try pattern(300).write(to: folder.appending(path: "file"))
        try pattern(200).write(to: folder.appending(path: "other"))
    }

    static let madeFolder: @Sendable (URL) throws -> Void = { folder in
        try FileManager.default.createDirectory(
            at: folder.appending(path: "folder"), withIntermediateDirectories: false)
    }

    /// The file under its old name or its new one, never both and never none.
    private static let oneOfBoth: @Sendable (URL, Outcome) -> String? = { folder, outcome in
        let isRenamed = same(contents(of: folder.appending(path: "other")), pattern(300))
        let isThere = names(in: folder).contains("file")
        if outcome.isStuckWithBothNames { return nil }
        if isRenamed == isThere { return isThere ? "has both names" : "has neither name" }
        return outcome.isSuccess == isRenamed ? nil : "is not as said"
    }

    // MARK: Trees

    static let trees: [Self] = [
        Self("remove a tree") { folder in
            var level = folder.appending(path: "tree")
            // Deeper than the folders that are open at once.
            for depth in 0..<18 {
                try FileManager.default.createDirectory(at: level, withIntermediateDirectories: false)
                if depth % 9 == 0 { try pattern(3).write(to: level.appending(path: "file")) }
                level = level.appending(path: "n")
            }
        } run: { io, folder in
            try await io.removeTree(folder.appending(path: "tree"))
        }.checking { folder, outcome in
            outcome.isSuccess && !names(in: folder).isEmpty ? "is still there" : nil
        }.removingTrees(),
        Self("temporary folder") { io, folder in
            try await io.withTemporaryDirectory(in: folder) { temporary in
                try pattern(9).write(to: temporary.appending(path: "x"))
            }
        }.removingTrees().believing(.makeDirectory, EEXIST)
            .believing(.open, ENOENT).believing(.list, ENOENT).believing(.unlink, ENOENT).believing(
                .removeDirectory, ENOENT),
    ]

    /// What somebody else may do to a tree meanwhile: remove or swap its entries. Folders were only read.
    private func removingTrees() -> Self {
        ignoring(.close).believing(.open, ENOTDIR, ELOOP).believing(.openAt, ENOENT, ENOTDIR, ELOOP)
            .believing(.unlinkAt, ENOENT, EISDIR, EPERM, ENOTEMPTY).believing(.unlink, EISDIR, EPERM)
            .believing(.removeDirectory, ENOTDIR)
    }

    // MARK: Descriptors of the caller

    static let descriptors: [Self] = [
        Self("write to a descriptor") { io, folder in
            let url = folder.appending(path: "file")
            let descriptor = Foundation.open(url.path, O_WRONLY | O_CREAT, 0o600)
            defer { Foundation.close(descriptor) }
            try await io.write(pattern(900), toDescriptor: descriptor, name: url.path)
            try expectSame(contents(of: url), pattern(900))
        },
        Self("read a descriptor", old()) { io, folder in
            let url = folder.appending(path: "file")
            let descriptor = Foundation.open(url.path, O_RDONLY)
            defer { Foundation.close(descriptor) }
            try expectSame(await io.readToEnd(descriptor: descriptor, name: url.path), pattern(300))
        },
        Self("write to a pipe that has room, and read it") { io, folder in
            var ends: [CInt] = [0, 0]
            _ = pipe(&ends)
            let (reader, writer) = (ends[0], ends[1])
            defer { Foundation.close(reader) }
            do {
                defer { Foundation.close(writer) }
                try await io.write(pattern(900), toDescriptor: writer, name: folder.path + "/pipe")
            }
            try expectSame(await io.readToEnd(descriptor: reader, name: folder.path + "/pipe"), pattern(900))
        },
        Self("write to a file that is not ready, and read it") { io, folder in
            let path = folder.path + "/file"
            let writer = open(path, O_WRONLY | O_CREAT, 0o600)
            let reader = open(path, O_RDONLY)
            defer {
                Foundation.close(reader)
                Foundation.close(writer)
            }
            try await io.write(pattern(900), toDescriptor: writer, name: path)
            try expectSame(await io.readToEnd(descriptor: reader, name: path), pattern(900))
        }.denyingOnce([.write: EAGAIN, .read: EAGAIN]),
    ]
}
