internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The mode of a stream for reading.
public enum ReadMode: Sendable {}

/// The mode of a stream for writing.
public enum WriteMode: Sendable {}

/// An open file that is read or written from start to end.
///
///     let count = try await url.withFileForReading { stream in               // closes on every path
///         try await stream.read(upToCount: 512).count
///     }
///
///     let stream = try await url.openForReading()
///     let header = try await stream.read(upToCount: 512)
///     let rest = try await stream.readToEnd()
///     try await stream.close()                                               // use after close does not compile
///
/// Prefer the scoped forms `URL.withFileForReading` and `URL.withFileForWriting`. A stream can't be copied, so you can't close it in a
/// `defer`. A stream that is dropped without ``close()`` is closed on a worker, and errors from the close are lost.
///
/// Only a stream in ``ReadMode`` has methods for reading, and only one in ``WriteMode`` has methods for writing.
///
/// A negative count, size or offset traps. Check numbers from a file before you pass them.
///
/// ## Moving a stream to another task
///
/// A stream has one position and one owner. It isn't `Sendable`: the compiler rejects code in which two tasks share it. To use a file from
/// several tasks, open a ``RandomAccessFile``. You can move a stream to another task in two ways.
///
/// A `consuming sending` parameter moves the stream into a function, an actor or another isolation domain:
///
///     actor Journal {
///         private var stream: AsyncFileStream<WriteMode>?
///
///         init(_ stream: consuming sending AsyncFileStream<WriteMode>) { self.stream = consume stream }
///
///         func close() async throws { try await stream.take()?.close() }
///     }
///
///     let journal = Journal(try await url.openForWriting(existing: .append))
///     try await journal.close()
///
/// `Optional.take()` moves it out of a property, as above, or into the closure of a task, which can't consume a captured value:
///
///     var source: AsyncFileStream<ReadMode>? = try await url.openForReading()
///     let reading = Task {
///         guard let stream = source.take() else { return Data() }
///         let data = try await stream.readToEnd()
///         try await stream.close()
///         return data
///     }
///     let data = try await reading.value
public struct AsyncFileStream<Mode>: ~Copyable {
    let file: OpenFile

    init(_ file: OpenFile) { self.file = file }

    /// The path that the stream was opened with.
    public var path: String { file.path }

    /// Closes the file. Throws errors from the close, including delayed write errors. See close(2).
    ///
    /// - Cancellation: Runs even if the task is cancelled, and doesn't throw `CancellationError`.
    /// - Failure: A ``FileError``. The file is closed in any case.
    public consuming func close() async throws {
        try await file.close()
    }
}

// MARK: - Scopes

extension URL {
    /// Opens the file for reading, calls `body` with the stream, and closes it whether `body` returns or throws.
    ///
    /// - Cancellation: Same as for opening the file and for the operations in `body`. The file is closed even if the task is cancelled.
    /// - Failure: A ``FileError`` from opening or closing, or an error from `body`.
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
    /// - Cancellation: Same as for opening the file and for the operations in `body`. The file is closed even if the task is cancelled.
    /// - Failure: A ``FileError`` from opening or closing, or an error from `body`. Bytes that `body` has written stay in the file.
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

// MARK: - Opening

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
            OpenFile(try files.system.openToRead(path), files)
        }
        return AsyncFileStream(file)
    }

    /// Opens the file for writing.
    ///
    ///     let part = try await url.openForWriting(locked: true)
    ///
    /// With `locked: true`, the stream holds an exclusive lock until it is closed. A second opener, in this or another process, gets
    /// ``FileError/Code/locked`` immediately. The contents are truncated only once the lock is held. If the contents must be truncated and
    /// the file has other hard links, they keep the old file, and a new file is created with this name. Where the file system has no locks
    /// (see ``FileLock``), the file is opened without one.
    ///
    /// Only a regular file can be locked. A FIFO, device, socket or directory throws ``FileError/Code/notRegularFile``. A
    /// symbolic link isn't followed and throws ``FileError/Code/tooManyLinks``. The call doesn't wait for any of these, and
    /// doesn't change them.
    ///
    /// Without `locked`, a FIFO can be opened too. The call waits for a reader, without using a thread. The system doesn't report
    /// when a reader arrives, so the call polls at intervals of 1 to 50 ms. See open(2), flock(2), fifo(7).
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
                try files.system.openToWrite(path, existing, permissions.rawValue, locked: locked).map {
                    OpenFile($0, files)
                }
            }
            if let file { return AsyncFileStream(file) }
            try await Task.sleep(for: .milliseconds(pause))
            pause = min(2 * pause, 50)
        }
    }
}

