/// How a file is copied: see ``FileIO/copy(_:to:options:progress:)``.
public struct FileCopyOptions: Sendable, Hashable {
    /// What a copy takes over from its original beside the contents.
    public struct Attributes: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public var rawValue: Int

        /// Makes a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The mode, whatever the umask, where the file system has modes (FAT has none). The set-user-ID and set-group-ID bits
        /// only if the copy has the same owner and group.
        public static let permissions = Self(rawValue: 1 << 0)

        /// The times of modification and access, to the nanosecond where the file system has room for it.
        public static let times = Self(rawValue: 1 << 1)

        /// All attributes of users, or the copy fails; those of the system (`security.`, `trusted.`, access control lists)
        /// where system and file system allow it. See xattr(7).
        public static let extendedAttributes = Self(rawValue: 1 << 2)

        /// Owner and group, or the copy fails: only root gives files away. See chown(2).
        public static let owner = Self(rawValue: 1 << 3)

        /// All but the owner: what a backup of one's own files wants.
        public static let allButOwner: Self = [.permissions, .times, .extendedAttributes]
    }

    /// What is promised after a power failure.
    public var durability: Durability

    /// What happens if a file is at the destination: an error by default.
    public var existing: ExistingFile

    /// Whether a symbolic link counts as what it points to; else the link is copied, with its target as it is written there.
    public var followingLinks: Bool

    /// What the copy takes over beside the contents. Without ``Attributes/permissions`` a file that is replaced hands on its
    /// own, and a new one gets reading and writing for all, less the process's umask.
    public var keeping: Attributes

    /// Makes options. The defaults are safe: nothing is replaced, and the copy is on the device before the call returns.
    public init(
        durability: Durability = .full, existing: ExistingFile = .fail, followingLinks: Bool = true,
        keeping: Attributes = .permissions
    ) {
        self.durability = durability
        self.existing = existing
        self.followingLinks = followingLinks
        self.keeping = keeping
    }
}
