internal import CSluiceFiles

extension Kernel {
    static var maximumLockAttempts: Int { 100 }

    /// Opens a file and locks it. With `truncating`, truncates it once the lock is held.
    ///
    /// ```text
    /// this process                         another process, which holds the lock
    /// open "song.part"   (inode 7)
    ///                                      rename "song.part" to "song", close: the lock is free
    /// lock inode 7       succeeds
    /// look at the path   not inode 7:
    ///                    close, open again
    /// ```
    ///
    /// Without the last step, this process would write into the finished file "song". A second name has the same danger: a crash
    /// between link and unlink (see `renameWithoutReplacing`) leaves "song" and "song.part" as names of one file. So a file that must be
    /// truncated and has other names isn't touched; its name is removed and a new file is created. See flock(2).
    ///
    /// Other users can often guess the name ("song.part"). So a symbolic link isn't followed (O_NOFOLLOW), and opening a FIFO doesn't
    /// wait for its reader (O_NONBLOCK, which has no effect on a regular file). See open(2).
    ///
    /// If the file system has no locks, the file is opened without one, unless `isRequired`.
    func openLocked(
        _ path: String, _ kind: FileLock = .exclusive, isRequired: Bool = false, flags: CInt, permissions: UInt32,
        truncating: Bool, for operation: String
    ) throws(FileError) -> OpenedFile {
        for _ in 0..<Self.maximumLockAttempts {
            let descriptor = try openToLock(path, flags, permissions: permissions, for: operation)
            let locked = retrying { calls.lock(descriptor, kind.operation | LOCK_NB) }
            do throws(FileError) {
                let opened = try status(ofDescriptor: descriptor, path)
                // Before the lock's result: for a FIFO that another process has locked, the error must say that it's a FIFO.
                guard opened.isRegularFile else {
                    throw FileError(
                        code: .notRegularFile, operation: "lock", path: path, remedy: Self.onlyRegularFiles)
                }
                if Self.hasNoLocks(locked) {
                    if isRequired { throw Self.noLocks(path, locked) }
                } else {
                    try check(locked, "lock", path)
                }
                if let found = try status(of: path, followingLinks: false),
                    found.isSameFile(as: opened)
                {
                    if !truncating || opened.links < 2 {
                        if truncating, opened.size > 0 {
                            try check(retrying { calls.truncate(descriptor, 0) }, "empty", path)
                        }
                        return OpenedFile(descriptor: descriptor, path: path, status: opened, isLocked: locked >= 0)
                    }
                    try unlink(path)
                }
            } catch {
                closeQuietly(descriptor, isLocked: locked >= 0)
                throw error
            }
            closeQuietly(descriptor, isLocked: locked >= 0)
        }
        throw Self.keepsChanging(path)
    }

    /// Creates a file and locks it. If a file with this name exists and isn't locked, a process that was killed has left it there. It is
    /// removed and not written to, because it may be open in other processes, or have other rights.
    func createLocked(_ path: String, permissions: UInt32, for operation: String) throws(FileError) -> OpenedFile {
        for _ in 0..<Self.maximumLockAttempts {
            do throws(FileError) {
                if let created = try createOnceLocked(path, permissions: permissions, for: operation) { return created }
            } catch  where error.systemError == EEXIST {
                try removeUnlocked(path, for: operation)
            }
        }
        throw Self.keepsChanging(path)
    }

    /// Returns `nil` if another process has removed the file before this one locked it.
    private func createOnceLocked(
        _ path: String, permissions: UInt32, for operation: String
    ) throws(FileError) -> OpenedFile? {
        let descriptor = try open(
            path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: permissions, for: operation)
        let locked = retrying { calls.lock(descriptor, LOCK_EX | LOCK_NB) }
        do throws(FileError) {
            let created = try status(ofDescriptor: descriptor, path)
            if !Self.hasNoLocks(locked) { try check(locked, "lock", path) }
            if try status(of: path, followingLinks: false)?.isSameFile(as: created) == true {
                return OpenedFile(descriptor: descriptor, path: path, status: created, isLocked: locked >= 0)
            }
        } catch {
            closeQuietly(descriptor, isLocked: locked >= 0)
            throw error
        }
        closeQuietly(descriptor, isLocked: locked >= 0)
        return nil
    }

    private func removeUnlocked(_ path: String, for operation: String) throws(FileError) {
        let stale: OpenedFile
        do throws(FileError) {
            stale = try openLocked(path, flags: O_WRONLY, permissions: 0, truncating: false, for: operation)
        } catch  where error.systemError == ENOENT {
            return
        }
        // While this process holds the lock, the name is its own.
        defer { closeQuietly(stale.descriptor, isLocked: stale.isLocked) }
        try unlink(path)
    }

    private static func keepsChanging(_ path: String) -> FileError {
        FileError(
            code: .locked, operation: "lock", path: path,
            remedy: "Try again later, because programs keep replacing this file.")
    }

    private func openToLock(
        _ path: String, _ flags: CInt, permissions: UInt32, for operation: String
    ) throws(FileError) -> CInt {
        do throws(FileError) {
            return try open(path, flags | O_NOFOLLOW | O_NONBLOCK, permissions: permissions, for: operation)
        } catch {
            var error = error
            switch error.systemError {
            case ELOOP:
                error.remedy =
                    "Give the file's own path, because a file isn't locked through a symbolic link."
            // In order: a directory; a FIFO without a reader, or a socket; a socket on Apple platforms; a device without a driver.
            case EISDIR, ENXIO, EOPNOTSUPP, ENODEV:
                error.code = .notRegularFile
                error.remedy = Self.onlyRegularFiles
            default: break
            }
            throw error
        }
    }

    private static var onlyRegularFiles: String { "Choose another path, because only a regular file can be locked." }

    private static func noLocks(_ path: String, _ result: CInt) -> FileError {
        FileError(
            code: .unsupported, operation: "lock", path: path, systemError: -result,
            remedy: "Put the lock file on a local file system, because this one has no locks.")
    }

    /// Returns whether a result of flock(2) means that the file system has no locks. FUSE, SMB and NFS mounts return one of these.
    /// ENOLCK can also mean that the server has no more locks, but NFS without a lock daemon returns it too.
    private static func hasNoLocks(_ result: CInt) -> Bool {
        [-EOPNOTSUPP, -ENOTSUP, -ENOLCK, -EINVAL, -ENOSYS].contains(result)
    }
}

extension FileLock {
    fileprivate var operation: CInt {
        switch self {
        case .shared: LOCK_SH
        case .exclusive: LOCK_EX
        }
    }
}
