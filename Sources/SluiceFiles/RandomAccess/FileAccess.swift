/// How a file is opened for random access.
///
///     let database = try await url.openForRandomAccess(.createIfMissing, permissions: 0o600)
public enum FileAccess: Sendable, Hashable {
    /// Reading alone, of a file that exists.
    case readOnly
    /// Reading and writing, of a file that exists.
    case readWrite
    /// Reading and writing. A missing file is created.
    case createIfMissing
    /// Reading and writing of a new file. If the file exists, opening it fails with ``FileError/Code/exists``. If two tasks
    /// or processes try, one succeeds.
    case createNew
}
