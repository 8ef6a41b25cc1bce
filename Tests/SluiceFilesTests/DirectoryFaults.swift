import Foundation
import SluiceFiles

extension FaultedOperation {
    /// Folders and their entries, for the table in FaultOperations.
    static let folders: [Self] = [
        Self("list a folder", old()) { io, folder in
            if try await io.entries(of: folder).map(\.name) != ["file"] { throw WrongResult("other entries") }
        }.onlyReading(),
        Self("list a folder entry by entry", old()) { io, folder in
            var count = 0
            for try await _ in io.listing(of: folder) { count += 1 }
            if count != 1 { throw WrongResult("\(count) entries") }
        }.onlyReading(),
        Self("walk a tree", deepTree) { io, folder in
            var options = WalkOptions()
            options.leavingFolders = true
            for try await _ in io.walk(folder, options: options) {}
        }.onlyReading(),
        Self("walk a tree and follow links", deepTree) { io, folder in
            var options = WalkOptions()
            options.followingLinks = true
            for try await _ in io.walk(folder, options: options) {}
        }.onlyReading(),
        Self("use an entry", old()) { io, folder in
            for entry in try await io.entries(of: folder) {
                if try await entry.status()?.size != 300 { throw WrongResult("another size") }
                let renamed = try await entry.rename(to: "new").rename(to: "newer", existing: .replace)
                let input = try await renamed.openForReading()
                try await input.close()
                let output = try await renamed.openForWriting()
                try await output.close()
                try await renamed.remove()
            }
        }.onlyReading().checking { folder, outcome in
            !outcome.isSuccess || outcome.fault.call == .readEntries || names(in: folder).isEmpty ? nil : "is there"
        }.believing(.statusAt, ENOENT, ENOTDIR).believing(.unlinkAt, EISDIR, EPERM),
        Self("rename an entry where renameat2 is missing", old()) { io, folder in
            for entry in try await io.entries(of: folder) { try await entry.rename(to: "new") }
        }.denying([.renameAtWithoutReplacing: ENOSYS]).onlyReading().checking { folder, outcome in
            // The name that was to go cannot, and neither can the new one then.
            if outcome.fault.call == .unlinkAt && outcome.fault.isLasting { return nil }
            return names(in: folder).count == 1 ? nil : "has \(names(in: folder))"
        },
        Self("rename the entry of a folder where renameat2 is missing", madeFolder) { io, folder in
            for entry in try await io.entries(of: folder) { try await entry.rename(to: "new") }
        }.denying([.renameAtWithoutReplacing: ENOSYS]).believing(.linkAt, EPERM).onlyReading()
            .checking { folder, outcome in
                names(in: folder).count == 1 ? nil : "has \(names(in: folder))"
            },
        Self("temporary file") { io, folder in
            try await io.withTemporaryFile(in: folder) { _ in }
        }.checking { folder, outcome in
            // Whoever hears that it is gone believes it.
            if outcome.fault.error == ENOENT { return nil }
            return outcome.isSuccess && !names(in: folder).isEmpty ? "is still there" : nil
        }.believing(.open, EEXIST, ENOENT, ENOTDIR, ELOOP).ignoring(.close).believing(.unlink, ENOENT, EISDIR, EPERM)
            .believing(.removeDirectory, ENOTDIR),
        Self("remove the tree of an entry", deepTree) { io, folder in
            for entry in try await io.entries(of: folder) { try await entry.removeTree() }
        }.onlyReading().believing(.list, ENOENT).believing(.unlinkAt, ENOENT, EISDIR, EPERM, ENOTEMPTY, ENOTDIR),
        Self("copy a tree") { folder in
            let source = folder.appending(path: "source")
            try FileManager.default.createDirectory(
                at: source.appending(path: "inner"), withIntermediateDirectories: true)
            try pattern(300).write(to: source.appending(path: "inner/file"))
            _ = Foundation.link(source.appending(path: "inner/file").path, source.appending(path: "second").path)
            _ = Foundation.symlink("nowhere", source.appending(path: "link").path)
            _ = mkfifo(source.appending(path: "fifo").path, 0o600)
        } run: { io, folder in
            try await io.copyTree(
                folder.appending(path: "source"), to: folder.appending(path: "copy"),
                options: .init(keeping: [.permissions, .times, .owner], durability: .fullAndDirectory))
        }.onlyReading().checking { folder, outcome in
            if outcome.isSuccess { return names(in: folder) == ["copy", "source"] ? nil : "is not there" }
            // A name that cannot be removed stays.
            let isStuck =
                outcome.fault.isLasting
                && [.unlinkAt, .removeDirectory, .openAt, .open, .list, .statusOfDescriptor, .status].contains(
                    outcome.fault.call)
            let isSmall = [.open, .statusOfDescriptor, .openAt, .list, .unlink, .removeDirectory, .status].contains(
                outcome.fault.call)
            return names(in: folder) == ["source"] || isStuck || isSmall ? nil : "leaves the copy"
        }.believing(.statusAt, ENOENT, ENOTDIR).believing(.readLinkAt, ENOENT)
            .believing(.changeMode, EPERM, EOPNOTSUPP).believing(.removeDirectory, ENOTDIR)
            // Another way to copy, and a second copy where a link cannot be made.
            .ignoring(.copyingClone).ignoring(.copyingCopyRange).ignoring(.copyingNextData).ignoring(.copyingNextHole)
            .ignoring(.linkAt).ignoring(.openAt).ignoring(.statusOfDescriptor),
        Self("watch a folder") { io, folder in
            var changes = try await io.changes(of: folder).makeAsyncIterator()
            makeFile("a", in: folder, "a")
            if try await changes.next()?.kind != .created { throw WrongResult("another change") }
        }.ignoring(.close),
    ]

    /// Deeper than the folders that are open at once, and a link below.
    private static let deepTree: @Sendable (URL) throws -> Void = { folder in
        var level = folder
        for _ in 0..<18 {
            level = level.appending(path: "n")
            try FileManager.default.createDirectory(at: level, withIntermediateDirectories: false)
        }
        try pattern(3).write(to: level.appending(path: "file"))
        try FileManager.default.createSymbolicLink(
            atPath: level.appending(path: "link").path, withDestinationPath: folder.path + "/n/n")
    }

    /// Folders are closed without a word, and what is in them may go at any time.
    private func onlyReading() -> Self {
        ignoring(.close).believing(.readEntries, ENOENT).believing(.openAt, ENOENT, ENOTDIR, ELOOP)
    }
}
