/// What happens to an existing file that is opened for writing. A missing file is always created.
public enum WriteOpening: Sendable, Hashable {
    /// The call throws ``FileError/Code/exists``. If several tasks or processes try concurrently, one succeeds.
    case fail
    /// The contents are truncated, and the file keeps its identity. To replace a file atomically, use
    /// `Data.asyncWrite(to:)`.
    case replace
    /// The contents are kept, and every write goes to the current end of the file.
    case append
}
