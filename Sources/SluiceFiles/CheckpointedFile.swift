internal import CSluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A file that is appended to over several runs of a program, and a checkpoint: a small file that describes its contents.
///
///     guard let opened = try await CheckpointedFile.openLocked(places, mode: .always, using: files) else { return }
///     let size = try await opened.file.append(chunks)
///     try await opened.file.sync(.data, thenStoring: checkpoint)
///     try await opened.file.close(appending: rest, durability: .data) { size in checkpoint(of: size) }
///
/// The file stays locked from open to close, and the lock covers the checkpoint too. The caller decides what the checkpoint contains. This
/// type guarantees that a checkpoint is replaced atomically, and only after the bytes that it describes are synced.
///
/// Only one operation may run at a time, except that ``sync(_:thenStoring:)`` may run concurrently with ``append(_:)`` and ``write(_:at:)``.
package final class CheckpointedFile: Sendable {
    package struct Places: Sendable, Hashable {
        package var file: URL
        package var checkpoint: URL
        /// The temporary file for the next checkpoint. One that a killed process left behind is ignored.
        package var temporary: URL

        package init(file: URL, checkpoint: URL, temporary: URL) {
            self.file = file
            self.checkpoint = checkpoint
            self.temporary = temporary
        }
    }

    package enum OpeningMode: Sendable {
        /// Always open the file. A missing file is created.
        case always
        /// Open the file only if something exists under the checkpoint's name.
        case ifCheckpointed
    }

    package struct Opened: Sendable {
        package var file: CheckpointedFile
        package var size: Int64
        /// The contents of the checkpoint, or `nil` if it is missing, longer than the limit, or not a regular file.
        package var checkpoint: Data?
        /// Whether something exists under the checkpoint's name.
        package var isCheckpointed: Bool
        /// Whether it is one of the caller's checkpoints.
        package var isOwn: Bool
    }

    /// The largest size of a checkpoint in bytes. A longer one wasn't written by this program.
    package static let maximumCheckpointSize = 16 << 10

    let file: OpenFile
    let paths: Paths

    package let identity: FileIdentity
    package let boot: String?

    private init(_ file: OpenFile, _ paths: Paths, boot: String?) {
        self.file = file
        self.paths = paths
        identity = FileIdentity(file.status)
        self.boot = boot
    }

    /// Opens and locks the file, and reads its checkpoint.
    ///
    /// Until the file is published, only its owner can open it. If it isn't empty and doesn't have one of the caller's checkpoints, neither
    /// its contents nor its mode change, because it may be a user's file with the same name. If the file has other hard links, they keep
    /// it, and a new file is created. Symbolic links aren't followed. An invalid checkpoint isn't an error. Throws
    /// ``FileError/Code/locked`` if the file is locked.
    ///
    /// - Parameter isOwn: Whether a checkpoint is one of the caller's. An unreadable checkpoint isn't.
    package static func openLocked(
        _ places: Places, mode: OpeningMode, using files: FileIO,
        ifCheckpoint isOwn: @escaping @Sendable (Data) -> Bool = { _ in true }
    ) async throws -> Opened? {
        let paths = try Paths(places)
        return try await files.run { _ in
            let system = files.system
            if mode == .ifCheckpointed, try system.status(of: paths.checkpoint, followsLinks: false) == nil {
                return nil
            }
            var opened = try system.openToAppend(paths.file, truncating: false)
            if opened.status.links > 1 {
                system.closeQuietly(opened.descriptor, isLocked: opened.isLocked)
                opened = try system.openToAppend(paths.file, truncating: true)
            }
            let file = CheckpointedFile(OpenFile(opened, files), paths, boot: BootIdentity.read(system))
            let size = try system.status(ofDescriptor: opened.descriptor, paths.file).size
            let isCheckpointed = try system.status(of: paths.checkpoint, followsLinks: false) != nil
            let checkpoint = isCheckpointed ? try system.readCheckpoint(paths.checkpoint) : nil
            let hasOwn = checkpoint.map(isOwn) == true
            if hasOwn || (size == 0 && !isCheckpointed) { system.makePrivate(opened) }
            return Opened(
                file: file, size: size, checkpoint: checkpoint, isCheckpointed: isCheckpointed, isOwn: hasOwn)
        }
    }

    // MARK: Writing

    /// Appends all chunks and returns the new size of the file. After an error, some of the bytes may have been written.
    package func append(_ chunks: [Data]) async throws -> Int64 {
        try await file.io.run { [file] _ in
            try chunks.withGatheredBytes { try file.io.system.write(file.descriptor, pieces: $0, file.path) }
            return try file.io.system.status(ofDescriptor: file.descriptor, file.path).size
        }
    }

    package func truncate(to size: Int64) async throws {
        try await file.io.run { [file] _ in
            try file.io.system.truncate(file.descriptor, to: size, file.path)
        }
    }

    /// Reserves the space for a file of `size` bytes, so that ``write(_:at:)`` can write it in any order. Afterward, nothing can be appended.
    ///
    /// Returns `false`, and changes nothing, if the file system can't reserve space. A file with holes would be slow, and could run out of
    /// space in the middle.
    package func reserve(_ size: Int64) async throws -> Bool {
        try await file.io.run { [file] _ in
            let system = file.io.system
            do {
                try system.preallocate(file.descriptor, 0..<size, keepsSize: false, file.path)
            } catch let error as FileError where error.code == .unsupported {
                return false
            }
            // With O_APPEND, Linux appends even what is written at an offset (pwrite(2), "BUGS").
            let flags = system.calls.readiness.flags(file.descriptor)
            try system.check(flags, "read the flags of", file.path)
            try system.check(
                system.calls.readiness.setFlags(file.descriptor, flags & ~O_APPEND), "set the flags of", file.path)
            return true
        }
    }

    /// Writes all chunks at an offset, after ``reserve(_:)``. Several writes may run concurrently. After an error, some of the bytes may have
    /// been written.
    package func write(_ chunks: [Data], at offset: Int64) async throws {
        try await file.io.run { [file] _ in
            var offset = offset
            for chunk in chunks {
                try chunk.withUnsafeBytes { try file.io.system.write(file.descriptor, $0, at: offset, file.path) }
                offset += Int64(chunk.count)
            }
        }
    }

    // MARK: Checkpoints

    /// Replaces the checkpoint atomically, with this durability. After an error, the old checkpoint is unchanged.
    package func store(_ checkpoint: Data, durability: Durability) async throws {
        try await file.io.run { [self] _ in try replaceCheckpoint(with: checkpoint, durability) }
    }

    /// Syncs the bytes that were appended before this call, then replaces the checkpoint. If the sync fails, see ``isDamaging(_:)``.
    package func sync(_ durability: Durability, thenStoring checkpoint: Data) async throws {
        try await file.io.run { [self] _ in
            try file.io.system.sync(file.descriptor, durability, file.path)
            try replaceCheckpoint(with: checkpoint, durability)
        }
    }

    /// Removes the checkpoint and syncs the directory, so a power failure can't restore a checkpoint that no longer matches the bytes.
    package func removeCheckpoint() async throws {
        try await file.io.run { [self] _ in
            try file.io.system.remove(paths.checkpoint)
            try file.io.system.syncDirectory(of: paths.checkpoint)
        }
    }

    private func replaceCheckpoint(with bytes: Data, _ durability: Durability) throws {
        // Mode 0600, because the checkpoint reveals what the user downloads.
        let options = FileWriteOptions(
            durability: durability, existing: .replace, temporaryName: String(Path.name(of: paths.temporary)),
            permissions: 0o600)
        try bytes.withUnsafeBytes { try file.io.system.replaceFile(paths.checkpoint, with: $0, options) }
    }
}

