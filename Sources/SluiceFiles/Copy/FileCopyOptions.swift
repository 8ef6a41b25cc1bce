/// Options for copying a file. See ``FileIO/copy(_:to:options:progress:)``.
public struct FileCopyOptions: Sendable, Hashable {
    /// The attributes that a copy takes over from the original.
    public struct Attributes: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public var rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The mode, regardless of the umask, and the access control list. Ignored on file systems without modes (FAT). Set-user-ID and
        /// set-group-ID bits are copied only if the copy has the same owner and group. If the file system can't store the list, the
        /// group and all others can do only what each user and group of the list could do as well.
        public static let permissions = Self(rawValue: 1 << 0)

        /// The modification and access times, with the precision that the file system stores (at most nanoseconds).
        public static let times = Self(rawValue: 1 << 1)

        /// Extended attributes. The copy fails if a user attribute can't be copied. System attributes (`security.`, `trusted.`) are copied
        /// if possible. The access control list belongs to the ``permissions``. See xattr(7).
        public static let extendedAttributes = Self(rawValue: 1 << 2)

        /// The owner and the group. Only root can change the owner; without permission, the copy fails. See chown(2).
        public static let owner = Self(rawValue: 1 << 3)

        /// All attributes except the owner, as in a backup of your own files.
        public static let allButOwner: Self = [.permissions, .times, .extendedAttributes]
    }

    /// What is guaranteed after a power failure.
    public var durability: Durability

    /// What happens if a file exists at the destination. The default is `.fail`.
    public var existing: ExistingFile

    /// Whether to copy the file that a symbolic link points to. If false, the link itself is copied.
    public var followingLinks: Bool

    /// The attributes to take over from the original. Without ``Attributes/permissions``, the copy has the rights of the file that it
    /// replaces, as in ``FileWriteOptions/permissions``; a new file gets read and write permission for all users, less the process's
    /// umask.
    public var keeping: Attributes

    /// Creates options. By default nothing is replaced, and the copy is on the device before the call returns.
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
