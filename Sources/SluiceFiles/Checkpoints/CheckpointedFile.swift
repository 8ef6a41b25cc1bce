internal import CSluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A file that is appended to over several runs of a program, with a small file beside it that says what it holds.
///
///     guard let opened = try await CheckpointedFile.openLocked(places, mode: .always, using: files) else { return }
///     let size = try await opened.file.append(chunks)
///     try await opened.file.sync(.data, thenStoring: checkpoint)
///     try await opened.file.close(appending: rest, durability: .data) { size in checkpoint(of: size) }
///
/// The file is locked from its opening to its end, and with it the checkpoint. What the checkpoint says is its owner's
/// business; this type promises the order: it is replaced whole or not at all, and only after what it vouches for.
///
/// Operations come one after the other, but for ``sync(_:thenStoring:)``, which may run beside ``append(_:)``.
package final class CheckpointedFile: Sendable {
    /// The names, in one directory.
    package struct Places: Sendable, Hashable {
        /// The file itself.
        package var file: URL
        /// What is said about it.
        package var checkpoint: URL
        /// The next checkpoint while it is written. A killed process may leave it; it means nothing.
        package var temporary: URL

        package init(file: URL, checkpoint: URL, temporary: URL) {
            self.file = file
            self.checkpoint = checkpoint
            self.temporary = temporary
        }
    }

    /// When a file is opened at all.
    package enum OpeningMode: Sendable {
        /// Always; one that is missing is created.
        case always
        /// Only where there is a checkpoint, or something else under its name.
        case ifCheckpointed
    }

    /// A file, and what was found with it.
    package struct Opened: Sendable {
        package var file: CheckpointedFile
        /// The bytes in the file.
        package var size: Int64
        /// The checkpoint's bytes; nil where it is missing, longer than the limit, or not a regular file.
        package var checkpoint: Data?
        /// Whether anything has the checkpoint's name.
        package var isCheckpointed: Bool
    }

    /// The most bytes that a checkpoint has: what is longer was not written by this program.
    package static let maximumCheckpointSize = 16 << 10

    let file: OpenFile
    let paths: Paths

    /// What the file is told by.
    package let identity: FileIdentity
    /// This run of the system, where it says.
    package let boot: String?

    private init(_ file: OpenFile, _ paths: Paths, boot: String?) {
        self.file = file
        self.paths = paths
        identity = FileIdentity(file.status)
        self.boot = boot
    }

    /// Opens and locks the file, without changing it, and reads its checkpoint.
    ///
    /// A file with further names (hard links) is left to these and created again. Links are not followed, neither to the file nor
    /// to the checkpoint.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``, ``FileError/Code/locked`` among them. A checkpoint that makes no sense is no failure.
    package static func openLocked(
        _ places: Places, mode: OpeningMode, using files: FileIO
    ) async throws -> Opened? {
        let paths = try Paths(places)
        return try await files.run { _ in
            let kernel = files.kernel
            if mode == .ifCheckpointed, try kernel.status(of: paths.checkpoint, followingLinks: false) == nil {
                return nil
            }
            var opened = try kernel.openToAppend(paths.file, truncating: false)
            if opened.status.links > 1 {
                kernel.closeQuietly(opened.descriptor)
                opened = try kernel.openToAppend(paths.file, truncating: true)
            }
            let file = CheckpointedFile(OpenFile(opened, files), paths, boot: BootIdentity.read(kernel))
            let size = try kernel.status(ofDescriptor: opened.descriptor, paths.file).size
            let found = try kernel.status(of: paths.checkpoint, followingLinks: false)
            return Opened(
                file: file, size: size,
                checkpoint: found == nil ? nil : try kernel.readCheckpoint(paths.checkpoint),
                isCheckpointed: found != nil)
        }
    }

    // MARK: Writing

    /// Writes all chunks at the end and returns the file's size.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`, and no byte was written.
    /// - Failure: a ``FileError``; some of the bytes may have been written.
    package func append(_ chunks: [Data]) async throws -> Int64 {
        try await file.io.run { [file] _ in
            try chunks.withGatheredBytes { try file.io.kernel.write(file.descriptor, pieces: $0, file.path) }
            return try file.io.kernel.status(ofDescriptor: file.descriptor, file.path).size
        }
    }

    /// Cuts the file off; what is appended next comes there.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    package func truncate(to size: Int64) async throws {
        try await file.io.run { [file] _ in
            let kernel = file.io.kernel
            try kernel.check(kernel.retrying { kernel.calls.truncate(file.descriptor, size) }, "truncate", file.path)
        }
    }

    // MARK: Checkpoints

    /// Replaces the checkpoint, atomically; `durability` is about the checkpoint.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``; the old checkpoint is there.
    package func store(_ checkpoint: Data, durability: Durability) async throws {
        try await file.io.run { [self] _ in try replaceCheckpoint(with: checkpoint, durability) }
    }

    /// Syncs what has been appended before this call, and then replaces the checkpoint.
    ///
    /// Cancellation and failure as in ``store(_:durability:)``. After a failed sync, see ``isDamaging(_:)``.
    package func sync(_ durability: Durability, thenStoring checkpoint: Data) async throws {
        try await file.io.run { [self] _ in
            try file.io.kernel.sync(file.descriptor, durability, file.path)
            try replaceCheckpoint(with: checkpoint, durability)
        }
    }

    /// Removes the checkpoint and makes that durable: from then on no power cut brings it back beside other bytes.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    package func removeCheckpoint() async throws {
        try await file.io.run { [self] _ in
            try file.io.kernel.remove(paths.checkpoint)
            try file.io.kernel.syncDirectory(of: paths.checkpoint)
        }
    }

    func replaceCheckpoint(with bytes: Data, _ durability: Durability) throws {
        // Nobody else's business: it says what is downloaded.
        let options = FileWriteOptions(
            durability: durability, existing: .replace, temporaryName: String(Path.name(of: paths.temporary)),
            permissions: 0o600)
        try bytes.withUnsafeBytes { try file.io.kernel.replaceFile(paths.checkpoint, with: $0, options) }
    }
}

extension CheckpointedFile {
    /// ``Places`` as the kernel takes them.
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
    fileprivate func openToAppend(_ path: String, truncating: Bool) throws(FileError) -> OpenedFile {
        try openLocked(
            path, flags: O_WRONLY | O_CREAT | O_APPEND, permissions: FilePermissions.newFile.rawValue,
            truncating: truncating, for: "open")
    }

    /// The bytes of a checkpoint; nil if it is no regular file, is gone, or is too long to be one.
    func readCheckpoint(_ path: String) throws(FileError) -> Data? {
        let descriptor: CInt
        do {
            // A link is not followed, a FIFO not waited for.
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
