import Foundation
import SluiceFiles

extension FaultedOperation {
    // MARK: Copies

    static let copies: [Self] =
        [Durability.none, .data, .full, .fullAndDirectory].map { durability in
            // The closes of the original and of the directory, which were only read.
            copying("copy over, \(durability)", .init(durability: durability)).ignoring(.close, at: 1, 2)
        } + [
            copying("copy, not over", .init(existing: .fail), over: false).ignoring(.close, at: 1),
            copying("copy with all", .init(keeping: [.allButOwner, .owner])).ignoring(.close, at: 1)
                // Removed meanwhile, and a file system without attributes.
                .believing(.metadataAttribute, ENODATA).believing(.metadataListAttributes, EOPNOTSUPP),
            copying("copy by reading and writing", .init()).denying([.copyingCopyRange: EXDEV])
                .ignoring(.close, at: 1),
            copying("copy a file with holes", .init(), holes: true).denying([.copyingCopyRange: EXDEV])
                .ignoring(.close, at: 1),
            copying("copy without the mode", .init(keeping: [])).ignoring(.close, at: 1),
            Self("copy a link") { directory in
                try FileManager.default.createSymbolicLink(
                    atPath: directory.appending(path: "file").path, withDestinationPath: "nowhere")
            } run: { io, directory in
                let (from, to) = (directory.appending(path: "file"), directory.appending(path: "other"))
                let options = FileCopyOptions(
                    durability: .fullAndDirectory, existing: .replace, followingLinks: false,
                    keeping: [.allButOwner, .owner])
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
            if result.bytes != contents.count { throw WrongResult("\(result)") }
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
        // A unique name that is taken is another's: the next is tried.
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
            try await io.makeSymbolicLink(at: link, to: "file")
            if try await io.destination(ofSymbolicLink: link) != "file" { throw WrongResult("another target") }
            try await io.makeLink(at: name, to: link)
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