/// What happens to an existing file that is opened for writing. A missing file is always created.
public enum WriteOpening: Sendable, Hashable {
    /// The call throws ``FileError/Code/exists``. If several tasks or processes try concurrently, one succeeds.
    case fail
    /// The contents are truncated, and the file keeps its identity. To replace a file atomically, use
    /// `Data.asyncWrite(to:)`.
    case replace
    /// The contents are kept, and every write goes to the current end of the file.
    case append
}

// MARK: - Reading

extension AsyncFileStream where Mode == ReadMode {
    /// Reads the next `count` bytes. Returns fewer only at the end of the file, and an empty `Data` after that.
    ///
    /// On a FIFO or terminal, the call waits until it has `count` bytes or all writers have closed the other end. On a FIFO, it first
    /// waits until a writer has opened it. Waiting uses no thread. Memory is bounded by the bytes read, not by `count`. See read(2).
    ///
    /// - Precondition: `count` isn't negative.
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running call throws it between system calls, and the bytes
    ///   that it has read are lost. While a call waits for a FIFO or terminal, it throws immediately, and no byte is lost: the next read
    ///   returns the bytes that had arrived.
    /// - Failure: A ``FileError``.
    public borrowing func read(upToCount count: Int) async throws -> Data {
        precondition(count >= 0, "The count must not be negative; it is \(count).")
        try FileIO.checkCancellation()
        if file.isWaitedFor { return try await file.readWhenReady(upToCount: count) }
        let start = file.io.readInline(file, upToCount: count)
        if start.count == count { return start }
        let rest = try await file.io.run { [file, count = count - start.count] cancellation in
            let bytes = try file.io.system.read(
                file.descriptor, upToCount: count, expected: min(count, file.expectedSize), file.path, cancellation)
            return bytes.data()
        }
        return start.isEmpty ? rest : start + rest
    }

    /// Reads all remaining bytes, at most `maximumSize`; without it, there is no limit. Returns an empty `Data` at the end of the file.
    ///
    /// - Precondition: `maximumSize` isn't negative.
    /// - Cancellation: As in ``read(upToCount:)``.
    /// - Failure: A ``FileError``: ``FileError/Code/limitExceeded`` if more than `maximumSize` bytes remain.
    public borrowing func readToEnd(maximumSize: Int = .max) async throws -> Data {
        precondition(maximumSize >= 0, "The maximum size must not be negative; it is \(maximumSize).")
        if file.isWaitedFor {
            return try await file.readWhenReady { try await $0.readToEnd(limit: maximumSize, after: &$1) }
        }
        return try await file.io.run { [file] cancellation in
            let bytes = try file.io.system.readToEnd(
                file.descriptor, limit: maximumSize, expected: file.expectedSize, file.path, cancellation)
            return bytes.data()
        }
    }
}

extension OpenFile {
    /// A hint for the first allocation: the size at opening, or 64 KiB if that is more, because some files report no size.
    fileprivate var expectedSize: Int { max(64 << 10, Int(clamping: status.size)) }
}

// MARK: - Writing

extension AsyncFileStream where Mode == WriteMode {
    /// Writes all bytes. See write(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, and no byte is written. Once started, it continues
    ///   to the last byte or the first failure. A call that waits for room in a FIFO or terminal stops immediately: it throws
    ///   `CancellationError` if no byte was written, and otherwise a ``FileError`` with ``FileError/Code/cancelled``.
    /// - Failure: A ``FileError``. Its `bytesWritten` is the number of bytes that this call wrote.
    public borrowing func write(_ data: Data) async throws {
        if file.isWaitedFor { return try await file.writeWhenReady([.data(data)]) }
        try await file.io.run { [file] _ in
            try data.withUnsafeBytes { try file.io.system.write(file.descriptor, $0, file.path) }
        }
    }

