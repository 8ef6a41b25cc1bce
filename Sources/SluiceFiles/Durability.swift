/// What is guaranteed about written data if the machine loses power after the write has returned.
///
/// A crash of the *process* alone loses no written data at any level. Each level waits for the device longer than the one before.
public enum Durability: Sendable, Hashable {
    /// No guarantee: the file may be old, new, empty or truncated. Suitable for contents that can be recreated, such as a cache.
    case none
    /// The bytes are on the device before the rename, so the path leads to the complete old or the complete new file. See
    /// fdatasync(2); on Apple platforms fsync(2).
    case data
    /// Like ``data``, and the file's times and mode are on the device. After a power failure, the old file may still have the name.
    /// See fsync(2); on Apple platforms F_FULLFSYNC, which also flushes the drive's cache.
    case full
    /// Like ``full``, and the new name is on the device: once the call has returned, the new file survives any crash. See fsync(2),
    /// which is called for the file and, after the rename, for its directory.
    case fullAndDirectory
}
