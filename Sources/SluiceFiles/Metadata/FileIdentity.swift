/// What makes a file that file, whatever its name: stable while it exists, and used again after its end.
///
///     if try await files.status(of: a)?.identity == files.status(of: b)?.identity { … }    // two names of one file
public struct FileIdentity: Sendable, Hashable, Codable {
    /// The file system that it is on, as long as that is mounted.
    public var device: UInt64
    /// Its number there (inode).
    public var inode: UInt64

    /// Makes an identity from the two numbers.
    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    init(_ status: RawStatus) { self.init(device: status.device, inode: status.inode) }
}
