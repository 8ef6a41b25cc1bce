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
/// The file is locked from opening to closing, and the lock covers the checkpoint too. The caller defines the contents of the
/// checkpoint. This type guarantees that a checkpoint is replaced atomically, and only after the bytes that it describes are
/// synced.
///
/// Only one operation may run at a time, except that ``sync(_:thenStoring:)`` may run concurrently with ``append(_:)``.
package final class CheckpointedFile: Sendable {
    package struct Places: Sendable, Hashable {
        package var file: URL
        package var checkpoint: URL
        /// The temporary file for the next checkpoint. If it exists after the process was killed, it is ignored.
        package var temporary: URL

        package init(file: URL, checkpoint: URL, temporary: URL) {
            self.file = file
            self.checkpoint = checkpoint
            self.temporary = temporary
        }
    }

    package enum OpeningMode: Sendable {
        /// Open the file in any case. A missing file is created.
        case always
        /// Open the file only if something has the checkpoint's name.
        case ifCheckpointed
    }

    package struct Opened: Sendable {
        package var file: CheckpointedFile
        package var size: Int64
        /// The contents of the checkpoint, or `nil` if it is missing, longer than the limit, or not a regular file.
        package var checkpoint: Data?
        /// Whether something has the checkpoint's name.
        package var isCheckpointed: Bool
        /// Whether that is a checkpoint of the caller.
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
    /// Until it is published, only its owner can open the file. Neither its contents nor its mode change if it isn't empty and has no
    /// checkpoint of the caller, because it may be a user's file with the same name. If the file has further names (hard links), these keep
    /// it, and a new file is created. Symbolic links aren't followed. An invalid checkpoint isn't an error. Throws
    /// ``FileError/Code/locked`` if the file is locked.
    ///
    /// - Parameter isOwn: Whether a checkpoint is one of the caller. A checkpoint that can't be read isn't.
    package static func openLocked(
        _ places: Places, mode: OpeningMode, using files: FileIO,
        ifCheckpoint isOwn: @escaping @Sendable (Data) -> Bool = { _ in true }
    ) async throws -> Opened? {
        let paths = try Paths(places)
        return try await files.run { _ in
            let kernel = files.kernel
            if mode == .ifCheckpointed, try kernel.status(of: paths.checkpoint, followingLinks: false) == nil {
                return nil
            }
            var opened = try kernel.openToAppend(paths.file, truncating: false)
            if opened.status.links > 1 {
                kernel.closeQuietly(opened.descriptor, isLocked: opened.isLocked)
                opened = try kernel.openToAppend(paths.file, truncating: true)
            }
            let file = CheckpointedFile(OpenFile(opened, files), paths, boot: BootIdentity.read(kernel))
            let size = try kernel.status(ofDescriptor: opened.descriptor, paths.file).size
            let isCheckpointed = try kernel.status(of: paths.checkpoint, followingLinks: false) != nil
            let checkpoint = isCheckpointed ? try kernel.readCheckpoint(paths.checkpoint) : nil
            let hasOwn = checkpoint.map(isOwn) == true
            if hasOwn || (size == 0 && !isCheckpointed) { kernel.makePrivate(opened) }
            return Opened(
                file: file, size: size, checkpoint: checkpoint, isCheckpointed: isCheckpointed, isOwn: hasOwn)
        }
    }

    // MARK: Writing

    /// Appends all chunks and returns the new size of the file. After an error, some of the bytes may have been written.
    package func append(_ chunks: [Data]) async throws -> Int64 {
        try await file.io.run { [file] _ in
            try chunks.withGatheredBytes { try file.io.kernel.write(file.descriptor, pieces: $0, file.path) }
            return try file.io.kernel.status(ofDescriptor: file.descriptor, file.path).size
        }
    }

    package func truncate(to size: Int64) async throws {
        try await file.io.run { [file] _ in
            let kernel = file.io.kernel
            try kernel.check(kernel.retrying { kernel.calls.truncate(file.descriptor, size) }, "truncate", file.path)
        }
    }

    // MARK: Checkpoints

    /// Replaces the checkpoint atomically, with this durability. After an error, the old checkpoint is unchanged.
    package func store(_ checkpoint: Data, durability: Durability) async throws {
        try await file.io.run { [self] _ in try replaceCheckpoint(with: checkpoint, durability) }
    }

    /// Syncs the bytes that were appended before this call, then replaces the checkpoint. After a failed sync, see
    /// ``isDamaging(_:)``.
    package func sync(_ durability: Durability, thenStoring checkpoint: Data) async throws {
        try await file.io.run { [self] _ in
            try file.io.kernel.sync(file.descriptor, durability, file.path)
            try replaceCheckpoint(with: checkpoint, durability)
        }
    }

    /// Removes the checkpoint and syncs the directory, so a power failure can't restore a checkpoint that no longer matches the bytes.
    package func removeCheckpoint() async throws {
        try await file.io.run { [self] _ in
            try file.io.kernel.remove(paths.checkpoint)
            try file.io.kernel.syncDirectory(of: paths.checkpoint)
        }
    }

    func replaceCheckpoint(with bytes: Data, _ durability: Durability) throws {
        // Mode 0600, because the checkpoint reveals what is downloaded.
        let options = FileWriteOptions(
            durability: durability, existing: .replace, temporaryName: String(Path.name(of: paths.temporary)),
            permissions: 0o600)
        try bytes.withUnsafeBytes { try file.io.kernel.replaceFile(paths.checkpoint, with: $0, options) }
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

extension Kernel {
    /// Opens a file. If it is created, only its owner can open it, because the file that it will replace may be private.
    fileprivate func openToAppend(_ path: String, truncating: Bool) throws(FileError) -> OpenedFile {
        try openLocked(
            path, flags: O_WRONLY | O_CREAT | O_APPEND, permissions: Self.privateFile, truncating: truncating,
            for: "open")
    }

    /// Takes the access of others from a file that another program or an older version has created. If the mode can't be set, the file
    /// keeps its own.
    fileprivate func makePrivate(_ opened: OpenedFile) {
        let mode = opened.status.permissions
        if mode & 0o077 != 0 { _ = retrying { calls.changeMode(opened.descriptor, mode & 0o700) } }
    }

    /// Returns the contents of a checkpoint, or `nil` if it is missing, isn't a regular file, or is too long.
    func readCheckpoint(_ path: String) throws(FileError) -> Data? {
        let descriptor: CInt
        do {
            // Links aren't followed, and a FIFO isn't waited for.
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