extension CheckpointedFile {
    struct Paths: Sendable {
        var file: String
        var checkpoint: String
        var temporary: String

        init(_ places: Places) throws(FileError) {
            file = try Path.of(places.file, for: "open")
            checkpoint = try Path.of(places.checkpoint, for: "open")
            temporary = try Path.of(places.temporary, for: "open")
        }
    }
}

extension SystemInterface {
    /// Opens a file. If it is created, only its owner can open it, because the file that it will replace may be private.
    fileprivate func openToAppend(_ path: String, truncating: Bool) throws(FileError) -> RawFile {
        try openLocked(
            path, flags: O_WRONLY | O_CREAT | O_APPEND, permissions: Self.privateFile, truncating: truncating,
            for: "open")
    }

    /// Takes away other users' access to a file that another program or an older version created. If the mode can't be set, the file keeps
    /// its old mode.
    fileprivate func makePrivate(_ opened: RawFile) {
        let mode = opened.status.permissions
        if mode & 0o077 != 0 { _ = retrying { calls.changeMode(opened.descriptor, mode & 0o700) } }
    }

    /// Returns the contents of a checkpoint, or `nil` if it is missing, isn't a regular file, or is too long.
    func readCheckpoint(_ path: String) throws(FileError) -> Data? {
        let descriptor: CInt
        do {
            // Don't follow links, and don't wait for a FIFO.
            descriptor = try open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch  where [ELOOP, ENOENT, ENXIO, EOPNOTSUPP, ENODEV].contains(error.systemError) {
            return nil
        }
        defer { closeQuietly(descriptor) }
        let limit = CheckpointedFile.maximumCheckpointSize
        let status = try status(ofDescriptor: descriptor, path)
        guard status.isRegularFile, status.size <= limit else { return nil }
        var bytes = ReadBuffer(expected: Int(status.size) + 1)
        while bytes.count <= limit {
            let wanted = limit + 1 - bytes.count
            let read = try bytes.append(atMost: wanted) { (free) throws(FileError) in
                try self.read(descriptor, into: free, path)
            }
            guard let read else { throw Self.outOfMemory(path) }
            if read == 0 { return bytes.data() }
        }
        return nil
    }
}

// MARK: - Finishing

// The ways to finish with a checkpointed file: keep it for a later run, discard it, or publish it. Each is one job. The first two run even
// if the task is cancelled.
extension CheckpointedFile {
    /// Returns whether an error means that written bytes may be missing, so the contents of the file can't be used. A failed sync may have
    /// dropped pages, and the kernel reports it only once: the next sync would succeed (fsync(2), "EIO").
    package static func isDamaging(_ error: FileError) -> Bool {
        error.code == .inputOutput || error.operation == "sync"
    }

