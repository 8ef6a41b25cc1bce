import Foundation
import SluiceFiles

// The table of operations, by topic. Add each new operation here; otherwise, `operations reach every call of the seam` fails.
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
            // Inline, or on the pool if the file system doesn't support such reads.
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

    /// Returns a complaint about files that shouldn't be left. A name that can't be removed may stay.
    static func left(beside wanted: Set<String>, in directory: URL, _ outcome: Outcome) -> String? {
        let left = Set(names(in: directory)).subtracting(wanted)
        if left.isEmpty || (outcome.fault.call == .unlink && outcome.fault.isLasting) { return nil }
        // A temporary file that couldn't be locked or inspected isn't ours to remove.
        if left == ["file.part"], [.lock, .statusOfDescriptor, .status].contains(outcome.fault.call) { return nil }
        return "leaves \(left.sorted())"
    }

    /// If a lookup fails, the file is new. If a name is taken, the next is tried. The directory was only read.
    private func passingOverWhatAtomicWritesDo() -> Self {
        believing(.status, ENOENT, ENOTDIR).believing(.open, EEXIST).ignoring(.close, at: 1).withoutLists()
    }

    /// The file has no access control list, or the file system doesn't support them.
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
            // The next chunk, which is read ahead but not requested.
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
                // The directory, which was only read. If the file is gone after the lock was taken, it is reopened.
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
                removesOnFailure: removing)
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

// MARK: - Random access

extension FaultedOperation {
    // MARK: Random access and positions

    static let randomAccess: [Self] = [
        Self("read at offsets", old()) { io, directory in
            try await directory.appending(path: "file").withRandomAccessFile(using: io) { file in
                try await file.advise(.random)
                try expectSame(await file.read(at: 100, upToCount: 100), pattern(300)[100..<200])
                try expectSame(await file.read(at: 250, upToCount: 1 << 20), pattern(300)[250...])
                var memory = [UInt8](repeating: 0, count: 300)
                var span = memory.mutableSpan
                var bytes = span.mutableBytes
                if try await file.read(at: 0, into: &bytes) != 300 { throw WrongResult("too few bytes") }
                try expectSame(Data(memory), pattern(300))
            }
            // EWOULDBLOCK means that another process has a lease, which it then gives up.
        }.believing(.open, EWOULDBLOCK),
        Self("read at offsets without RWF_NOWAIT", old()) { io, directory in
            try await directory.appending(path: "file").withRandomAccessFile(using: io) { file in
                try expectSame(await file.read(at: 100, upToCount: 300), pattern(300)[100...])
            }
        }.denying([.inlineRead: EOPNOTSUPP]).believing(.open, EWOULDBLOCK),
        Self("write at offsets", old()) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.readWrite, using: io) { file in
                try await file.preallocate(0..<5000)
                try await file.write(pattern(700), at: 1000)
                try await file.punchHole(1100..<1200)
                try await file.truncate(to: 1500)
                try await file.sync(.fullAndDirectory)
                if try await file.size != 1500 { throw WrongResult("another size") }
            }
            let written = pattern(100) + Data(count: 100) + pattern(700)[200..<500]
            try expectSame(contents(of: url), pattern(300) + Data(count: 700) + written)
        }
        .checking { directory, _ in
            contents(of: directory.appending(path: "file")).starts(with: pattern(300)) ? nil : "what was there is gone"
        }
        // The directory, which was only read.
        .ignoring(.close, at: 0).believing(.open, EWOULDBLOCK),
        Self("create for random access") { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createNew, using: io) { file in
                try await file.write(pattern(700), at: 0)
            }
            try expectSame(contents(of: url), pattern(700))
        }.believing(.open, EWOULDBLOCK),
        Self("seek in streams", old()) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withFileForReading(using: io) { stream in
                try await stream.seek(to: 200)
                try expectSame(await stream.readToEnd(), pattern(300)[200...])
                if try await stream.position != 300 { throw WrongResult("another position") }
            }
            try await url.withFileForWriting(using: io) { stream in
                try await stream.preallocate(upTo: 1000)
                try await stream.seek(to: 5)
                try await stream.write(pattern(5))
            }
            try expectSame(contents(of: url), Data(count: 5) + pattern(5))
        },
        Self("map a file", old()) { io, directory in
            try await directory.appending(path: "file").withMappedFile(using: io) { file in
                try await file.advise(.random)
                try await file.prefetch()
                try expectSame(file.bytes.withUnsafeBytes { Data($0) }, pattern(300))
            }
            // If the pages are not available immediately, they are touched.
        }.believing(.open, EWOULDBLOCK).believing(.populate, EINVAL, ENOSYS).ignoring(.close).ignoring(.unmap),
        Self("map a file and touch it", old()) { io, directory in
            try await directory.appending(path: "file").withMappedFile(using: io) { try await $0.prefetch() }
        }.denying([.populate: EINVAL]).believing(.open, EWOULDBLOCK).believing(.populate, EINVAL, ENOSYS).ignoring(
            .close
        ).ignoring(.unmap),
        Self("map an empty file", old("other")) { io, directory in
            try Data().write(to: directory.appending(path: "file"))
            try await directory.appending(path: "file").withMappedFile(using: io) { file in
                if file.count != 0 { throw WrongResult("has bytes") }
            }
        }.believing(.open, EWOULDBLOCK).ignoring(.close),
    ]
}

