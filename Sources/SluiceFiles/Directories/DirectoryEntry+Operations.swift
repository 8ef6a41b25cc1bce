internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension DirectoryEntry {
    /// Returns the current status of the name, or `nil` if nothing has this name.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. See fstatat(2).
    public func status(followingLinks: Bool = false) async throws -> FileStatus? {
        try await directory.io.run { [self] _ in
            try kernel.status(of: rawName, in: directory, followingLinks: followingLinks).map { FileStatus($0) }
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
    public func openForReading(followingLinks: Bool = false) async throws -> sending AsyncFileStream<ReadMode> {
        let file = try await directory.io.run { [self] _ in
            var opened = try kernel.openRegularFile(self, O_RDONLY, followingLinks: followingLinks)
            opened.path = wholePath
            return OpenFile(opened, directory.io)
        }
        return AsyncFileStream(file)
    }

    /// Opens the file for writing. A file that no longer exists isn't created.
    ///
    /// A symbolic link or anything else that isn't a regular file is refused, as in ``openForReading(followingLinks:)``, before
    /// the contents are truncated.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once the file is open, the stream is returned.
    /// - Failure: A ``FileError``: ``FileError/Code/notFound`` if the file no longer exists, and ``FileError/Code/exists`` if it
    ///   exists and `existing` is `.fail`.
    public func openForWriting(existing: WriteOpening = .replace) async throws -> sending AsyncFileStream<WriteMode> {
        let file = try await directory.io.run { [self] _ in
            var opened = try kernel.openToWrite(self, existing)
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
            try kernel.rename(self, to: name, existing: existing)
            return DirectoryEntry(RawDirectoryEntry(name: name, mode: kind?.mode ?? 0), in: directory)
        }
    }

    /// Removes the file, symbolic link or empty directory. A link isn't followed.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/notFound`` if nothing has this name, and ``FileError/Code/notEmpty`` for a
    ///   directory with entries. See unlinkat(2).
    public func remove() async throws {
        try await directory.io.run { [self] _ in try kernel.remove(self) }
    }

    var kernel: Kernel { directory.io.kernel }
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
