#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// MARK: - Scopes

extension URL {
    /// Opens the file for reading, hands it to `body`, and closes it on every path.
    ///
    ///     let header = try await url.withFileForReading { try await $0.read(upToCount: 512) }
    ///
    /// - Cancellation: as in the operations; the file is closed also when the task is cancelled.
    /// - Failure: a ``FileError`` from opening or closing, or what `body` throws.
    public func withFileForReading<R>(
        using files: FileIO = .shared, _ body: (borrowing AsyncFileStream<ReadMode>) async throws -> R
    ) async throws -> R {
        let stream = try await openForReading(using: files)
        let file = stream.file
        return try await scoped {
            try await body(stream)
        } finally: {
            try await file.close()
        }
    }

    /// Opens the file for writing, hands it to `body`, and closes it on every path.
    ///
    ///     try await url.withFileForWriting(existing: .append) { try await $0.write(line) }
    ///
    /// - Cancellation: as in the operations; the file is closed also when the task is cancelled.
    /// - Failure: a ``FileError`` from opening or closing, or what `body` throws. What `body` wrote stays.
    public func withFileForWriting<R>(
        existing: WriteOpening = .replace, permissions: FilePermissions = .newFile, locked: Bool = false,
        using files: FileIO = .shared, _ body: (borrowing AsyncFileStream<WriteMode>) async throws -> R
    ) async throws -> R {
        let stream = try await openForWriting(
            existing: existing, permissions: permissions, locked: locked, using: files)
        let file = stream.file
        return try await scoped {
            try await body(stream)
        } finally: {
            try await file.close()
        }
    }
}

// MARK: - Streams

extension URL {
    /// Opens the file for reading.
    ///
    ///     let stream = try await url.openForReading()
    ///     let data = try await stream.readToEnd()
    ///     try await stream.close()
    ///
    /// A FIFO is opened immediately, and read once its first writer has come; neither holds a thread. See open(2), fifo(7).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun it is awaited, and a stream that was
    ///   opened is returned.
    /// - Failure: a ``FileError``; a directory is ``FileError/Code/isDirectory``.
    public func openForReading(using files: FileIO = .shared) async throws -> sending AsyncFileStream<ReadMode> {
        let path = try Path.of(self, for: "open")
        let file = try await files.run { _ in
            OpenFile(try files.kernel.openToRead(path), files)
        }
        return AsyncFileStream(file)
    }

    /// Opens the file for writing.
    ///
    ///     let part = try await url.openForWriting(locked: true)
    ///
    /// With `locked: true`, the stream holds an exclusive lock until it's closed. A second opener gets
    /// ``FileError/Code/locked`` immediately, in this process or another, and the contents are cut off only once the lock is
    /// held. A file that a killed process left is taken over. If the contents must be cut off and the file has further names
    /// (hard links), these keep the old file, and a new one is created under this name. Where the file system has no locks
    /// (see ``FileLock``), the file is opened without one.
    ///
    /// Only a regular file is locked. A FIFO, device, socket or directory at the path is ``FileError/Code/notRegularFile``,
    /// a symbolic link isn't followed and is ``FileError/Code/tooManyLinks``. Neither is waited for or changed.
    ///
    /// Without a lock a FIFO can be opened too. It waits for its reader, without a thread: the system has no way to be told of a
    /// reader, so the FIFO is tried again and again, up to 20 times in a second. See open(2), flock(2), fifo(7).
    ///
    /// - Cancellation: leaves the queue, or the wait for a FIFO's reader, immediately with `CancellationError`. Once begun it is
    ///   awaited, and a stream that was opened is returned.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - existing: What happens to a file that exists: its contents are cut off by default.
    ///   - permissions: The mode of a file that is created, less the process's umask.
    ///   - locked: Whether the stream takes an exclusive lock.
    ///   - files: The engine to run on.
    public func openForWriting(
        existing: WriteOpening = .replace, permissions: FilePermissions = .newFile, locked: Bool = false,
        using files: FileIO = .shared
    ) async throws -> sending AsyncFileStream<WriteMode> {
        let path = try Path.of(self, for: "open")
        var pause = 1
        while true {
            let file = try await files.run { _ in
                try files.kernel.openToWrite(path, existing, permissions.rawValue, locked: locked).map {
                    OpenFile($0, files)
                }
            }
            if let file { return AsyncFileStream(file) }
            try await Task.sleep(for: .milliseconds(pause))
            pause = min(2 * pause, 50)
        }
    }
}
