/// A lock on a whole file, kept until the stream is closed or its process ends. See flock(2).
///
/// Some mounts (FUSE, SMB, NFS) have no locks: flock(2) fails there with EOPNOTSUPP, ENOLCK, EINVAL or ENOSYS. Files on
/// them are opened all the same, without a lock, and nothing keeps a second opener out. To keep others out of more than one
/// file, and to wait until they are done, see `URL.withFileLock(_:waiting:permissions:using:_:)`.
public enum FileLock: Sendable, Hashable {
    /// One holder at a time. It is advisory: it keeps out only those who ask for it.
    case exclusive
}
