internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// One name in a folder, with the folder held open.
///
///     for entry in try await io.entries(of: folder) where entry.kind == .file {
///         print(entry.name, try await entry.status()?.size ?? 0)
///     }
///
/// It opens, renames and removes relative to the folder's descriptor. So it works on any name, those that are not UTF-8
/// among them, at any depth, also after the folder was renamed, and nobody leads it elsewhere by putting a symbolic link in
/// the place of a folder above. See openat(2).
///
/// What stands under the name may change at any time: an entry is a name, not a file.
///
/// An entry keeps its folder's descriptor open, which all entries of the folder share; the last one that goes has it closed on
/// a worker. Of a tree with many folders keep ``url`` or ``WalkedEntry/relativePath``, not the entries.
public struct DirectoryEntry: Sendable {
    let folder: OpenFolder

    /// The name, byte for byte.
    public let rawName: FileName

    /// What the folder says it is, without asking the file; nil where its file system does not say (ask ``status(followingLinks:)``).
    public let kind: FileStatus.Kind?

    init(_ entry: RawFolderEntry, in folder: OpenFolder) {
        self.folder = folder
        rawName = entry.name
        kind = entry.mode == 0 ? nil : FileStatus.Kind(mode: entry.mode)
    }

    /// The name for display: bytes that are not UTF-8 appear as U+FFFD.
    public var name: String { rawName.description }

    /// The path by which the folder was opened, and the name; nil if that is not UTF-8, which a URL cannot hold.
    ///
    /// It leads elsewhere once a folder above was renamed or replaced.
    public var url: URL? {
        guard let path = String(validating: folder.place.path(of: rawName), as: UTF8.self) else { return nil }
        return URL(filePath: path, directoryHint: kind == .directory ? .isDirectory : .notDirectory)
    }

    /// The path for an error.
    var shownPath: String { folder.place.shownPath(of: rawName) }
}

extension DirectoryEntry: Hashable {
    /// Whether both are the same name in the same folder, by its device and inode.
    public static func == (a: Self, b: Self) -> Bool {
        a.rawName == b.rawName && a.folder.status.isSameFile(as: b.folder.status)
    }

    /// Hashes the name and the folder's device and inode.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rawName)
        hasher.combine(folder.status.device)
        hasher.combine(folder.status.inode)
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