    /// Writes all chunks in order, as one job with few system calls. See writev(2).
    ///
    /// Cancellation and failure are the same as in `write(_:)` with one `Data`. `bytesWritten` counts the bytes of all chunks.
    public borrowing func write(_ chunks: [Data]) async throws {
        if file.isWaitedFor { return try await file.writeWhenReady(chunks.piecesToWrite) }
        try await file.io.run { [file] _ in
            try chunks.withGatheredBytes { try file.io.system.write(file.descriptor, pieces: $0, file.path) }
        }
    }

    /// Writes all bytes of a span without copying them.
    ///
    /// Cancellation and failure are the same as in `write(_:)` with one `Data`.
    public borrowing func write(_ bytes: RawSpan) async throws {
        // The span borrows its owner until this function returns, and this function returns only after the job has ended or can
        // no longer start.
        let borrowed = bytes.withUnsafeBytes { BorrowedBytes(pieces: [$0]) }
        if file.isWaitedFor { return try await file.writeWhenReady([.borrowed(borrowed)]) }
        try await file.io.run { [file] _ in
            try file.io.system.write(file.descriptor, pieces: borrowed.pieces, file.path)
        }
    }

    /// Truncates the file, or extends it with zeros, to a size in bytes. See ftruncate(2).
    ///
    /// The position doesn't change. After `truncate(to: 0)`, seek to 0 before you write, unless the stream was opened with
    /// ``WriteOpening/append``. Otherwise the write leaves a hole of zeros before it.
    ///
    /// - Precondition: `size` isn't negative.
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public borrowing func truncate(to size: Int64) async throws {
        precondition(size >= 0, "The size must not be negative; it is \(size).")
        try await file.io.run { [file] _ in
            try file.io.system.truncate(file.descriptor, to: size, file.path)
        }
    }

    /// Waits until the written bytes are on the device, to the extent that `durability` guarantees. See fsync(2).
    ///
    /// If a sync fails, the kernel may have dropped the bytes that it couldn't write. Don't sync again; write the file again.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public borrowing func sync(_ durability: Durability = .full) async throws {
        try await file.io.run { [file] _ in
            try file.io.system.sync(file.descriptor, durability, file.path)
            if durability == .fullAndDirectory { try file.io.system.syncDirectory(of: file.path) }
        }
    }
}

struct BorrowedBytes: @unchecked Sendable {
    // Immutable. One job reads the bytes while the owner's borrow lasts.
    let pieces: [UnsafeRawBufferPointer]
}

extension [Data] {
    /// Calls `body` with the bytes of all chunks, for writev(2).
    ///
    /// Small chunks are copied together, because a `Data` of up to 14 bytes stores them inline, and their address is valid only
    /// inside `withUnsafeBytes`. Larger ones are on the heap, where the array keeps them in place.
    func withGatheredBytes<R>(_ body: ([UnsafeRawBufferPointer]) throws -> R) rethrows -> R {
        let maximumCopied = 512
        var copied = 0
        for chunk in self where chunk.count <= maximumCopied { copied += chunk.count }
        return try withUnsafeTemporaryAllocation(byteCount: copied, alignment: 1) { scratch in
            var pieces: [UnsafeRawBufferPointer] = []
            pieces.reserveCapacity(count)
            var used = 0
            // Adjacent chunks in the scratch memory form one piece.
            var open = 0
            func flush() {
                if used > open { pieces.append(UnsafeRawBufferPointer(rebasing: scratch[open..<used])) }
                open = used
            }
            for chunk in self {
                chunk.withUnsafeBytes { bytes in
                    if bytes.count <= maximumCopied {
                        UnsafeMutableRawBufferPointer(rebasing: scratch[used...]).copyMemory(from: bytes)
                        used += bytes.count
                    } else {
                        flush()
                        pieces.append(bytes)
                    }
                }
            }
            flush()
            return try withExtendedLifetime(self) { try body(pieces) }
        }
    }
}

// MARK: - Position and space

extension AsyncFileStream {
    /// The offset of the next read or write, in bytes from the start of the file. See lseek(2).
    ///
    /// In a stream opened with ``WriteOpening/append``, writes go to the end of the file regardless of the position.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. A FIFO, pipe, terminal or socket has no position (`ESPIPE`).
    public var position: Int64 {
        get async throws {
            try await file.io.run { [file] _ in
                try file.seek(0, SEEK_CUR, for: "get the position of")
            }
        }
    }

