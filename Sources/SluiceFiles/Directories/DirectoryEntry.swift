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
/// Operations work relative to the directory's descriptor. They accept any name, at any depth, and keep working after the directory has
/// been renamed. Another process can't redirect them by replacing a directory with a symbolic link. See openat(2).
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
    /// ``status(followsLinks:)``.
    public let kind: FileStatus.Kind?

    init(_ entry: RawDirectoryEntry, in directory: OpenDirectory) {
        self.directory = directory
        rawName = entry.name
        kind = entry.mode == 0 ? nil : FileStatus.Kind(mode: entry.mode)
    }

    /// The name for display. Bytes that aren't UTF-8 appear as U+FFFD.
    public var name: String { rawName.description }

    /// The path that the directory was opened with, followed by the name; `nil` if it isn't UTF-8, which a URL can't represent. The URL no
    /// longer leads to the entry once a directory above it is renamed or replaced.
    public var url: URL? {
        guard let path = String(validating: directory.path.bytes(of: rawName), as: UTF8.self) else { return nil }
        return URL(filePath: path, directoryHint: kind == .directory ? .isDirectory : .notDirectory)
    }

    var shownPath: String { directory.path.shown(of: rawName) }

    /// The path in the same form as ``AsyncFileStream/path``. Bytes that aren't UTF-8 appear as U+FFFD.
    var wholePath: String { String(decoding: directory.path.bytes(of: rawName), as: UTF8.self) }
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

// MARK: - Operations

extension DirectoryEntry {
    /// Returns the current status of the name, or `nil` if nothing has this name.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. See fstatat(2).
    public func status(followsLinks: Bool = false) async throws -> FileStatus? {
        try await directory.io.run { [self] _ in
            try system.status(of: rawName, in: directory, followsLinks: followsLinks).map { FileStatus($0) }
        }
    }

    /// Opens the file for reading.
    ///
    /// Only a regular file can be opened. A FIFO or device throws ``FileError/Code/notRegularFile`` immediately. To read one, open
    /// its URL.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once the file is open, the stream is returned.
    /// - Failure: A ``FileError``: ``FileError/Code/isDirectory`` for a directory, and ``FileError/Code/tooManyLinks`` for a
    ///   symbolic link that isn't followed.
    public func openForReading(followsLinks: Bool = false) async throws -> sending AsyncFileStream<ReadMode> {
        let file = try await directory.io.run { [self] _ in
            var opened = try system.openRegularFile(self, O_RDONLY, followsLinks: followsLinks)
            opened.path = wholePath
            return OpenFile(opened, directory.io)
        }
        return AsyncFileStream(file)
    }

    /// Opens the file for writing. A file that no longer exists isn't created.
    ///
    /// A symbolic link or anything else that isn't a regular file is refused, as in ``openForReading(followsLinks:)``, before
    /// the contents are truncated.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once the file is open, the stream is returned.
    /// - Failure: A ``FileError``: ``FileError/Code/notFound`` if the file no longer exists, and ``FileError/Code/exists`` if it
    ///   exists and `existing` is `.fail`.
    public func openForWriting(existing: WriteOpening = .replace) async throws -> sending AsyncFileStream<WriteMode> {
        let file = try await directory.io.run { [self] _ in
            var opened = try system.openToWrite(self, existing)
            opened.path = wholePath
            return OpenFile(opened, directory.io)
        }
        return AsyncFileStream(file)
    }

    /// Renames the file or directory within its directory, atomically.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``, and both names are unchanged. Unless `existing` is `.replace`, an existing file throws
    ///   ``FileError/Code/exists``. See renameat2(2).
    /// - Returns: The entry with its new name.
    @discardableResult
    public func rename(to name: DirectoryEntry.Name, existing: ExistingFile = .fail) async throws -> DirectoryEntry {
        return try await directory.io.run { [self] _ in
            try system.rename(self, to: name, existing: existing)
            return DirectoryEntry(RawDirectoryEntry(name: name, mode: kind?.mode ?? 0), in: directory)
        }
    }

    /// Removes the file, symbolic link or empty directory. A link isn't followed.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/notFound`` if nothing has this name, and ``FileError/Code/notEmpty`` for a
    ///   directory with entries. See unlinkat(2).
    public func remove() async throws {
        try await directory.io.run { [self] _ in try system.remove(self) }
    }

    var system: SystemInterface { directory.io.system }
}

extension FileStatus.Kind {
    /// The file type bits of a file, directory or symbolic link, or 0 for other kinds, which become unknown.
    fileprivate var mode: UInt32 {
        switch self {
        case .file: UInt32(S_IFREG)
        case .directory: UInt32(S_IFDIR)
        case .symbolicLink: UInt32(S_IFLNK)
        default: 0
        }
    }
}

// MARK: - Names

extension DirectoryEntry {
    /// A file name as the bytes that the kernel stores. It needn't be valid UTF-8.
    ///
    /// Two names are equal if their bytes are. On Linux, "é" as one scalar and "é" as two scalars are different names.
    public struct Name: Sendable, Hashable {
        /// The bytes, without a terminating zero.
        public let bytes: [UInt8]

        /// Creates a name in UTF-8.
        public init(_ name: some StringProtocol) { bytes = Array(name.utf8) }

        /// Creates a name from bytes, without checking them. Operations refuse a name that is empty, "." or "..", or that
        /// contains a slash or a zero byte.
        public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    }
}

extension DirectoryEntry.Name: ExpressibleByStringLiteral {
    /// Creates a name in UTF-8.
    public init(stringLiteral name: String) { self.init(name) }
}

extension DirectoryEntry.Name: CustomStringConvertible {
    /// The name for display. Bytes that aren't UTF-8 appear as U+FFFD, so the name can't be recovered from it.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

extension DirectoryEntry.Name {
    var isSingle: Bool {
        switch bytes {
        case [], [0x2E], [0x2E, 0x2E]: false
        default: !bytes.contains { $0 == 0 || $0 == 0x2F }
        }
    }

    func withCString<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
            for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
            buffer[bytes.count] = 0
            return body(UnsafePointer(buffer.baseAddress!))
        }
    }
}
