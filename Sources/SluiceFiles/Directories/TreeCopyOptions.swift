/// Options for copying a tree. See ``FileIO/copyTree(_:to:options:progress:)``.
public struct TreeCopyOptions: Sendable, Hashable {
    /// The attributes to take over from the originals. Symbolic links and FIFOs get only the times and the owner, and a FIFO is created
    /// with the mode of the original, less the process's umask.
    public var keeping: FileCopyOptions.Attributes

    /// What is guaranteed for each file after a power failure. Directories are synced only with ``Durability/fullAndDirectory``: those of
    /// the copy, and the one that the copy is in.
    public var durability: Durability

    /// What happens at a socket or device.
    public var specialFiles: SpecialFiles

    /// Whether a partial copy is removed after a failure or a cancellation. If false, it stays, and every file in it is complete.
    public var removingOnFailure: Bool

    /// What happens at a socket or device, which can't be copied.
    public enum SpecialFiles: Sendable, Hashable {
        /// The copy fails with ``FileError/Code/notRegularFile``.
        case fail
        /// The socket or device is left out.
        case skip
    }

    /// Creates options. By default modes and times are kept, nothing is synced, and a partial copy is removed.
    public init(
        keeping: FileCopyOptions.Attributes = [.permissions, .times], durability: Durability = .none,
        specialFiles: SpecialFiles = .fail, removingOnFailure: Bool = true
    ) {
        self.keeping = keeping
        self.durability = durability
        self.specialFiles = specialFiles
        self.removingOnFailure = removingOnFailure
    }
}
