/// Options for writing a whole file. See `Data.asyncWrite(to:options:using:)`.
public struct FileWriteOptions: Sendable, Hashable {
    /// What is guaranteed after a power failure.
    public var durability: Durability

    /// What happens if a file is at the destination: it's replaced by default. `.skip` is the same as `.fail`.
    public var existing: ExistingFile

    /// The name of the temporary file in the destination's directory, or `nil` for a unique, hidden name (`.sluice-…`).
    ///
    /// If the process is killed, a file with a unique name stays, but one with a chosen name is removed by the next write with
    /// that name. It is locked while it is written: a second writer gets ``FileError/Code/locked``. Where the file system has no locks
    /// (see ``FileLock``), two writers with the same name aren't kept apart.
    ///
    /// Choose a name only in a directory where no other user can create a file with that name. A symbolic link there throws
    /// ``FileError/Code/tooManyLinks``, and anything else that isn't a regular file throws ``FileError/Code/notRegularFile``.
    public var temporaryName: String?

    /// The mode of a new file, less the process's umask.
    ///
    /// A file that replaces another one gets the owner, the group, the mode and the access control list of that file. Until its bytes are
    /// written, only its owner can open it. What the process may not set, or the file system can't store, never widens access:
    ///
    /// - With another owner or group, the file has no set-user-ID and set-group-ID bits, and the group and all others can do only what
    ///   both could do before.
    /// - Without its list, the group and all others can do only what each user and group of the list could do as well.
    ///
    /// Other extended attributes, such as capabilities, aren't kept.
    public var permissions: FilePermissions

    /// Creates options. By default the file is replaced atomically and is on the device before the call returns.
    public init(
        durability: Durability = .full, existing: ExistingFile = .replace, temporaryName: String? = nil,
        permissions: FilePermissions = .newFile
    ) {
        self.durability = durability
        self.existing = existing
        self.temporaryName = temporaryName
        self.permissions = permissions
    }
}
