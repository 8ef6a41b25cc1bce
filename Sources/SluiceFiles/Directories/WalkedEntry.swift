/// An entry that a walk came by.
public struct WalkedEntry: Sendable, Hashable {
    /// Why an entry is delivered.
    public enum Visit: Sendable, Hashable {
        /// The walk found it; if it is a directory, what is in it comes next.
        case found
        /// The walk leaves this directory: all that is in it came before. Only with ``WalkOptions/leavingDirectories``.
        case leaving
        /// This directory could not be opened, or not be read to its end.
        case unreadable(FileError)
    }

    /// The entry, in its directory.
    public let entry: DirectoryEntry

    /// Why it is delivered.
    public let visit: Visit

    /// 1 for an entry of the directory that is walked, 2 for one in a directory of that.
    public let depth: Int

    init(_ entry: DirectoryEntry, _ visit: Visit, depthOfRoot: Int) {
        self.entry = entry
        self.visit = visit
        depth = entry.directory.place.depth - depthOfRoot + 1
    }

    /// The names from the walked directory down to this entry, with slashes between, byte for byte. Put together when asked for.
    public var rawRelativePath: [UInt8] { entry.directory.place.relativePath(of: entry.rawName, names: depth) }

    /// The relative path for display: bytes that are not UTF-8 appear as U+FFFD.
    public var relativePath: String { String(decoding: rawRelativePath, as: UTF8.self) }

    /// The name for display.
    public var name: String { entry.name }

    /// What the directory says it is: see ``DirectoryEntry/kind``.
    public var kind: FileStatus.Kind? { entry.kind }
}
