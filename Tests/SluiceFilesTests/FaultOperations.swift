import Foundation
import SluiceFiles

// The table of operations, by topic. An operation that is new gets an entry, or `reach every call of the seam` fails.
extension FaultedOperation {
    static let all =
        wholeFiles + streams + publishing + naming + trees + checkpoints + descriptors + randomAccess + directories
        + copies + metadata

    static func old(_ name: String = "file") -> @Sendable (URL) throws -> Void {
        { try pattern(300).write(to: $0.appending(path: name)) }
    }

    // MARK: Whole files

    static let wholeFiles: [Self] =
        [
            Self("read a whole file", old()) { io, directory in
                try expectSame(await Data(asyncContentsOf: directory.appending(path: "file"), using: io), pattern(300))
            },
            // Inline, and where the file system has no such reads, on the pool.
            Self("read a whole file again", old()) { io, directory in
                for _ in 0..<2 {
                    try expectSame(
                        await Data(asyncContentsOf: directory.appending(path: "file"), using: io), pattern(300))
                }
            }.ignoring(.statusOfDescriptor, at: 1).ignoring(.close, at: 1),
        ]
        + [Durability.none, .data, .full, .fullAndDirectory].flatMap { durability in
            [
                replacing("replace, \(durability)", .init(durability: durability)),
                replacing(
                    "replace under a temporary name, \(durability)",
                    .init(durability: durability, temporaryName: "file.part")),
                creating("create, \(durability)", .init(durability: durability, existing: .fail)),
            ]
        }
        + [
            creating("create where renameat2 is missing", .init(existing: .fail))
                .denying([.renameWithoutReplacing: ENOSYS]),
            creating("create under a temporary name", .init(existing: .fail, temporaryName: "file.part")),
        ]

    private static func replacing(_ name: String, _ options: FileWriteOptions) -> Self {
        Self(name) { directory in
            try old()(directory)
            chmod(directory.appending(path: "file").path, 0o640)
        } run: { io, directory in
            try await pattern(5000, seed: 1).asyncWrite(
                to: directory.appending(path: "file"), options: options, using: io)
        }.checking { directory, outcome in
            let file = directory.appending(path: "file")
            let isNew = same(contents(of: file), pattern(5000, seed: 1))
            if !isNew && !same(contents(of: file), pattern(300)) { return "neither old nor new" }
            if isNew != (outcome.isSuccess || !outcome.isBefore(.rename)) { return isNew ? "new" : "old" }
            if isNew && outcome.isSuccess && outcome.fault.call != .status && mode(of: file) != 0o640 {
                return "lost its mode"
            }
            return left(beside: ["file"], in: directory, outcome)
        }.passingOverWhatAtomicWritesDo()
    }

    private static func creating(_ name: String, _ options: FileWriteOptions) -> Self {
        Self(name) { io, directory in
            try await pattern(5000, seed: 1).asyncWrite(
                to: directory.appending(path: "file"), options: options, using: io)
        }.checking { directory, outcome in
            let file = directory.appending(path: "file")
            let isThere = names(in: directory).contains("file")
            if isThere && !same(contents(of: file), pattern(5000, seed: 1)) { return "not whole" }
            let isNamed = outcome.isSuccess || !outcome.isBeforeClaim
            if isThere != isNamed && !outcome.isStuckWithBothNames { return isThere ? "is there" : "is not there" }
            return left(beside: ["file"], in: directory, outcome)
        }.passingOverWhatAtomicWritesDo()
    }

    /// What lies about that should not. A name that cannot be removed stays.
    static func left(beside wanted: Set<String>, in directory: URL, _ outcome: Outcome) -> String? {
        let left = Set(names(in: directory)).subtracting(wanted)
        if left.isEmpty || (outcome.fault.call == .unlink && outcome.fault.isLasting) { return nil }
        // A temporary that could not be locked or looked at is not ours to remove.
        if left == ["file.part"], [.lock, .statusOfDescriptor, .status].contains(outcome.fault.call) { return nil }
        return "leaves \(left.sorted())"
    }

    /// Nothing is there, and the file is new; a name is taken, and the next is tried; the directory was only read.
    private func passingOverWhatAtomicWritesDo() -> Self {
        believing(.status, ENOENT, ENOTDIR).believing(.open, EEXIST).ignoring(.close, at: 1).withoutLists()
    }

    /// No file has an access control list, or the file system has none.
    func withoutLists() -> Self {
        believing(.metadataAttribute, ENODATA, EOPNOTSUPP)
    }

    // MARK: Streams

