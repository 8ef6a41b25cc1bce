/// How a tree is walked. See ``FileIO/walk(_:options:)``.
public struct WalkOptions: Sendable {
    /// Whether symbolic links to directories are entered, wherever they lead. Off by default: a walk never leaves its tree.
    ///
    /// With it a directory that is reached by two ways is walked twice. A link that leads to a directory which the walk is in
    /// already is delivered and not entered, so loops end; and on one way down at most 40 links are entered, as in a path that
    /// the kernel resolves (the 41st is an unreadable directory with ``FileError/Code/tooManyLinks``).
    public var followingLinks = false

    /// Whether directories on other file systems (mount points) are entered. They are delivered in any case.
    public var crossingFileSystems = true

    /// Whether a directory that was entered comes again, as ``WalkedEntry/Visit/leaving``, after all that is in it.
    public var leavingDirectories = false

    /// What happens at a directory that cannot be opened or read.
    public var unreadableDirectories = UnreadableDirectories.fail

    /// How deep it goes: 1 for the entries of the directory alone.
    public var maximumDepth = Int.max

    /// Asked whether to enter a directory, or an entry that may be one (a kind that is not known, a link that is followed); nil
    /// enters all. The entry comes in any case.
    ///
    /// Called on a worker's thread, somewhat ahead of the loop. It must not block.
    public var entering: (@Sendable (WalkedEntry) -> Bool)?

    /// What happens at a directory that cannot be opened or read: EACCES, a file server's error.
    public enum UnreadableDirectories: Sendable, Hashable {
        /// The walk ends with the ``FileError``.
        case fail
        /// The directory comes (again) as ``WalkedEntry/Visit/unreadable(_:)`` and the walk goes on with the next.
        ///
        /// The directory that the walk begins with, and a process that is out of descriptors or memory, end it in any case.
        case deliver
    }

    /// The default: all that is below the directory, links not followed, an unreadable directory is an error.
    public init() {}
}
