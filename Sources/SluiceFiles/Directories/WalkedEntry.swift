/// An entry that a walk delivers.
public struct WalkedEntry: Sendable, Hashable {
    /// The reason why an entry is delivered.
    public enum Visit: Sendable, Hashable {
        /// The walk found the entry. If it is a directory, its contents follow.
        case found
        /// The walk leaves this directory, after its contents. Delivered only with ``WalkOptions/leavingDirectories``.
        case leaving
        /// This directory couldn't be opened, or couldn't be read to its end.
        case unreadable(FileError)
    }

    /// The entry in its directory.
    public let entry: DirectoryEntry

    /// The reason why the entry is delivered.
    public let visit: Visit

    /// The depth of the entry: 1 for an entry of the walked directory, 2 for an entry of a directory inside it.
    public let depth: Int

    init(_ entry: DirectoryEntry, _ visit: Visit, depthOfRoot: Int) {
        self.entry = entry
        self.visit = visit
        depth = entry.directory.place.depth - depthOfRoot + 1
    }

    /// The names from the walked directory down to this entry, joined by slashes, as bytes. Computed on each access.
    public var rawRelativePath: [UInt8] { entry.directory.place.relativePath(of: entry.rawName, names: depth) }

    /// The relative path for display. Bytes that aren't UTF-8 appear as U+FFFD.
    public var relativePath: String { String(decoding: rawRelativePath, as: UTF8.self) }

    /// The name for display.
    public var name: String { entry.name }

    /// The kind of file according to the directory. See ``DirectoryEntry/kind``.
    public var kind: FileStatus.Kind? { entry.kind }
}
