import SluiceDatabase

/// A queue that could not be read or written: what is wrong and what to do. Nothing of the operation was done.
public struct QueueStoreError: Error, Sendable, CustomStringConvertible {
    /// What is wrong, for a program.
    public enum Code: Sendable, Hashable {
        /// Another process held the store for too long.
        case busy
        /// The disk is full.
        case full
        /// The file is damaged, is no database, or is one of another kind.
        case unusable
        /// A newer program has changed its tables.
        case newerVersion
        /// It cannot be opened or written.
        case notWritable
        /// It is closed.
        case closed
        /// A request has header fields, which a store that outlives the process does not keep.
        case headerFieldsNotStored
        /// A request's URL has a password, which a store that outlives the process does not keep.
        case passwordNotStored
        /// Something else.
        case other
    }

    /// What is wrong.
    public var code: Code
    /// One line for a person: which store, what is wrong, and what to do.
    public var description: String

    /// An error of a store.
    public init(_ code: Code, description: String) {
        self.code = code
        self.description = description
    }

    init(_ failure: DatabaseFailure) {
        let code: Code =
            switch failure.code {
            case .busy: .busy
            case .full: .full
            case .corrupt, .foreign: .unusable
            case .newerVersion: .newerVersion
            case .cannotOpen, .readOnly, .inputOutput: .notWritable
            case .closed: .closed
            case .other: .other
            }
        self.init(code, description: "\(failure)")
    }
}
