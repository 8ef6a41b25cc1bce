/// Something that happened to a file, or to what is in a directory. See inotify(7).
public struct FileChange: Sendable, Hashable {
    /// What happened. More may be added: switch with a `default`.
    public enum Kind: Sendable, Hashable {
        /// A name was created in the directory: a file, a directory, a link. The file may be still empty.
        case created
        /// The contents changed: a write, a truncation. One per write, unless several come together.
        case modified
        /// A file that had been opened for writing was closed: the usual sign that it is complete.
        case closedAfterWriting
        /// A name was removed from the directory; without a name, what is watched was removed itself, and the sequence ends.
        case removed
        /// A name was changed, or a file moved between this directory and another: into it where `from` is nil, out of it where
        /// `to` is. Without a name, what is watched has another path now, and is still watched.
        case renamed(from: DirectoryEntry.Name?, to: DirectoryEntry.Name?)
        /// Mode, owner, times, extended attributes or the number of links changed.
        case attributes
        /// The file system with what is watched was unmounted, and the sequence ends.
        case unmounted
        /// Changes were lost, since they were not taken in time: look at the directory again.
        case overflow
    }

    /// What happened.
    public var kind: Kind

    /// The name in the directory that is watched, the new one if it was renamed; nil for what is watched itself.
    public var name: DirectoryEntry.Name?

    /// Whether it happened to a directory.
    public var isDirectory: Bool

    /// Makes a change.
    public init(_ kind: Kind, name: DirectoryEntry.Name? = nil, isDirectory: Bool = false) {
        self.kind = kind
        self.name = name
        self.isDirectory = isDirectory
    }

    /// The kinds of changes to receive.
    public struct Kinds: OptionSet, Sendable, Hashable {
        /// The bits, of no meaning outside.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// ``Kind/created``
        public static let created = Self(rawValue: 1)
        /// ``Kind/modified``, of which a busy file has very many.
        public static let modified = Self(rawValue: 2)
        /// ``Kind/closedAfterWriting``
        public static let closedAfterWriting = Self(rawValue: 4)
        /// ``Kind/removed``, of names in the directory
        public static let removed = Self(rawValue: 8)
        /// ``Kind/renamed(from:to:)``
        public static let renamed = Self(rawValue: 16)
        /// ``Kind/attributes``
        public static let attributes = Self(rawValue: 32)
        /// All of them.
        public static let all: Self = [.created, .modified, .closedAfterWriting, .removed, .renamed, .attributes]
    }
}
