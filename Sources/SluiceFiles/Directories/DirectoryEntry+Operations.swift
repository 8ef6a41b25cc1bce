internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension DirectoryEntry {
    /// What is under the name now, or nil if nothing is.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``. See fstatat(2).
    ///
    /// - Parameter followingLinks: Whether a symbolic link counts as what it points to, wherever that is.
    public func status(followingLinks: Bool = false) async throws -> FileStatus? {
        try await directory.io.run { [self] _ in
            try kernel.status(of: rawName, in: directory, followingLinks: followingLinks).map { FileStatus($0) }
        }
    }

    /// Opens the file for reading.
    ///
    /// Regular files alone: a FIFO or device met on a walk is ``FileError/Code/notRegularFile`` and neither waited for nor
    /// opened. To read one, open its URL.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, a stream that was opened is returned.
    /// - Failure: a ``FileError``; a directory is ``FileError/Code/isDirectory``, a symbolic link that is not to be followed
    ///   ``FileError/Code/tooManyLinks``.
    ///
    /// - Parameter followingLinks: Whether a symbolic link is followed, wherever it leads.
    public func openForReading(followingLinks: Bool = false) async throws -> sending AsyncFileStream<ReadMode> {
        let file = try await directory.io.run { [self] _ in
            OpenFile(try kernel.openRegularFile(self, O_RDONLY, followingLinks: followingLinks), directory.io)
        }
        return AsyncFileStream(file)
    }

    /// Opens the file for writing; one that is no longer there is not created.
    ///
    ///     let log = try await entry.openForWriting(existing: .append)
    ///
    /// A symbolic link isn't followed. Like anything else that isn't a regular file, it's refused (see
    /// ``openForReading(followingLinks:)``).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, a stream that was opened is returned.
    /// - Failure: a ``FileError``: ``FileError/Code/notFound`` if the file is gone, and ``FileError/Code/exists`` if
    ///   `existing` is `.fail` and the file is there. The contents are cut off only once the file is known to be a regular one.
    ///
    /// - Parameter existing: What happens to the file's contents: they're cut off by default.
    public func openForWriting(existing: WriteOpening = .replace) async throws -> sending AsyncFileStream<WriteMode> {
        let file = try await directory.io.run { [self] _ in
            OpenFile(try kernel.openToWrite(self, existing), directory.io)
        }
        return AsyncFileStream(file)
    }

    /// Gives the file or directory another name in its directory, atomically.
    ///
    ///     try await entry.rename(to: "song.mp3")
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``, ``FileError/Code/exists`` among them unless `existing` is `.replace`; both names are as they
    ///   were. See renameat2(2).
    ///
    /// - Returns: The entry under its new name.
    @discardableResult
    public func rename(to name: DirectoryEntry.Name, existing: ExistingFile = .fail) async throws -> DirectoryEntry {
        existing.checkIsNotSkip(for: "DirectoryEntry.rename")
        return try await directory.io.run { [self] _ in
            try kernel.rename(self, to: name, existing: existing)
            return DirectoryEntry(RawDirectoryEntry(name: name, mode: kind?.mode ?? 0), in: directory)
        }
    }

    /// Removes the file, symbolic link (not what it points to) or empty directory.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``: ``FileError/Code/notFound`` if nothing is there, ``FileError/Code/notEmpty`` for a directory
    ///   with entries. See unlinkat(2).
    public func remove() async throws {
        try await directory.io.run { [self] _ in try kernel.remove(self) }
    }

    var kernel: Kernel { directory.io.kernel }
}

extension FileStatus.Kind {
    /// The bits of the kind, 0 for those that a kind does not tell apart.
    fileprivate var mode: UInt32 {
        switch self {
        case .file: UInt32(S_IFREG)
        case .directory: UInt32(S_IFDIR)
        case .symbolicLink: UInt32(S_IFLNK)
        default: 0
        }
    }
}
