#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// How a file is opened for writing.
public enum WriteOpening: Sendable, Hashable {
    /// What is there is cut off; a missing file is created.
    case truncate
    /// Every write goes to the end, wherever that is by then; a missing file is created.
    case append
    /// The file is created, and is an error if it exists.
    case createNew
}

// MARK: - Scopes

extension URL {
    /// Opens the file for reading, hands it to `body`, and closes it on every path.
    ///
    ///     let header = try await url.withFileForReading { try await $0.read(upToCount: 512) }
    ///
    /// - Cancellation: as in the operations; the file is closed also when the task is cancelled.
    /// - Failure: a ``FileError`` from opening or closing, or what `body` throws.
    public func withFileForReading<R>(
        using io: FileIO = .shared, _ body: (borrowing AsyncFileStream<ReadMode>) async throws -> R
    ) async throws -> R {
        let stream = try await openForReading(using: io)
        let file = stream.file
        return try await scoped {
            try await body(stream)
        } finally: {
            try await file.close()
        }
    }

    /// Opens the file for writing, hands it to `body`, and closes it on every path.
    ///
    ///     try await url.withFileForWriting(.append) { try await $0.write(line) }
    ///
    /// - Cancellation: as in the operations; the file is closed also when the task is cancelled.
    /// - Failure: a ``FileError`` from opening or closing, or what `body` throws. What `body` wrote stays.
    public func withFileForWriting<R>(
        _ opening: WriteOpening = .truncate, permissions: FilePermissions = .newFile, lock: FileLock? = nil,
        using io: FileIO = .shared, _ body: (borrowing AsyncFileStream<WriteMode>) async throws -> R
    ) async throws -> R {
        let stream = try await openForWriting(opening, permissions: permissions, lock: lock, using: io)
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
    /// A FIFO is opened at once, and read once its first writer has come; neither holds a thread. See open(2), fifo(7).
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`. Once begun it is awaited, and a stream that was
    ///   opened is returned.
    /// - Failure: a ``FileError``; a folder is ``FileError/Code/isDirectory``.
    public func openForReading(using io: FileIO = .shared) async throws -> AsyncFileStream<ReadMode> {
        let path = try Path.of(self, for: "open")
        let file = try await io.run { _ in
            OpenFile(try io.kernel.openToRead(path), io)
        }
        return AsyncFileStream(file)
    }

    /// Opens the file for writing.
    ///
    ///     let part = try await url.openForWriting(lock: .exclusive)
    ///
    /// With `lock: .exclusive`, a second opener gets ``FileError/Code/locked`` at once, in this process or another, and
    /// what the file holds is cut off only once the lock is held. A file that a killed process left is taken over. One that
    /// is to be cut off and has further names (hard links) is left to these, and made anew under this one.
    ///
    /// A lock is for regular files alone. A FIFO, device, socket or folder at the path is ``FileError/Code/notRegularFile``,
    /// a symbolic link is not followed and is ``FileError/Code/tooManyLinks``; neither is waited for or changed.
    ///
    /// Without a lock a FIFO can be opened too. It waits for its reader, without a thread: the system has no way to be told of a
    /// reader, so the FIFO is tried again and again, up to 20 times in a second. See open(2), flock(2), fifo(7).
    ///
    /// - Cancellation: leaves the queue, or the wait for a FIFO's reader, at once with `CancellationError`. Once begun it is
    ///   awaited, and a stream that was opened is returned.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - opening: Whether the file is cut off, appended to, or must be new.
    ///   - permissions: The mode of a file that is created, less the process's umask.
    ///   - lock: A lock to take, none by default.
    ///   - io: The engine to run on.
    public func openForWriting(
        _ opening: WriteOpening = .truncate, permissions: FilePermissions = .newFile, lock: FileLock? = nil,
        using io: FileIO = .shared
    ) async throws -> AsyncFileStream<WriteMode> {
        let path = try Path.of(self, for: "open")
        var pause = 1
        while true {
            let file = try await io.run { _ in
                try io.kernel.openToWrite(path, opening, permissions.rawValue, lock).map { OpenFile($0, io) }
            }
            if let file { return AsyncFileStream(file) }
            try await Task.sleep(for: .milliseconds(pause))
            pause = min(2 * pause, 50)
        }
    }
}