    /// Keeps an unfinished file: appends the last chunks, syncs, replaces the checkpoint and closes the file.
    ///
    /// `checkpoint` receives the file's size and returns the new checkpoint, or `nil` to keep the old one. If the append fails, for example
    /// on a full disk, the bytes that were written still get a checkpoint before the method throws. If a later step fails, the file keeps
    /// the old checkpoint. A damaging failure removes the file and its checkpoint. The file is always closed.
    package func close(
        appending chunks: [Data], durability: Durability, checkpoint: @escaping @Sendable (Int64) -> Data?
    ) async throws {
        try await file.io.run(mustRun: true) { [self] _ in
            let system = file.io.system
            do {
                let written = Result {
                    try chunks.withGatheredBytes { try system.write(file.descriptor, pieces: $0, file.path) }
                }
                // The bytes that fit on a full disk get a checkpoint too.
                if case .failure(let error as FileError) = written, Self.isDamaging(error) { throw error }
                try system.sync(file.descriptor, durability, file.path)
                let size = try system.status(ofDescriptor: file.descriptor, file.path).size
                if let checkpoint = checkpoint(size) { try replaceCheckpoint(with: checkpoint, durability) }
                try written.get()
            } catch {
                if let error = error as? FileError, Self.isDamaging(error) { removeAll() }
                file.closeOnceQuietly()
                throw error
            }
            try file.closeOnce()
        }
    }

    /// Removes the file and its checkpoint, and closes the file. Runs even if the task is cancelled.
    package func discard() async {
        try? await file.io.run(mustRun: true) { [self] _ in
            removeAll()
            file.closeOnceQuietly()
        }
    }

    /// Closes the file without removing its checkpoint. The file itself is removed if it is empty.
    package func abandon() async {
        try? await file.io.run(mustRun: true) { [self] _ in
            let system = file.io.system
            if let found = try? system.status(of: file.path, followsLinks: false), found.isSameFile(as: file.status),
                found.size == 0
            {
                system.unlinkQuietly(paths.file)
            }
            file.closeOnceQuietly()
        }
    }