// MARK: - Checkpoints

extension FaultedOperation {
    static let checkpoints: [Self] = [
        Self("checkpointed file: from opening to publishing", checkpointed) { io, directory in
            guard
                let opened = try await CheckpointedFile.openLocked(places(directory), mode: .ifCheckpointed, using: io)
            else {
                throw WrongResult("not opened")
            }
            if opened.size != 300 || opened.checkpoint != Data("old".utf8) {
                throw WrongResult("opened something else")
            }
            let file = opened.file
            do {
                if try await file.append([pattern(100), pattern(700)]) != 1100 { throw WrongResult("another size") }
                try await file.sync(.data, thenStoring: Data("new".utf8))
                try await file.truncate(to: 900)
                try await file.removeCheckpoint()
            } catch {
                try? await file.close(appending: [], durability: .none) { _ in nil }
                throw error
            }
            try await file.publish(
                as: directory.appending(path: "whole"), existing: .fail, durability: .data, removesOnFailure: false)
        }.checking { directory, _ in
            let checkpoint = directory.appending(path: "song.check")
            let isThere = names(in: directory).contains("song.check")
            return !isThere || ["old", "new"].map({ Data($0.utf8) }).contains(contents(of: checkpoint))
                ? nil : "the checkpoint is neither old nor new"
        }.believingCheckpoints().ignoring(.close, at: 0, 2, 3)
            // The empty file that reveals the rights of a new file. Its name is unique, and there may be no room for it.
            .believing(.open, EEXIST, ENOSPC, EDQUOT).ignoring(.unlink, at: 1),
        Self("checkpointed file: closed with a checkpoint", checkpointed) { io, directory in
            let opened = try await CheckpointedFile.openLocked(places(directory), mode: .always, using: io)
            try await opened?.file.close(appending: [pattern(10)], durability: .full) { _ in Data("new".utf8) }
        }.believingCheckpoints(),
        Self("checkpointed file: discarded", checkpointed) { io, directory in
            let opened = try await CheckpointedFile.openLocked(places(directory), mode: .always, using: io)
            await opened?.file.discard()
        }
        // Discarding doesn't report failures.
        .believingCheckpoints().ignoring(.status).ignoring(.unlink).ignoring(.close),
        Self("checkpointed file: removed", checkpointed) { io, directory in
            if try await !CheckpointedFile.removeUnlessLocked(places(directory), using: io) {
                throw WrongResult("locked")
            }
            if !names(in: directory).isEmpty { throw WrongResult("is still there") }
        }.believingCheckpoints().ignoring(.close).ignoring(.startThread)
            .believing(.lock, EWOULDBLOCK).believing(.open, EWOULDBLOCK).believing(.unlink, ENOENT),
        Self("checkpointed file: looked at when published", checkpointed) { io, directory in
            let found = try await CheckpointedFile.look(
                at: directory.appending(path: "song.part"), of: places(directory), using: io)
            if found.status?.size != 300 || found.checkpoint == nil { throw WrongResult("not found") }
        }.believingCheckpoints().ignoring(.close),
    ]

    private static func places(_ directory: URL) -> CheckpointedFile.Places {
        .init(
            file: directory.appending(path: "song.part"), checkpoint: directory.appending(path: "song.check"),
            temporary: directory.appending(path: "song.check-new"))
    }

    private static let checkpointed: @Sendable (URL) throws -> Void = { directory in
        try pattern(300).write(to: directory.appending(path: "song.part"))
        try Data("old".utf8).write(to: directory.appending(path: "song.check"))
    }

    /// A checkpoint is missing, or a file with its name isn't a checkpoint. It is only read.
    private func believingCheckpoints() -> Self {
        // A file that others can open is made private, if possible.
        withoutLists().ignoring(.changeMode, at: 0).believing(.status, ENOENT, ENOTDIR).believing(
            .open, EEXIST, ENOENT, ELOOP, ENXIO, ENODEV, EOPNOTSUPP
        )
        .ignoring(
            .close, at: 0)
    }
}
