internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A name in a directory that is kept open.
///
///     for entry in try await files.entries(of: directory) where entry.kind == .file {
///         print(entry.name, try await entry.status()?.size ?? 0)
///     }
///
/// Operations work relative to the directory's descriptor. They accept any name, at any depth, and also work after the directory
/// has been renamed. Another process can't redirect them by replacing a directory with a symbolic link. See openat(2).
///
/// An entry identifies a name, not a file: the file under the name may change at any time.
///
/// All entries of a directory share its descriptor, which is closed on a worker when the last one is dropped. To remember many
/// entries, store ``url`` or ``WalkedEntry/relativePath`` rather than the entries, which keep their directories open.
public struct DirectoryEntry: Sendable {
    let directory: OpenDirectory

    /// The bytes of the name.
    public let rawName: DirectoryEntry.Name

    /// The kind of file that the directory stores for the name, or `nil` if the file system doesn't store it. Then see
    /// ``status(followingLinks:)``.
    public let kind: FileStatus.Kind?

    init(_ entry: RawDirectoryEntry, in directory: OpenDirectory) {
        self.directory = directory
        rawName = entry.name
        kind = entry.mode == 0 ? nil : FileStatus.Kind(mode: entry.mode)
    }

    /// The name for display. Bytes that aren't UTF-8 appear as U+FFFD.
    public var name: String { rawName.description }

    /// The path by which the directory was opened, followed by the name; `nil` if it isn't UTF-8, which a URL can't represent.
    /// The URL no longer leads to the entry if a directory above is renamed or replaced.
    public var url: URL? {
        guard let path = String(validating: directory.place.path(of: rawName), as: UTF8.self) else { return nil }
        return URL(filePath: path, directoryHint: kind == .directory ? .isDirectory : .notDirectory)
    }

    var shownPath: String { directory.place.shownPath(of: rawName) }

    /// The path as ``AsyncFileStream/path`` has it. Bytes that aren't UTF-8 appear as U+FFFD.
    var wholePath: String { String(decoding: directory.place.path(of: rawName), as: UTF8.self) }
}

extension DirectoryEntry: Hashable {
    /// Whether both have the same name in the same directory. Directories are compared by device and inode.
    public static func == (a: Self, b: Self) -> Bool {
        a.rawName == b.rawName && a.directory.status.isSameFile(as: b.directory.status)
    }

    /// Hashes the name, and the directory's device and inode.
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
    init(mode: UInt32) {
        var status = RawStatus()
        status.mode = mode
        self.init(status)
    }
}
