import Foundation
import SluiceFiles

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
            options.followingLinks = true
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
            // The name that was to go cannot, and neither can the new one then.
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
            // A caller that hears that it is gone believes it.
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
                options: .init(keeping: [.permissions, .times, .owner], durability: .fullAndDirectory))
        }.onlyReading().checking { directory, outcome in
            if outcome.isSuccess { return names(in: directory) == ["copy", "source"] ? nil : "is not there" }
            // A name that cannot be removed stays.
            let isStuck =
                outcome.fault.isLasting
                && [.unlinkAt, .removeDirectory, .openAt, .open, .list, .statusOfDescriptor, .status].contains(
                    outcome.fault.call)
            let isSmall = [.open, .statusOfDescriptor, .openAt, .list, .unlink, .removeDirectory, .status].contains(
                outcome.fault.call)
            return names(in: directory) == ["source"] || isStuck || isSmall ? nil : "leaves the copy"
        }.believing(.statusAt, ENOENT, ENOTDIR).believing(.readLinkAt, ENOENT)
            .believing(.changeMode, EPERM, EOPNOTSUPP).believing(.removeDirectory, ENOTDIR).withoutLists()
            // Another way to copy, and a second copy where a link cannot be made.
            .ignoring(.copyingClone).ignoring(.copyingCopyRange).ignoring(.copyingNextData).ignoring(.copyingNextHole)
            .ignoring(.linkAt).ignoring(.openAt).ignoring(.statusOfDescriptor),
        Self("watch a directory") { io, directory in
            var changes = try await io.changes(of: directory).makeAsyncIterator()
            makeFile("a", in: directory, "a")
            if try await changes.next()?.kind != .created { throw WrongResult("another change") }
        }.ignoring(.close),
    ]

    /// Deeper than the directories that are open concurrently, and a link below.
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

    /// Directories are closed without a word, and what is in them may go at any time.
    private func onlyReading() -> Self {
        ignoring(.close).believing(.readEntries, ENOENT).believing(.openAt, ENOENT, ENOTDIR, ELOOP)
    }
}
