/// How a file is opened for random access.
public enum FileAccess: Sendable, Hashable {
    /// Reading only. The file must exist.
    case readOnly
    /// Reading and writing. The file must exist.
    case readWrite
    /// Reading and writing. A missing file is created.
    case createIfMissing
    /// Reading and writing a new file. If the file exists, opening throws ``FileError/Code/exists``. If several tasks or processes
    /// try concurrently, one succeeds.
    case createNew
}
