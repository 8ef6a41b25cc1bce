internal import CSluiceFiles

extension Kernel {
    /// How often a file may be renamed away between its opening and its locking before that counts as an error.
    static var maximumLockAttempts: Int { 100 }

    /// Opens a file and locks it for this descriptor alone; what it holds is cut off only once the lock is held.
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
    /// Without the look, this process would write into the finished file "song". The same danger lies in a second name: a
    /// crash between link and unlink (see `renameWithoutReplacing`) leaves "song" and "song.part" as one file. A file that
    /// is to be cut off and has other names is left to them, and created again under this one. See flock(2).
    ///
    /// The name is often one that others can guess ("song.part"), so it is taken for a file and nothing else: a symbolic
    /// link is not followed (O_NOFOLLOW), and a FIFO does not keep the thread until its reader comes (O_NONBLOCK, which
    /// means nothing for a regular file). See open(2).
    ///
    /// Where the file system has no locks, the file is opened without one, or that is an error if `isRequired`.
    func openLocked(
        _ path: String, _ kind: FileLock = .exclusive, isRequired: Bool = false, flags: CInt, permissions: UInt32,
        truncating: Bool, for operation: String
    ) throws(FileError) -> OpenedFile {
        for _ in 0..<Self.maximumLockAttempts {
            let descriptor = try openToLock(path, flags, permissions: permissions, for: operation)
            do throws(FileError) {
                let locked = retrying { calls.lock(descriptor, kind.operation | LOCK_NB) }
                let opened = try status(ofDescriptor: descriptor, path)
                // Before the lock's result: of a FIFO that another holds, it matters that it is a FIFO.
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
                        return OpenedFile(descriptor: descriptor, path: path, status: opened)
                    }
                    try unlink(path)
                }
            } catch {
                closeQuietly(descriptor)
                throw error
            }
            closeQuietly(descriptor)
        }
        throw FileError(
            code: .locked, operation: "lock", path: path, remedy: "Others keep replacing this file: try again later.")
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
                    "A file is not locked through a symbolic link: remove the link, or give the file's own path."
            // A directory; a FIFO without a reader or a socket; a socket on Apple platforms; a device without a driver.
            case EISDIR, ENXIO, EOPNOTSUPP, ENODEV:
                error.code = .notRegularFile
                error.remedy = Self.onlyRegularFiles
            default: break
            }
            throw error
        }
    }

    private static var onlyRegularFiles: String { "Only a regular file is locked and emptied: choose another path." }

    private static func noLocks(_ path: String, _ result: CInt) -> FileError {
        FileError(
            code: .unsupported, operation: "lock", path: path, systemError: -result,
            remedy: "This file system has no locks: put the file to be locked on a local one.")
    }

    /// Whether a result of flock(2) says that this file system has no locks: FUSE, SMB and NFS mounts answer with one or
    /// another of these. ENOLCK, which may also mean that the server has no more, is among them since NFS without a lock
    /// daemon says just that.
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
