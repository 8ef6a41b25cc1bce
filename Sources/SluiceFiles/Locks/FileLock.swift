/// An advisory lock on a whole file, between processes and between tasks of one. See flock(2).
///
///     try await lock.withFileLock { try await rebuild(index) }                    // .exclusive
///     let entries = try await lock.withFileLock(.shared) { try await load(index) }
///
/// A lock is advisory: it keeps out only tasks and processes that take it.
///
/// Some mounts (FUSE, SMB, NFS) have no locks: flock(2) fails there with EOPNOTSUPP, ENOLCK, EINVAL or ENOSYS.
/// `URL.withFileLock` throws there. `openForWriting(locked: true)` opens the file without a lock, and doesn't keep a second
/// opener out.
public enum FileLock: Sendable, Hashable {
    /// Any number of holders, as long as no task or process holds the exclusive lock.
    case shared
    /// One holder.
    case exclusive
}
