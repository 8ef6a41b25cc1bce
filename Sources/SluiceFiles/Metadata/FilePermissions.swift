/// The mode bits of a file or directory, such as `0o600`. See chmod(2).
public struct FilePermissions: Sendable, Hashable, RawRepresentable, ExpressibleByIntegerLiteral {
    /// The mode bits, for example `0o644`.
    public var rawValue: UInt32

    /// Creates permissions from mode bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue & 0o7777 }

    /// Creates permissions from an integer literal, usually an octal one.
    public init(integerLiteral value: UInt32) { self.init(rawValue: value) }

    /// Read and write permission for all users, as masked by the umask. The default for new files.
    public static let newFile: Self = 0o666
    /// All permissions for all users, as masked by the umask. The default for new directories.
    public static let newDirectory: Self = 0o777
}