    /// Moves the position of the next read or write to an offset in bytes from the start of the file. See lseek(2).
    ///
    /// The offset may be after the end of the file: a read there returns no bytes, and a write leaves a hole that reads as zeros.
    /// In a stream opened with ``WriteOpening/append``, writes still go to the end of the file. For reads at many offsets, or by
    /// several tasks, use a ``RandomAccessFile``.
    ///
    /// - Precondition: `offset` isn't negative.
    /// - Cancellation: A queued call throws `CancellationError` immediately, and the position is unchanged.
    /// - Failure: A ``FileError``. A FIFO, pipe, terminal or socket has no position (`ESPIPE`).
    public borrowing func seek(to offset: Int64) async throws {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        try await file.io.run { [file] _ in _ = try file.seek(offset, SEEK_SET, for: "seek in") }
    }
}

extension AsyncFileStream where Mode == WriteMode {
    /// Reserves space on the device, so that the file can grow to a size in bytes without running out of space.
    ///
    ///     let output = try await url.openForWriting()
    ///     try await output.preallocate(upTo: song.size)                    // throws .noSpace now, if at all
    ///
    /// The size of the file doesn't change until bytes are written, so after a crash the file doesn't end in zeros. Unused space stays
    /// allocated; to release it, call `truncate(to:)` with the current size. On copy-on-write file systems (Btrfs, ZFS, APFS), the space
    /// isn't guaranteed. See fallocate(2), FALLOC_FL_KEEP_SIZE.
    ///
    /// - Precondition: `size` isn't negative.
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``: ``FileError/Code/noSpace``, or ``FileError/Code/unsupported`` if the file system can't reserve
    ///   space.
    public borrowing func preallocate(upTo size: Int64) async throws {
        precondition(size >= 0, "The size must not be negative; it is \(size).")
        if size == 0 { return }  // fallocate(2) refuses a size of 0 with EINVAL.
        try await file.io.run { [file] _ in
            try file.io.system.preallocate(file.descriptor, 0..<size, keepsSize: true, file.path)
        }
    }
}

extension OpenFile {
    fileprivate func seek(_ offset: Int64, _ whence: CInt, for operation: String) throws(FileError) -> Int64 {
        let system = io.system
        let result = system.retrying { system.calls.randomAccess.seek(descriptor, offset, whence) }
        if result == -Int64(ESPIPE) {
            throw FileError(
                operation: operation, path: path, systemError: ESPIPE,
                remedy: "Read or write it from start to end, because pipes, sockets and terminals have no position.")
        }
        try system.check(result, operation, path)
        return result
    }
}

// MARK: - Publishing

extension AsyncFileStream where Mode == WriteMode {
    /// Renames the file to its final name and closes it.
    ///
    ///     let part = try await partURL.openForWriting(locked: true)
    ///     try await part.write(data)
    ///     // … verified …
    ///     try await part.publish(as: songURL, durability: .full)
    ///
    /// One job gives the file the owner, group, mode and access control list of the file that it replaces, as in
    /// `Data.asyncWrite(to:options:using:)`, syncs it, checks that its path still leads to it, renames it, syncs the directory, and closes
    /// it. A symbolic link at the destination is replaced, not followed. A directory, device, FIFO or socket is refused. See fsync(2),
    /// rename(2).
    ///
    /// Until then, the file has the mode that it was opened with. To replace a file that others can't read, open the new one with
    /// `permissions: 0o600`.
    ///
    /// The destination must be on the same file system. An existing file there is an error by default, and `.skip` is the same as `.fail`.
    /// `durability` determines what is guaranteed after a power failure, and so which syncs happen.
    ///
    /// The file is closed in any case. A lock is held until the file has been renamed or removed. With `removesOnFailure`, the file is
    /// removed if the method fails before the rename, but only if the path still leads to it, so it never removes the file of a process
    /// that was waiting for the lock.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, which counts as a failure before the rename. Once
    ///   started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/replaced`` if another file has taken the old name, and
    ///   ``FileError/Code/notFound`` if no file has it. In both cases nothing is renamed. If the sync of the directory or the
    ///   close fails, the file already has its new name.
    public consuming func publish(
        as destination: URL, existing: ExistingFile = .fail, durability: Durability = .full,
        removesOnFailure: Bool = false
    ) async throws {
        try await publish(as: destination, existing, durability, newFile: nil, removesOnFailure: removesOnFailure)
    }

