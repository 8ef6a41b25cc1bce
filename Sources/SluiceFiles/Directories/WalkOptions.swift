/// Options for a walk through a tree. See ``FileIO/walk(_:options:)``.
public struct WalkOptions: Sendable {
    /// Whether symbolic links to directories are entered. The default is false, so a walk stays in its tree.
    ///
    /// If true, a directory that is reachable in two ways is walked twice. A link to a directory that the walk is inside of is
    /// delivered but not entered, so loops end. At most 40 links are entered on one way down, as in the kernel. A directory behind one
    /// more link is delivered as unreadable, with ``FileError/Code/tooManyLinks``.
    public var followingLinks = false

    /// Whether directories on other file systems (mount points) are entered. They are delivered in both cases.
    public var crossingFileSystems = true

    /// Whether a directory is delivered a second time, as ``WalkedEntry/Visit/leaving``, after its contents.
    public var leavingDirectories = false

    /// What happens at a directory that can't be opened or read.
    public var unreadableDirectories = UnreadableDirectories.fail

    /// The depth of the deepest entries to deliver. With 1, only the entries of the directory itself are delivered,
    /// and with 0 or less, none.
    public var maximumDepth = Int.max

    /// A predicate that decides whether to enter a directory; `nil` enters all. The directory itself is delivered in both cases.
    ///
    /// The predicate is also called for entries of unknown kind and for symbolic links that are followed. It runs on a thread of the
    /// engine, before the loop receives the entry, and must not block.
    public var entering: (@Sendable (WalkedEntry) -> Bool)?

    /// What happens at a directory that can't be opened or read, for example because of EACCES or an error of a file server.
    public enum UnreadableDirectories: Sendable, Hashable {
        /// The walk ends with the ``FileError``.
        case fail
        /// The directory is delivered, possibly a second time, as ``WalkedEntry/Visit/unreadable(_:)``, and the walk continues.
        ///
        /// The walk still ends if its topmost directory can't be read, or if the process runs out of descriptors or memory.
        case deliver
    }

    /// Creates options. By default all entries are delivered, links aren't followed, and an unreadable directory is an error.
    public init() {}
}
