internal import CSluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// The ways to end the use of a checkpointed file: keeping it for a later run, discarding it, or publishing it. Each is one job.
// The first two run even if the task is cancelled.
extension CheckpointedFile {
    /// Returns whether an error means that written bytes may be missing, so that the contents of the file can't be used. A failed sync
    /// may have dropped pages. It is reported only once; the next sync would succeed (fsync(2), "EIO").
    package static func isDamaging(_ error: FileError) -> Bool {
        error.code == .inputOutput || error.operation == "sync"
    }

    /// Keeps an unfinished file: appends the last chunks, syncs, replaces the checkpoint and closes the file.
    ///
    /// `checkpoint` receives the file's size and returns the new checkpoint, or `nil` to keep the old one. If the append fails, for
    /// example on a full disk, the bytes that were written still get a checkpoint before the method throws. If a later step
    /// fails, the file keeps the old checkpoint. A damaging failure removes both. The file is closed in any case.
    package func close(
        appending chunks: [Data], durability: Durability, checkpoint: @escaping @Sendable (Int64) -> Data?
    ) async throws {
        try await file.io.run(mustRun: true) { [self] _ in
            let kernel = file.io.kernel
            do {
                let written = Result {
                    try chunks.withGatheredBytes { try kernel.write(file.descriptor, pieces: $0, file.path) }
                }
                // The bytes that fit on a full disk get a checkpoint too.
                if case .failure(let error as FileError) = written, Self.isDamaging(error) { throw error }
                try kernel.sync(file.descriptor, durability, file.path)
                let size = try kernel.status(ofDescriptor: file.descriptor, file.path).size
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
            let kernel = file.io.kernel
            if let found = try? kernel.status(of: file.path, followingLinks: false), found.isSameFile(as: file.status),
                found.size == 0
            {
                kernel.unlinkQuietly(paths.file)
            }
            file.closeOnceQuietly()
        }
    }

    /// Renames the file to its final name and closes it. The checkpoint stays. See `AsyncFileStream.publish(as:…)`. The file gets the
    /// rights of the file that it replaces, or those of a new file. An empty file shows what these are. If the file system has no room
    /// for one, only the owner can open the published file.
    package func publish(
        as destination: URL, existing: ExistingFile, durability: Durability, removingOnFailure: Bool
    ) async throws {
        try await AsyncFileStream<WriteMode>(file).publish(
            as: destination, existing, durability, newFile: (.newFile, paths.temporary),
            removingOnFailure: removingOnFailure)
    }

    /// Removes the checkpoint first: a file without one is written again. Removes nothing if another file has the name.
    private func removeAll() {
        let kernel = file.io.kernel
        guard let found = try? kernel.status(of: file.path, followingLinks: false), found.isSameFile(as: file.status)
        else { return }
        kernel.unlinkQuietly(paths.checkpoint)
        kernel.unlinkQuietly(paths.temporary)
        kernel.unlinkQuietly(paths.file)
    }
}

// MARK: - Without opening

extension CheckpointedFile {
    /// Removes a file with its checkpoint, even if the task is cancelled. Returns false if the file is locked. Only a regular file is
    /// removed; a symbolic link stays. Throws a ``FileError`` if a file exists but can't be removed.
    ///
    /// - Parameter isOwn: Whether a checkpoint is one of the caller. If it isn't, or if there is none, files with these names may be those
    ///   of a user: only an empty file is removed then.
    @discardableResult
    package static func removeUnlessLocked(
        _ places: Places, using files: FileIO, ifCheckpoint isOwn: (@Sendable (Data) -> Bool)? = nil
    ) async throws -> Bool {
        let paths = try Paths(places)
        return try await files.run(mustRun: true) { _ in
            let kernel = files.kernel
            var opened: OpenedFile?
            defer { if let opened { kernel.closeQuietly(opened.descriptor, isLocked: opened.isLocked) } }
            if try kernel.status(of: paths.file, followingLinks: false)?.isRegularFile == true {
                do {
                    // Without O_CREAT, so that a missing file isn't created here.
                    opened = try kernel.openLocked(
                        paths.file, flags: O_WRONLY, permissions: 0, truncating: false, for: "open")
                } catch let error as FileError where error.code == .locked {
                    return false
                } catch let error as FileError where error.code == .notFound {
                    // Renamed or removed since the check.
                }
            }
            if let isOwn, try kernel.readCheckpoint(paths.checkpoint).map(isOwn) != true {
                if opened?.status.size == 0 { try kernel.removeIfThere(paths.file) }
                return true
            }
            try kernel.removeIfThere(paths.checkpoint)
            try kernel.removeIfThere(paths.temporary)
            if opened != nil { try kernel.removeIfThere(paths.file) }
            return true
        }
    }

    /// The checkpoint of a file that may have been published, and the facts about the file that has its final name now.
    package struct Published: Sendable {
        package var checkpoint: Data
        package var identity: FileIdentity
        package var size: Int64
        package var boot: String?
    }

    package static func published(
        _ places: Places, as destination: URL, using files: FileIO
    ) async throws -> Published? {
        let paths = try Paths(places)
        let final = try Path.of(destination, for: "read the status of")
        return try await files.run { _ in
            let kernel = files.kernel
            guard let status = try kernel.status(of: final, followingLinks: false), status.isRegularFile,
                let checkpoint = try kernel.readCheckpoint(paths.checkpoint)
            else { return nil }
            return Published(
                checkpoint: checkpoint, identity: FileIdentity(status), size: status.size,
                boot: BootIdentity.read(kernel))
        }
    }
}

extension Kernel {
    fileprivate func removeIfThere(_ path: String) throws(FileError) {
        do {
            try unlink(path)
        } catch  where error.code == .notFound {
            // The file is already removed.
        }
    }
}
