/// The mode bits of a file or directory, as chmod(2) takes them.
///
///     try await url.openForWriting(permissions: 0o600)
public struct FilePermissions: Sendable, Hashable, RawRepresentable, ExpressibleByIntegerLiteral {
    /// The bits, for example `0o644`.
    public var rawValue: UInt32

    /// Makes permissions from mode bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue & 0o7777 }

    /// Makes permissions from a literal, best in octal.
    public init(integerLiteral value: UInt32) { self.init(rawValue: value) }

    /// Reading and writing for all users, less the process's umask: what new files get.
    public static let newFile: Self = 0o666
    /// Everything for all users, less the process's umask: what new directories get.
    public static let newDirectory: Self = 0o777
}
