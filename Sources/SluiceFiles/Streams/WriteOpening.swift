/// What an open for writing does with a file that exists already. A missing file is created in any case.
///
///     try await url.withFileForWriting(existing: .append) { try await $0.write(line) }
public enum WriteOpening: Sendable, Hashable {
    /// The open fails with ``FileError/Code/exists``. If two tasks or processes try, one succeeds.
    case fail
    /// The contents are cut off, and the file keeps its identity. For a replacement that is atomic, see
    /// `Data.asyncWrite(to:)`.
    case replace
    /// The contents stay, and every write goes to the end, wherever that is by then.
    case append
}
