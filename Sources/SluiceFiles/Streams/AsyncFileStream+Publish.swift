#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AsyncFileStream where Mode == WriteMode {
    /// Renames the file to its final name and closes it.
    ///
    ///     let part = try await partURL.openForWriting(locked: true)
    ///     try await part.write(data)
    ///     // … verified …
    ///     try await part.publish(as: songURL, durability: .full)
    ///
    /// One job gives the file the owner, group, mode and access control list of the file that it replaces, as in
    /// `Data.asyncWrite(to:options:using:)`, syncs it, checks that its path still leads to it, renames it, syncs the directory, and closes
    /// it. A symbolic link at the destination is replaced, not followed. A directory, device, FIFO or socket is refused. See fsync(2),
    /// rename(2).
    ///
    /// Until then, the file has the mode that it was opened with. To replace a file that others can't read, open the new one with
    /// `permissions: 0o600`.
    ///
    /// The destination must be on the same file system. An existing file there is an error by default, and `.skip` is the same as
    /// `.fail`. `durability` says what is guaranteed after a power failure, and so which syncs are made.
    ///
    /// The file is closed in any case. A lock is held until the file has been renamed or removed. With `removingOnFailure`, the
    /// file is removed if the method fails before the rename, but only if the path still leads to it, so the file of a process that
    /// waits for the lock isn't removed.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, which counts as a failure before the rename. Once
    ///   started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/replaced`` if another file has taken the old name, and
    ///   ``FileError/Code/notFound`` if no file has it. In both cases nothing is renamed. If the sync of the directory or the
    ///   close fails, the file already has its new name.
    public consuming func publish(
        as destination: URL, existing: ExistingFile = .fail, durability: Durability = .full,
        removingOnFailure: Bool = false
    ) async throws {
        try await publish(as: destination, existing, durability, newFile: nil, removingOnFailure: removingOnFailure)
    }

    /// Publishes the file. If it replaces none and `newFile` isn't `nil`, it gets these permissions as a new file would. `temporary` is a
    /// path in the directory of the destination, for an empty file that tells which.
    consuming func publish(
        as destination: URL, _ existing: ExistingFile, _ durability: Durability,
        newFile: (permissions: FilePermissions, temporary: String)?,
        removingOnFailure: Bool
    ) async throws {
        let file = file
        do {
            let final = try Path.of(destination, for: "publish to")
            try await file.io.run { _ in
                try file.publish(
                    as: final, existing, durability, newFile: newFile, removingOnFailure: removingOnFailure)
            }
        } catch {
            // A job that has started has closed the file. Otherwise this job closes it; it runs even if the task is cancelled.
            // The caller gets the first error.
            try? await file.io.run(mustRun: true) { _ in file.abandon(removing: removingOnFailure) }
            throw error
        }
    }

    /// Removes the file and closes it. A different file that has taken its name stays.
    ///
    /// - Cancellation: Runs even if the task is cancelled.
    /// - Failure: A ``FileError``. The file is closed in any case.
    public consuming func discard() async throws {
        let file = file
        try await file.io.run(mustRun: true) { _ in
            let kernel = file.io.kernel
            defer { file.closeOnceQuietly() }
            try kernel.unlink(file.path, ifStill: file.status)
        }
    }
}

extension OpenFile {
    fileprivate func publish(
        as final: String, _ existing: ExistingFile, _ durability: Durability,
        newFile: (permissions: FilePermissions, temporary: String)?,
        removingOnFailure: Bool
    ) throws(FileError) {
        let kernel = io.kernel
        do throws(FileError) {
            let replaced = try kernel.statusOfReplaced(final, existing, for: "publish to")
            if let replaced, let rights = try kernel.rights(of: final, known: replaced) {
                try kernel.give(rights, to: descriptor, path)
            } else if let newFile {
                try takeRightsOfNewFile(newFile.permissions, newFile.temporary)
            }
            try kernel.sync(descriptor, durability, path)
            try checkName()
            try kernel.rename(path, to: final, existing: existing)
        } catch {
            abandon(removing: removingOnFailure)
            throw error
        }
        do throws(FileError) {
            if durability == .fullAndDirectory {
                try kernel.syncDirectory(of: final)
                // Byte by byte: strings with the same characters can be different names.
                let isSame = Path.directory(of: final).utf8.elementsEqual(Path.directory(of: path).utf8)
                if !isSame { try kernel.syncDirectory(of: path) }
            }
        } catch {
            abandon(removing: false)
            throw error
        }
        try closeOnce(as: final)
    }

    /// Closes the file if it is open. Removes it first: while the lock is held, no other process uses the name.
    fileprivate func abandon(removing: Bool) {
        guard takeDescriptor() else { return }
        if removing { try? io.kernel.unlink(path, ifStill: status) }
        io.kernel.closeQuietly(descriptor, isLocked: isLocked)
    }

    private func takeRightsOfNewFile(_ permissions: FilePermissions, _ temporary: String) throws(FileError) {
        let kernel = io.kernel
        // Nil if no further file fits. Then only its owner can open this one, which was complete before.
        let new = try kernel.rightsOfNewFile(
            in: Path.directory(of: temporary), permissions: permissions.rawValue, temporary: temporary)
        guard var rights = new else { return }
        let now = try kernel.rights(ofDescriptor: descriptor, path)
        (rights.user, rights.group) = (now.user, now.group)
        try kernel.give(rights, to: descriptor, instead: now, path)
    }

    /// Checks that the path still leads to this file, since rename(2) takes a name, not a descriptor. The kernel has no call that
    /// checks and renames in one step. Programs that use the lock don't put another file there in between.
    private func checkName() throws(FileError) {
        guard let found = try io.kernel.status(of: path, followingLinks: false) else {
            throw FileError(
                code: .notFound, operation: "publish", path: path,
                remedy: "Write the file again, because it was removed or renamed while it was written.")
        }
        guard found.isSameFile(as: status) else {
            throw FileError(
                code: .replaced, operation: "publish", path: path,
                remedy: "Find the other program that writes to this path, and write the file again.")
        }
    }
}
