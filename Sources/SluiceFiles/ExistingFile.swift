/// What happens if something already exists at the destination.
///
/// Operations that put a file under a name, such as a rename, a copy or a link, fail by default. Those that write a file's
/// contents, such as `Data.asyncWrite(to:)`, replace by default.
public enum ExistingFile: Sendable, Hashable {
    /// The operation fails with ``FileError/Code/exists``. If two tasks or processes try, one succeeds.
    case fail
    /// The file is replaced, atomically: a reader that opens the path gets the old file or the new one.
    case replace
    /// The file stays, and the operation succeeds without doing anything.
    ///
    /// Only copies and downloads can skip, and their result says so. For a rename, a publication or a write, this is the same as
    /// ``fail``: a success would hide that the caller's bytes weren't stored.
    case skip
}
