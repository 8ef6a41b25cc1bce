/// A change of a watched file or of an entry of a watched directory. See inotify(7).
public struct FileChange: Sendable, Hashable {
    /// The kind of a change. Cases may be added: switch with a `default`.
    public enum Kind: Sendable, Hashable {
        /// A file, directory or link was created in the directory. The file may still be empty.
        case created
        /// The contents were changed by a write or a truncation. Several writes may be reported as one change.
        case modified
        /// A file that was open for writing was closed. This usually means that it is complete.
        case closedAfterWriting
        /// A name was removed from the directory. If `name` is `nil`, the watched file or directory was removed, and the sequence
        /// ends.
        case removed
        /// A file was renamed. `from` is `nil` if it was moved into this directory from another one, and `to` is `nil` if it was
        /// moved out. If `name` is `nil`, the watched file or directory has a new path and is still watched.
        case renamed(from: DirectoryEntry.Name?, to: DirectoryEntry.Name?)
        /// The mode, owner, times, extended attributes or number of links changed.
        case attributes
        /// The file system of the watched file or directory was unmounted, and the sequence ends.
        case unmounted
        /// Changes were lost because the loop was too slow. Read the directory again.
        case overflow
    }

    /// The kind of the change.
    public var kind: Kind

    /// The name in the watched directory (after a rename, the new one), or `nil` for the watched file or directory itself.
    public var name: DirectoryEntry.Name?

    /// Whether the change is about a directory.
    public var isDirectory: Bool

    /// Creates a change.
    public init(_ kind: Kind, name: DirectoryEntry.Name? = nil, isDirectory: Bool = false) {
        self.kind = kind
        self.name = name
        self.isDirectory = isDirectory
    }

    /// A set of kinds of changes to receive.
    public struct Kinds: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: UInt32

        /// Creates a set from its bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// ``Kind/created``
        public static let created = Self(rawValue: 1)
        /// ``Kind/modified``. A file that is written often has many of these.
        public static let modified = Self(rawValue: 2)
        /// ``Kind/closedAfterWriting``
        public static let closedAfterWriting = Self(rawValue: 4)
        /// ``Kind/removed``, for names in the directory
        public static let removed = Self(rawValue: 8)
        /// ``Kind/renamed(from:to:)``
        public static let renamed = Self(rawValue: 16)
        /// ``Kind/attributes``
        public static let attributes = Self(rawValue: 32)
        /// All kinds.
        public static let all: Self = [.created, .modified, .closedAfterWriting, .removed, .renamed, .attributes]
    }
}
