/// What happens when something is at the destination already.
///
///     try await files.rename(part, to: other)                         // .fail: throws FileError.Code.exists
///     try await files.rename(part, to: other, existing: .replace)
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
    /// Only copies and downloads offer this. Passing it to another operation stops the program.
    case skip
}

extension ExistingFile {
    /// Stops the program where an operation cannot skip a file.
    func checkIsNotSkip(for operation: StaticString) {
        precondition(self != .skip, "\(operation) doesn't take `existing: .skip`: pass `.fail` or `.replace`.")
    }
}