    /// Publishes the file. If it doesn't replace another file and `newFile` isn't `nil`, it gets these permissions as a new file would.
    /// `temporary` is a path in the destination's directory, for an empty file that reveals the resulting rights.
    consuming func publish(
        as destination: URL, _ existing: ExistingFile, _ durability: Durability,
        newFile: (permissions: FilePermissions, temporary: String)?,
        removesOnFailure: Bool
    ) async throws {
        let file = file
        do {
            let final = try Path.of(destination, for: "publish to")
            try await file.io.run { _ in
                try file.publish(
                    as: final, existing, durability, newFile: newFile, removesOnFailure: removesOnFailure)
            }
        } catch {
            // A job that has started has closed the file. Otherwise this job closes it; it runs even if the task is cancelled.
            // The caller gets the first error.
            try? await file.io.run(mustRun: true) { _ in file.abandon(removing: removesOnFailure) }
            throw error
        }
    }

    /// Removes the file and closes it. A different file that has taken its name stays.
    ///
    /// - Cancellation: Runs even if the task is cancelled.
    /// - Failure: A ``FileError``. The file is closed in any case.
    public consuming func discard() async throws {
        let file = file
        try await file.io.run(mustRun: true) { _ in
            let system = file.io.system
            defer { file.closeOnceQuietly() }
            try system.unlink(file.path, ifStill: file.status)
        }
    }
}

extension OpenFile {
    fileprivate func publish(
        as final: String, _ existing: ExistingFile, _ durability: Durability,
        newFile: (permissions: FilePermissions, temporary: String)?,
        removesOnFailure: Bool
    ) throws(FileError) {
        let system = io.system
        do throws(FileError) {
            let replaced = try system.statusOfReplaced(final, existing, for: "publish to")
            if let replaced, let rights = try system.rights(of: final, known: replaced) {
                try system.give(rights, to: descriptor, path)
            } else if let newFile {
                try takeRightsOfNewFile(newFile.permissions, newFile.temporary)
            }
            try system.sync(descriptor, durability, path)
            try checkName()
            try system.rename(path, to: final, existing: existing)
        } catch {
            abandon(removing: removesOnFailure)
            throw error
        }
        do throws(FileError) {
            if durability == .fullAndDirectory {
                try system.syncDirectory(of: final)
                // Compares bytes: strings with the same characters can be different names.
                let isSame = Path.directory(of: final).utf8.elementsEqual(Path.directory(of: path).utf8)
                if !isSame { try system.syncDirectory(of: path) }
            }
        } catch {
            abandon(removing: false)
            throw error
        }
        try closeOnce(as: final)
    }

    /// Closes the file if it is open. Removes it first: while the lock is held, no other process uses the name.
    fileprivate func abandon(removing: Bool) {
        guard takeDescriptor() else { return }
        if removing { try? io.system.unlink(path, ifStill: status) }
        io.system.closeQuietly(descriptor, isLocked: isLocked)
    }

    private func takeRightsOfNewFile(_ permissions: FilePermissions, _ temporary: String) throws(FileError) {
        let system = io.system
        // Nil if there is no room for another file. Then only its owner can open this one, which is already complete.
        let new = try system.rightsOfNewFile(
            in: Path.directory(of: temporary), permissions: permissions.rawValue, temporary: temporary)
        guard var rights = new else { return }
        let now = try system.rights(ofDescriptor: descriptor, path)
        (rights.user, rights.group) = (now.user, now.group)
        try system.give(rights, to: descriptor, instead: now, path)
    }

    /// Checks that the path still leads to this file, since rename(2) takes a name, not a descriptor. The kernel has no call that
    /// checks and renames in one step. Programs that use the lock don't put another file there in between.
    private func checkName() throws(FileError) {
        guard let found = try io.system.status(of: path, followsLinks: false) else {
            throw FileError(
                code: .notFound, operation: "publish", path: path,
                remedy: "Write the file again, because it was removed or renamed while it was written.")
        }
        guard found.isSameFile(as: status) else {
            throw FileError(
                code: .replaced, operation: "publish", path: path,
                remedy: "Find the other program that writes to this path, and write the file again.")
        }
    }
}
