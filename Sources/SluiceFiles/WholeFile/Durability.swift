/// What a write promises if the machine loses power after it returned.
///
///     try await data.asyncWrite(to: url, options: .init(durability: .fullAndDirectory))
///
/// If only the *process* crashes, nothing that was written is lost, at any level. Each level waits for the device longer than
/// the one before.
public enum Durability: Sendable, Hashable {
    /// Nothing: the file may be old, new, empty or cut off. For contents that can be made again, such as a cache.
    case none
    /// The bytes: they are on the device before the name is, so that the path gives the whole old or the whole new file.
    ///
    /// fdatasync(2); on Apple platforms fsync(2).
    case data
    /// The bytes and the file's times and mode. The new name may still be lost; then the whole old file is there.
    ///
    /// fsync(2); on Apple platforms F_FULLFSYNC, which empties the drive's cache too.
    case full
    /// Like ``full``, and the name: once the call returns, the new file is there after any crash.
    ///
    /// fsync(2) of the file, and, after the rename, of its directory.
    case fullAndDirectory
}
