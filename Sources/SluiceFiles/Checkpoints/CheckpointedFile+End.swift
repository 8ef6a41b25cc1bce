internal import CSluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// How a checkpointed file ends: kept for a later run, discarded, or published. Each is one job; the first two run also when
// the task is cancelled.
extension CheckpointedFile {
    /// Whether this error says that bytes which were written may not be there: nothing that the file holds can be used.
    ///
    /// A failed sync may have dropped pages and reports it once (fsync(2), "EIO"); the next one would succeed.
    package static func isDamaging(_ error: FileError) -> Bool {
        error.code == .inputOutput || error.operation == "sync"
    }

    /// Appends the last chunks, syncs, replaces the checkpoint and closes: what becomes of an unfinished file.
    ///
    /// `checkpoint` gets the file's size and returns the checkpoint, or nil to leave the one that is there. If a step fails,
    /// what is there already is kept with the old checkpoint, unless the failure is a damaging one, which removes both.
    ///
    /// - Cancellation: runs to its end.
    /// - Failure: a ``FileError``; the file is closed all the same.
    package func close(
        appending chunks: [Data], durability: Durability, checkpoint: @escaping @Sendable (Int64) -> Data?
    ) async throws {
        try await file.io.run(mustRun: true) { [self] _ in
            let kernel = file.io.kernel
            do {
                let written = Result {
                    try chunks.withGatheredBytes { try kernel.write(file.descriptor, pieces: $0, file.path) }
                }
                // On a full disk, too, what is there is worth a checkpoint.
                if case .failure(let error as FileError) = written, Self.isDamaging(error) { throw error }
                try kernel.sync(file.descriptor, durability, file.path)
                let size = try kernel.status(ofDescriptor: file.descriptor, file.path).size
                if let checkpoint = checkpoint(size) { try replaceCheckpoint(with: checkpoint, durability) }
                try written.get()
            } catch {
                if let error = error as? FileError, Self.isDamaging(error) { removeAll() }
                if file.takeDescriptor() { kernel.closeQuietly(file.descriptor) }
                throw error
            }
            if file.takeDescriptor() { try kernel.close(file.descriptor, file.path) }
        }
    }

    /// Removes the file and its checkpoint, and closes it.
    ///
    /// - Cancellation: runs to its end.
    package func discard() async {
        try? await file.io.run(mustRun: true) { [self] _ in
            removeAll()
            if file.takeDescriptor() { file.io.kernel.closeQuietly(file.descriptor) }
        }
    }

    /// Gives the file its final name and closes it; the checkpoint stays. See `AsyncFileStream.publish(as:…)`.
    package func publish(
        as destination: URL, existing: ExistingFile, durability: Durability, removingOnFailure: Bool
    ) async throws {
        try await AsyncFileStream<WriteMode>(file).publish(
            as: destination, existing: existing, durability: durability, removingOnFailure: removingOnFailure)
    }

    /// The checkpoint first: without one, whatever has the file's name is written again. Only while the name is ours.
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
    /// Removes a file that isn't locked, with its checkpoint. Returns whether nothing of it is left.
    ///
    /// One job. What is no regular file stays, a symbolic link included.
    ///
    /// - Cancellation: runs to its end.
    /// - Failure: a ``FileError``, when one of the two is there and cannot be removed.
    @discardableResult
    package static func removeUnlessLocked(_ places: Places, using files: FileIO) async throws -> Bool {
        let paths = try Paths(places)
        return try await files.run(mustRun: true) { _ in
            let kernel = files.kernel
            var descriptor: CInt?
            defer { if let descriptor { kernel.closeQuietly(descriptor) } }
            if try kernel.status(of: paths.file, followingLinks: false)?.isRegularFile == true {
                do {
                    // Without O_CREAT: a file that is not there is not made in order to be removed.
                    descriptor = try kernel.openLocked(
                        paths.file, flags: O_WRONLY, permissions: 0, truncating: false, for: "open"
                    ).descriptor
                } catch let error as FileError where error.code == .locked {
                    return false
                } catch let error as FileError where error.code == .notFound {
                    // Renamed or removed between the two looks.
                }
            }
            try kernel.removeIfThere(paths.checkpoint)
            try kernel.removeIfThere(paths.temporary)
            if descriptor != nil { try kernel.removeIfThere(paths.file) }
            return true
        }
    }

    /// What is known of a file that may have been published: its checkpoint, and what is under its final name now.
    package struct Published: Sendable {
        package var checkpoint: Data
        package var identity: FileIdentity
        package var size: Int64
        package var boot: String?
    }

    /// Reads the checkpoint and looks at the destination; nil if one of them is missing or no regular file.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``.
    package static func published(
        _ places: Places, as destination: URL, using files: FileIO
    ) async throws -> Published? {
        let paths = try Paths(places)
        let final = try Path.of(destination, for: "look at")
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
            // What was wanted.
        }
    }
}
