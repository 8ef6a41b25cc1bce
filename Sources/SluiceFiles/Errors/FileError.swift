/// A file operation that did not succeed: what was tried, on which path, what the system said, and what to do about it.
///
///     do {
///         try await data.asyncWrite(to: url)
///     } catch let error as FileError where error.code == .noSpace {
///         print(error)   // could not write '/data/song.mp3': No space left on device (ENOSPC). Free some space …
///     }
///
/// A cancelled operation throws `CancellationError`, but for one: a write to a pipe or its like that had put out a part of its
/// bytes says how many, with ``Code/cancelled``.
public struct FileError: Error, Sendable, Hashable {
    /// What kind of failure it is, for programs.
    public var code: Code

    /// What was tried, as a verb: `open`, `write`, `sync`, `rename to '/music/song.mp3'`.
    public var operation: String

    /// The path (or the name given for a descriptor) that the operation was about.
    public var path: String

    /// The system's error number (errno), or 0 when the failure is this library's own (a limit, a bad URL).
    public var systemError: CInt

    /// What the person in front of the program can do about it, as one sentence, where that is known.
    public var remedy: String?

    /// The number of bytes that a failed write had put out before it failed.
    public var bytesWritten: Int

    /// Makes an error; code and remedy come from the error number unless they are given.
    public init(
        code: Code? = nil, operation: String, path: String, systemError: CInt = 0, remedy: String? = nil,
        bytesWritten: Int = 0
    ) {
        let known = ErrorNumber.table[systemError]
        self.code = code ?? known?.code ?? .other
        self.operation = operation
        self.path = path
        self.systemError = systemError
        self.remedy = remedy ?? known?.remedy
        self.bytesWritten = bytesWritten
    }
}

extension FileError: CustomStringConvertible {
    /// One line: what failed, the path, the system's words, what to do.
    public var description: String {
        var line = "could not \(operation) '\(path)': \(cause)"
        if bytesWritten > 0 { line += " after \(bytesWritten) bytes" }
        if let remedy { line += ". \(remedy)" }
        return line
    }

    /// The system's words for the error number, or the code's own.
    var cause: String {
        systemError == 0 ? code.description : ErrorNumber.text(of: systemError)
    }
}
