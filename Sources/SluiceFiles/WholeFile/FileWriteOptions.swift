/// How a whole file is written: see `Data.asyncWrite(to:options:using:)`.
public struct FileWriteOptions: Sendable, Hashable {
    /// What is promised after a power failure.
    public var durability: Durability

    /// What happens if a file is at the destination: it's replaced by default. `.skip` stops the program.
    public var existing: ExistingFile

    /// The name of the temporary file in the destination's directory; nil for a unique, hidden one.
    ///
    /// A chosen name is locked while it is written: a second writer gets ``FileError/Code/locked``, and what a killed
    /// process left under that name is overwritten. (A unique name, `.sluice-…`, stays after a kill.) Choose a name only in a
    /// directory where no other user can create a file under it. A symbolic link there is
    /// ``FileError/Code/tooManyLinks``; anything else that isn't a regular file is ``FileError/Code/notRegularFile``. Where
    /// the file system has no locks (see ``FileLock``), two writers under one name aren't kept apart.
    public var temporaryName: String?

    /// The mode of the file if it is new, less the process's umask. The new file takes over the mode of a file that it replaces.
    public var permissions: FilePermissions

    /// Makes options. The defaults are safe: replaced atomically, on the device before the call returns.
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
