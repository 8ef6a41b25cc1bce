/// What happens when something is at the destination already.
public enum ExistingFile: Sendable, Hashable {
    /// It is replaced, atomically: whoever opens the path sees the old file or the new one.
    case replace
    /// The operation fails with ``FileError/Code/exists``, atomically: of two that try, one succeeds.
    case fail
}

/// What a write promises should the machine lose power after it returned.
///
/// A crash of the *process* alone loses nothing that was written, at any level. Each level waits for the device longer than
/// the one before.
public enum Durability: Sendable, Hashable {
    /// Nothing: the file may be old, new, empty or cut off. For what can be had again, such as a cache.
    case none
    /// The bytes: they are on the device before the name is, so that the path gives the whole old or the whole new file.
    ///
    /// fdatasync(2); on Apple platforms fsync(2).
    case data
    /// The bytes and the file's times and mode. The new name may still be lost, and then the old file is there, whole.
    ///
    /// fsync(2); on Apple platforms F_FULLFSYNC, which empties the drive's cache too.
    case full
    /// Like ``full``, and the name: once the call returns, the new file is there after any crash.
    ///
    /// fsync(2) of the file, and after the rename of its folder.
    case fullAndDirectory
}

/// The mode bits of a file or folder, as chmod(2) takes them.
///
///     try await url.openForWriting(permissions: 0o600)
public struct FilePermissions: Sendable, Hashable, RawRepresentable, ExpressibleByIntegerLiteral {
    /// The bits, for example `0o644`.
    public var rawValue: UInt32

    /// Makes permissions from mode bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue & 0o7777 }

    /// Makes permissions from a literal, best in octal.
    public init(integerLiteral value: UInt32) { self.init(rawValue: value) }

    /// Reading and writing for all, less what the process's umask takes away: what new files get.
    public static let newFile: Self = 0o666
    /// Everything for all, less what the process's umask takes away: what new folders get.
    public static let newDirectory: Self = 0o777
}

/// How a whole file is written: see `Data.asyncWrite(to:options:using:)`.
public struct FileWriteOptions: Sendable, Hashable {
    /// What is promised after a power cut.
    public var durability: Durability

    /// Whether a file at the destination is replaced.
    public var existing: ExistingFile

    /// The name of the temporary file in the destination's folder; nil for a unique, hidden one.
    ///
    /// A chosen name is locked while it is written: a second writer gets ``FileError/Code/locked``, and what a killed
    /// process left under that name is overwritten instead of being left to lie there (a unique name stays: `.sluice-…`).
    /// Choose one only in folders where nobody else can put a file of theirs under it. A symbolic link there is
    /// ``FileError/Code/tooManyLinks``, and what else is no regular file ``FileError/Code/notRegularFile``. Where the file
    /// system has no locks (see ``FileLock``), two writers under one name are not kept apart.
    public var temporaryName: String?

    /// The mode of the file if it is new, less the process's umask. A file that is replaced hands on its own.
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
