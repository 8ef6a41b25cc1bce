internal import CSluiceFiles

/// The device and inode that identify a file regardless of its name. Stable while the file exists; reused after that.
///
///     if try await files.status(of: a)?.identity == files.status(of: b)?.identity { … }    // two names of one file
public struct FileIdentity: Sendable, Hashable, Codable {
    /// The file system of the file. Stable while it is mounted.
    public var device: UInt64
    /// The file's number within its file system (inode).
    public var inode: UInt64

    /// Creates an identity from the two numbers.
    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    init(_ status: RawStatus) { self.init(device: status.device, inode: status.inode) }
}
