internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// One name in a directory, with the directory held open.
///
///     for entry in try await files.entries(of: directory) where entry.kind == .file {
///         print(entry.name, try await entry.status()?.size ?? 0)
///     }
///
/// It opens, renames and removes relative to the directory's descriptor. So it works on any name, those that are not UTF-8
/// among them, at any depth, also after the directory was renamed, and no process can lead it elsewhere by putting a symbolic link in
/// the place of a directory above. See openat(2).
///
/// What stands under the name may change at any time: an entry is a name, not a file.
///
/// An entry keeps its directory's descriptor open, which all entries of the directory share; the last one that goes has it closed on
/// a worker. Of a tree with many directories keep ``url`` or ``WalkedEntry/relativePath``, not the entries.
public struct DirectoryEntry: Sendable {
    let directory: OpenDirectory

    /// The name, byte for byte.
    public let rawName: DirectoryEntry.Name

    /// What the directory says it is, without asking the file; nil where its file system does not say (ask ``status(followingLinks:)``).
    public let kind: FileStatus.Kind?

    init(_ entry: RawDirectoryEntry, in directory: OpenDirectory) {
        self.directory = directory
        rawName = entry.name
        kind = entry.mode == 0 ? nil : FileStatus.Kind(mode: entry.mode)
    }

    /// The name for display: bytes that are not UTF-8 appear as U+FFFD.
    public var name: String { rawName.description }

    /// The path by which the directory was opened, and the name; nil if that is not UTF-8, which a URL cannot hold.
    ///
    /// It leads elsewhere once a directory above was renamed or replaced.
    public var url: URL? {
        guard let path = String(validating: directory.place.path(of: rawName), as: UTF8.self) else { return nil }
        return URL(filePath: path, directoryHint: kind == .directory ? .isDirectory : .notDirectory)
    }

    /// The path for an error.
    var shownPath: String { directory.place.shownPath(of: rawName) }
}

extension DirectoryEntry: Hashable {
    /// Whether both are the same name in the same directory, by its device and inode.
    public static func == (a: Self, b: Self) -> Bool {
        a.rawName == b.rawName && a.directory.status.isSameFile(as: b.directory.status)
    }

    /// Hashes the name and the directory's device and inode.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rawName)
        hasher.combine(directory.status.device)
        hasher.combine(directory.status.inode)
    }
}

extension DirectoryEntry: CustomStringConvertible {
    /// The name for display.
    public var description: String { name }
}

extension FileStatus.Kind {
    /// From the bits of the kind in a mode.
    init(mode: UInt32) {
        var status = RawStatus()
        status.mode = mode
        self.init(status)
    }
}
