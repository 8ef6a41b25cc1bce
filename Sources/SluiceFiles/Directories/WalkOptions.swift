/// How a tree is walked. See ``FileIO/walk(_:options:)``.
public struct WalkOptions: Sendable {
    /// Whether symbolic links to folders are entered, wherever they lead. Off by default: a walk never leaves its tree.
    ///
    /// With it a folder that is reached by two ways is walked twice. A link that leads to a folder which the walk is in
    /// already is delivered and not entered, so loops end; and on one way down at most 40 links are entered, as in a path that
    /// the kernel resolves (the 41st is an unreadable folder with ``FileError/Code/tooManyLinks``).
    public var followingLinks = false

    /// Whether folders on other file systems (mount points) are entered. They are delivered in any case.
    public var crossingFileSystems = true

    /// Whether a folder that was entered comes again, as ``WalkedEntry/Visit/leaving``, after all that is in it.
    public var leavingFolders = false

    /// What happens at a folder that cannot be opened or read.
    public var unreadableFolders = UnreadableFolders.fail

    /// How deep it goes: 1 for the entries of the folder alone.
    public var mostDepth = Int.max

    /// Asked whether to enter a folder, or an entry that may be one (a kind that is not known, a link that is followed); nil
    /// enters all. The entry comes in any case.
    ///
    /// Called on a worker's thread, somewhat ahead of the loop. It must not block.
    public var entering: (@Sendable (WalkedEntry) -> Bool)?

    /// What happens at a folder that cannot be opened or read: EACCES, a file server's error.
    public enum UnreadableFolders: Sendable, Hashable {
        /// The walk ends with the ``FileError``.
        case fail
        /// The folder comes (again) as ``WalkedEntry/Visit/unreadable(_:)`` and the walk goes on with the next.
        ///
        /// The folder that the walk begins with, and a process that is out of descriptors or memory, end it in any case.
        case deliver
    }

    /// The default: all that is below the folder, links not followed, an unreadable folder is an error.
    public init() {}
}

/// An entry that a walk came by.
public struct WalkedEntry: Sendable, Hashable {
    /// Why an entry is delivered.
    public enum Visit: Sendable, Hashable {
        /// The walk found it; if it is a folder, what is in it comes next.
        case found
        /// The walk leaves this folder: all that is in it came before. Only with ``WalkOptions/leavingFolders``.
        case leaving
        /// This folder could not be opened, or not be read to its end.
        case unreadable(FileError)
    }

    /// The entry, in its folder.
    public let entry: DirectoryEntry

    /// Why it is delivered.
    public let visit: Visit

    /// 1 for an entry of the folder that is walked, 2 for one in a folder of that.
    public let depth: Int

    init(_ entry: DirectoryEntry, _ visit: Visit, depthOfRoot: Int) {
        self.entry = entry
        self.visit = visit
        depth = entry.folder.place.depth - depthOfRoot + 1
    }

    /// The names from the walked folder down to this entry, with slashes between, byte for byte. Put together when asked for.
    public var rawRelativePath: [UInt8] { entry.folder.place.relativePath(of: entry.rawName, names: depth) }

    /// The relative path for display: bytes that are not UTF-8 appear as U+FFFD.
    public var relativePath: String { String(decoding: rawRelativePath, as: UTF8.self) }

    /// The name for display.
    public var name: String { entry.name }

    /// What the folder says it is: see ``DirectoryEntry/kind``.
    public var kind: FileStatus.Kind? { entry.kind }
}