    /// Renames the file to its final name and closes it. The checkpoint stays. See `AsyncFileStream.publish(as:…)`. The file gets the
    /// rights of the file that it replaces. If it replaces none, an empty file is created to find out the rights of a new file. If the
    /// file system has no room for the empty file, only the owner can open the published file.
    package func publish(
        as destination: URL, existing: ExistingFile, durability: Durability, removesOnFailure: Bool
    ) async throws {
        try await AsyncFileStream<WriteMode>(file).publish(
            as: destination, existing, durability, newFile: (.newFile, paths.temporary),
            removesOnFailure: removesOnFailure)
    }

    /// Removes the checkpoint first: a file without one is written from scratch. Removes nothing if another file has taken the name.
    private func removeAll() {
        let system = file.io.system
        guard let found = try? system.status(of: file.path, followsLinks: false), found.isSameFile(as: file.status)
        else { return }
        system.unlinkQuietly(paths.checkpoint)
        system.unlinkQuietly(paths.temporary)
        system.unlinkQuietly(paths.file)
    }
}

// MARK: - Without opening

extension CheckpointedFile {
    /// Removes a file with its checkpoint, even if the task is cancelled. Returns false if the file is locked. Only a regular file is
    /// removed; a symbolic link stays. Throws a ``FileError`` if a file exists but can't be removed.
    ///
    /// - Parameter isOwn: Whether a checkpoint is one of the caller's. If it isn't, or if there is none, files with these names may belong
    ///   to a user, so only an empty file is removed.
    @discardableResult
    package static func removeUnlessLocked(
        _ places: Places, using files: FileIO, ifCheckpoint isOwn: (@Sendable (Data) -> Bool)? = nil
    ) async throws -> Bool {
        let paths = try Paths(places)
        return try await files.run(mustRun: true) { _ in
            let system = files.system
            var opened: RawFile?
            defer { if let opened { system.closeQuietly(opened.descriptor, isLocked: opened.isLocked) } }
            if try system.status(of: paths.file, followsLinks: false)?.isRegularFile == true {
                do {
                    // Without O_CREAT, so that a missing file isn't created here.
                    opened = try system.openLocked(
                        paths.file, flags: O_WRONLY, permissions: 0, truncating: false, for: "open")
                } catch let error as FileError where error.code == .locked {
                    return false
                } catch let error as FileError where error.code == .notFound {
                    // Renamed or removed since the check.
                }
            }
            if let isOwn, try system.readCheckpoint(paths.checkpoint).map(isOwn) != true {
                if opened?.status.size == 0 { try system.removeIfThere(paths.file) }
                return true
            }
            try system.removeIfThere(paths.checkpoint)
            try system.removeIfThere(paths.temporary)
            if opened != nil { try system.removeIfThere(paths.file) }
            return true
        }
    }

    /// What exists under a file's final name, and the evidence of whether it is the published file.
    package struct Destination: Sendable {
        /// `nil` if nothing has the name.
        package var status: FileStatus?
        /// The contents of the checkpoint, or `nil` if it is missing, longer than the limit, or not a regular file.
        package var checkpoint: Data?
        package var boot: String?
    }

    /// Checks the final name first, so that a file that is published after that counts as missing, never as one without a checkpoint.
    package static func look(
        at destination: URL, of places: Places, using files: FileIO
    ) async throws -> Destination {
        let paths = try Paths(places)
        let final = try Path.of(destination, for: "read the status of")
        return try await files.run { _ in
            let system = files.system
            guard let status = try system.status(of: final, followsLinks: false) else { return Destination() }
            let checkpoint = try system.readCheckpoint(paths.checkpoint)
            return Destination(
                status: FileStatus(status), checkpoint: checkpoint,
                boot: checkpoint == nil ? nil : BootIdentity.read(system))
        }
    }
}

extension SystemInterface {
    fileprivate func removeIfThere(_ path: String) throws(FileError) {
        do {
            try unlink(path)
        } catch  where error.code == .notFound {
            // The file is already removed.
        }
    }
}
