/// How a tree is copied: see ``FileIO/copyTree(_:to:options:progress:)``.
public struct TreeCopyOptions: Sendable, Hashable {
    /// What the copies of files and directories take over beside the contents. Symbolic links and FIFOs take over their times and
    /// owner alone; a FIFO is made with the mode of the original, less the process's umask.
    public var keeping: FileCopyOptions.Attributes

    /// What is promised of each file after a power cut, and with ``Durability/fullAndDirectory`` of each directory.
    public var durability: Durability

    /// What happens at a socket or device.
    public var specialFiles: SpecialFiles

    /// Whether what was copied is removed again if the copy fails or is cancelled. If not, each file that is there is whole.
    public var removingOnFailure: Bool

    /// What happens at a socket or device, of which no copy can be made.
    public enum SpecialFiles: Sendable, Hashable {
        /// The copy fails with ``FileError/Code/notRegularFile``.
        case fail
        /// It is left out.
        case skip
    }

    /// Makes options. By default modes and times are kept, nothing is synced, and the copy comes whole or not at all.
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
