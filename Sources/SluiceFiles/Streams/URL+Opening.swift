#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// MARK: - Scopes

extension URL {
    /// Opens the file for reading, calls `body` with the stream, and closes it whether `body` returns or throws.
    ///
    /// - Cancellation: That of opening and of the operations in `body`. The file is closed even if the task is cancelled.
    /// - Failure: A ``FileError`` from opening or closing, or the error of `body`.
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

    /// Opens the file for writing, calls `body` with the stream, and closes it whether `body` returns or throws.
    ///
    /// - Cancellation: That of opening and of the operations in `body`. The file is closed even if the task is cancelled.
    /// - Failure: A ``FileError`` from opening or closing, or the error of `body`. Bytes that `body` has written stay in the
    ///   file.
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
    /// A FIFO is opened immediately; the first read waits for its first writer, without using a thread. See open(2), fifo(7).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once the file is open, the stream is returned.
    /// - Failure: A ``FileError``: ``FileError/Code/isDirectory`` for a directory.
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
    /// With `locked: true`, the stream holds an exclusive lock until it is closed. A second opener, in this or another process,
    /// gets ``FileError/Code/locked`` immediately. The contents are truncated only once the lock is held. If the contents must be
    /// truncated and the file has further names (hard links), these keep the old file, and a new file is created with this name.
    /// Where the file system has no locks (see ``FileLock``), the file is opened without one.
    ///
    /// Only a regular file can be locked. A FIFO, device, socket or directory throws ``FileError/Code/notRegularFile``. A
    /// symbolic link isn't followed and throws ``FileError/Code/tooManyLinks``. The call doesn't wait for any of these, and
    /// doesn't change them.
    ///
    /// Without `locked`, a FIFO can be opened too. The call waits for a reader, without using a thread. The system doesn't report
    /// when a reader arrives, so the call tries again at intervals of 1 to 50 ms. See open(2), flock(2), fifo(7).
    ///
    /// - Cancellation: A call that is queued or waits for a FIFO's reader throws `CancellationError` immediately. Once the file
    ///   is open, the stream is returned.
    /// - Failure: A ``FileError``.
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