    static let streams: [Self] =
        [
            Self("read a stream", old()) { io, directory in
                try await directory.appending(path: "file").withFileForReading(using: io) { stream in
                    try expectSame(await stream.read(upToCount: 100), pattern(300).prefix(100))
                    try expectSame(await stream.readToEnd(), pattern(300).dropFirst(100))
                }
            },
            Self("read chunks", old()) { io, directory in
                var read = Data()
                for try await chunk in directory.appending(path: "file").chunks(of: 128, using: io) { read += chunk }
                try expectSame(read, pattern(300))
            },
            Self("leave chunks early", old()) { io, directory in
                for try await chunk in directory.appending(path: "file").chunks(of: 128, using: io) {
                    try expectSame(chunk, pattern(300).prefix(128))
                    break
                }
            }
            // The next chunk, which is read ahead and not requested.
            .ignoring(.close).ignoring(.read, at: 1),
            Self("drop a stream", old()) { io, directory in
                let stream = try await directory.appending(path: "file").openForWriting(existing: .append, using: io)
                try await stream.write(pattern(10))
            }.ignoring(.close),
        ]
        + [false, true].flatMap { locked in
            [WriteOpening.replace, .append, .fail].map { opening in
                Self("write a stream, \(opening), \(locked ? "locked" : "no lock")") { directory in
                    if opening != .fail { try old()(directory) }
                } run: { io, directory in
                    let url = directory.appending(path: "file")
                    try await url.withFileForWriting(existing: opening, locked: locked, using: io) { stream in
                        try await stream.write(pattern(400))
                        try await stream.write([pattern(700), pattern(10), pattern(600)])
                        try await stream.sync(.data)
                        try await stream.sync(.fullAndDirectory)
                        if opening == .replace { try await stream.truncate(to: 1000) }
                    }
                    let written = pattern(400) + pattern(700) + pattern(10) + pattern(600)
                    let whole = (opening == .append ? pattern(300) : Data()) + written
                    try expectSame(contents(of: url), opening == .replace ? whole.prefix(1000) : whole)
                }.checking { directory, outcome in
                    if opening != .append { return nil }
                    return contents(of: directory.appending(path: "file")).starts(with: pattern(300))
                        ? nil : "what was there is gone"
                }
                // The directory, which was only read. A file that is gone after the lock was taken is opened again.
                .ignoring(.close, at: 0).believing(.status, ENOENT, ENOTDIR)
            }
        }

    // MARK: Publishing

    static let publishing: [Self] = [
        publish(removing: true, .replace, .none), publish(removing: true, .replace, .fullAndDirectory),
        publish(removing: true, .fail, .none), publish(removing: true, .fail, .fullAndDirectory),
        publish(removing: false, .replace, .none), publish(removing: false, .replace, .fullAndDirectory),
        publish(removing: false, .fail, .none), publish(removing: false, .fail, .fullAndDirectory),
        discarding,
    ]

    private static let discarding = Self("discard") { io, directory in
        let part = try await directory.appending(path: "part").openForWriting(locked: true, using: io)
        try await part.discard()
        if !names(in: directory).isEmpty { throw WrongResult("is still there") }
    }.ignoring(.close).believing(.status, ENOENT, ENOTDIR)

    private static func publish(removing: Bool, _ existing: ExistingFile, _ durability: Durability) -> Self {
        Self("publish, \(existing), \(durability)\(removing ? ", removing on failure" : "")") { directory in
            if existing == .replace { try old()(directory) }
        } run: { io, directory in
            let part = try await directory.appending(path: "part").openForWriting(locked: true, using: io)
            do {
                try await part.write(pattern(900))
            } catch {
                try? await part.discard()
                throw error
            }
            try await part.publish(
                as: directory.appending(path: "file"), existing: existing, durability: durability,
                removingOnFailure: removing)
        }.checking { directory, outcome in
            let file = contents(of: directory.appending(path: "file"))
            let isNew = same(file, pattern(900))
            let wasThere = existing == .replace ? same(file, pattern(300)) : !names(in: directory).contains("file")
            if !isNew && !wasThere { return "neither old nor new" }
            let isNamed = existing == .replace ? !outcome.isBefore(.rename) : !outcome.isBeforeClaim
            if isNew != (outcome.isSuccess || isNamed), !outcome.isStuckWithBothNames { return isNew ? "new" : "old" }
            return nil
        }
        .believing(.status, ENOENT, ENOTDIR).ignoring(.close, at: durability == .fullAndDirectory ? 0 : -1)
        .withoutLists()
    }
}
