internal import CSluiceFiles

/// A descriptor with what was learnt when it was opened.
struct OpenedFile: Sendable {
    var descriptor: CInt
    var path: String
    var status: RawStatus
}

extension Kernel {
    /// How often a file may be renamed away between its opening and its locking before that counts as an error.
    static var mostLockAttempts: Int { 100 }

    /// Opens a file and locks it for this descriptor alone; what it holds is cut off only once the lock is held.
    ///
    ///     this process                         another process, which holds the lock
    ///     open "song.part"   (inode 7)
    ///                                          rename "song.part" to "song", close: the lock is free
    ///     lock inode 7       succeeds
    ///     look at the path   not inode 7:
    ///                        close, open again
    ///
    /// Without the look, this process would write into the finished file "song". The same danger lies in a second name: a
    /// crash between link and unlink (see `renameWithoutReplacing`) leaves "song" and "song.part" as one file. A file that
    /// is to be cut off and has other names is left to them, and made anew under this one. See flock(2).
    func openLocked(
        _ path: String, flags: CInt, permissions: UInt32, truncating: Bool, for operation: String
    ) throws(FileError) -> OpenedFile {
        for _ in 0..<Self.mostLockAttempts {
            let descriptor = try open(path, flags, permissions: permissions, for: operation)
            do throws(FileError) {
                try check(retrying { calls.lock(descriptor, LOCK_EX | LOCK_NB) }, "lock", path)
                let opened = try status(ofDescriptor: descriptor, path)
                guard opened.isRegularFile else {
                    throw FileError(
                        code: .notRegularFile, operation: "lock", path: path,
                        remedy: "Only a regular file is locked and emptied: choose another path.")
                }
                if let found = try status(of: path, followingLinks: flags & O_NOFOLLOW == 0),
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
}
