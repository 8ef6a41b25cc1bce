/// An advisory lock on a whole file, across processes and across the tasks of one process. See <doc:KeepOthersOut> and flock(2).
///
/// On mounts without locks (some of FUSE, SMB and NFS), `URL.withFileLock` throws an error, but `openForWriting(locked: true)` opens
/// the file without a lock, and a second writer isn't excluded.
public enum FileLock: Sendable, Hashable {
    /// Any number of holders, as long as no task or process holds the exclusive lock.
    case shared
    /// One holder.
    case exclusive
}
