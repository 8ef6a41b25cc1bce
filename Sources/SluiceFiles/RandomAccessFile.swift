internal import CSluiceFiles
internal import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An open file that many tasks read and write concurrently, each at its own offsets.
///
///     let index = try await url.withRandomAccessFile(.readWrite) { file in     // closes on every path
///         try await file.write(block, at: 4096)
///         return try await file.read(at: 0, upToCount: 512)
///     }
///
///     let file = try await url.openForRandomAccess()
///     async let head = file.read(at: 0, upToCount: 512)
///     async let tail = file.read(at: max(0, file.size - 512), upToCount: 512)
///     let both = try await (head, tail)
///     try await file.close()
///
/// Every operation takes an offset. If a read or write overlaps a concurrent write, their order is undefined, and a read may see part of
/// the write. To order two operations, await the first one.
///
/// Only regular files and devices with offsets can be opened. A FIFO or socket throws an error.
///
/// A negative offset, count or size traps. Check numbers from a file before you pass them.
///
/// ``close()`` waits for running and queued operations and refuses later ones. A file that is dropped without it is closed on a thread of
/// the engine, and errors from the close are lost.
public final class RandomAccessFile: Sendable {
    let file: OpenFile
    private let use = Lock(DescriptorUse<CheckedContinuation<ClosingTurn, Never>>())

    init(_ file: OpenFile) { self.file = file }

    /// The path that the file was opened with.
    public var path: String { file.path }

    // MARK: Closing

    /// Closes the file. Throws errors from the close, including delayed write errors. See close(2).
    ///
    /// The call first waits for running and queued operations. Later operations throw a ``FileError`` with code
    /// ``FileError/Code/invalidArgument``. Further calls do nothing and return when the file is closed.
    ///
    /// - Cancellation: Runs even if the task is cancelled, and doesn't throw `CancellationError`.
    /// - Failure: A ``FileError``, from the first call. The file is closed in any case.
    public func close() async throws {
        let turn = await withCheckedContinuation { continuation in
            let turn = use.withLock { $0.close(continuation) }
            if let turn { continuation.resume(returning: turn) }
        }
        guard turn == .close else { return }
        let result: Result<Void, any Error>
        do {
            result = .success(try await file.close())
        } catch {
            result = .failure(error)
        }
        for waiter in use.withLock({ $0.closed() }) { waiter.resume(returning: .nothing) }
        try result.get()
    }

    // MARK: Operations

    private func using<R>(for operation: String, _ body: () async throws -> R) async throws -> R {
        guard use.withLock({ $0.begin() }) else { throw wasClosed(operation) }
        defer {
            let closer = use.withLock { $0.end() }
            closer?.resume(returning: .close)
        }
        return try await body()
    }

    private func run<R: Sendable>(
        _ operation: String, _ body: @escaping @Sendable (borrowing Cancellation) throws -> R
    ) async throws -> R {
        try await using(for: operation) { try await file.io.run(body) }
    }

    private func wasClosed(_ operation: String) -> FileError {
        FileError(
            operation: operation, path: file.path, systemError: EBADF,
            remedy: "Open the file again, because it was closed before.")
    }
}

// MARK: - Opening

extension URL {
    /// Opens the file for random access, calls `body` with it, and closes it whether `body` returns or throws.
    ///
    /// Operations of tasks that outlive the scope throw, because the file is closed.
    ///
    /// - Cancellation: Same as for opening the file and for the operations in `body`. The file is closed even if the task is cancelled.
    /// - Failure: A ``FileError`` from opening or closing, or an error from `body`. Bytes that `body` has written stay in the file.
    public func withRandomAccessFile<R>(
        _ access: FileAccess = .readOnly, permissions: FilePermissions = .newFile,
        using files: FileIO = .shared, _ body: (RandomAccessFile) async throws -> R
    ) async throws -> R {
        let file = try await openForRandomAccess(access, permissions: permissions, using: files)
        return try await scoped {
            try await body(file)
        } finally: {
            try await file.close()
        }
    }

    /// Opens the file for random access. The file isn't truncated. A new file gets the mode `permissions`, as masked by the umask.
    ///
    /// A directory throws ``FileError/Code/isDirectory``. A FIFO or socket has no offsets and throws
    /// ``FileError/Code/notRegularFile``, without waiting for its other end. See open(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once the file is open, it is returned.
    /// - Failure: A ``FileError``.
    public func openForRandomAccess(
        _ access: FileAccess = .readOnly, permissions: FilePermissions = .newFile,
        using files: FileIO = .shared
    ) async throws -> RandomAccessFile {
        let path = try Path.of(self, for: "open")
        let flags =
            switch access {
            case .readOnly: O_RDONLY
            case .readWrite: O_RDWR
            case .createIfMissing: O_RDWR | O_CREAT
            case .createNew: O_RDWR | O_CREAT | O_EXCL
            }
        return try await files.run { _ in
            let opened = try files.system.openSeekable(path, flags, permissions.rawValue)
            files.inline.learn(path, opened.descriptor, opened.status, files.system)
            return RandomAccessFile(OpenFile(opened, files))
        }
    }
}

extension SystemInterface {
    /// Opens a file that has offsets, without waiting for another process such as the other end of a FIFO.
    func openSeekable(_ path: String, _ flags: CInt, _ permissions: UInt32 = 0) throws(FileError) -> RawFile {
        let opened: RawFile
        do throws(FileError) {
            opened = try openWithoutWaiting(path, flags, permissions: permissions)
        } catch {
            // Opening a socket fails with ENXIO on Linux and EOPNOTSUPP on Apple platforms.
            guard [ENXIO, EOPNOTSUPP].contains(error.systemError) else { throw error }
            throw Self.hasNoOffsets(path, error.systemError)
        }
        let refusal: FileError? =
            if opened.status.isDirectory {
                FileError(operation: "open", path: path, systemError: EISDIR)
            } else if opened.status.isFIFO || opened.status.kind == UInt32(S_IFSOCK) {
                Self.hasNoOffsets(path)
            } else { nil }
        guard let refusal else { return opened }
        closeQuietly(opened.descriptor)
        throw refusal
    }

    private static func hasNoOffsets(_ path: String, _ number: CInt = 0) -> FileError {
        FileError(
            code: .notRegularFile, operation: "open", path: path, systemError: number,
            remedy: "Open it for reading or writing instead, because a FIFO or socket has no offsets.")
    }
}

/// How a file is opened for random access.
public enum FileAccess: Sendable, Hashable {
    /// Reading only. The file must exist.
    case readOnly
    /// Reading and writing. The file must exist.
    case readWrite
    /// Reading and writing. A missing file is created.
    case createIfMissing
    /// Reading and writing a new file. If the file exists, opening throws ``FileError/Code/exists``. If several tasks or processes
    /// try concurrently, one succeeds.
    case createNew
}

// MARK: - Reading

extension RandomAccessFile {
    /// Reads up to `count` bytes at an offset. Returns fewer only at the end of the file, and none after it.
    ///
    /// Memory is bounded by the bytes read, not by `count`. See pread(2).
    ///
    /// - Precondition: `offset` and `count` aren't negative.
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running call throws it between system calls.
    /// - Failure: A ``FileError``.
    public func read(at offset: Int64, upToCount count: Int) async throws -> Data {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        precondition(count >= 0, "The count must not be negative; it is \(count).")
        return try await using(for: "read") {
            try await file.io.read(file, at: offset, upToCount: count)
        }
    }

    /// Reads bytes at an offset into the caller's memory until the memory is full or the file ends.
    ///
    ///     var page = [UInt8](repeating: 0, count: 4096)
    ///     var span = page.mutableSpan
    ///     var bytes = span.mutableBytes
    ///     let count = try await file.read(at: 7 * 4096, into: &bytes)        // 0 past the end
    ///
    /// Memory after the bytes that were read isn't changed.
    ///
    /// - Returns: The number of bytes. It's less than the span's size only at the end of the file.
    /// - Precondition: `offset` isn't negative.
    /// - Cancellation: As in ``read(at:upToCount:)``. The span may have been written to.
    /// - Failure: A ``FileError``. The span may have been written to.
    public func read(at offset: Int64, into bytes: inout MutableRawSpan) async throws -> Int {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        // The span borrows its owner, and is borrowed itself, until this function returns. It returns only after the job has
        // ended or was withdrawn.
        let memory = bytes.withUnsafeMutableBytes { BorrowedMemory(bytes: $0) }
        return try await using(for: "read") {
            try await file.io.read(file, at: offset, into: memory)
        }
    }
}

// Every positional read goes through here: the one function that chooses its lane.
extension FileIO {
    func read(_ file: OpenFile, at offset: Int64, upToCount count: Int) async throws -> Data {
        try FileIO.checkCancellation()
        let start = readInline(file, upToCount: count, at: offset)
        if start.count == count { return start }
        let (next, rest) = (offset + Int64(start.count), count - start.count)
        let end = try await run { [system] cancellation in
            let bytes = try system.read(file.descriptor, at: next, upToCount: rest, file.path, cancellation)
            return bytes.data()
        }
        return start.isEmpty ? end : start + end
    }

    func read(_ file: OpenFile, at offset: Int64, into memory: BorrowedMemory) async throws -> Int {
        try FileIO.checkCancellation()
        let start = readInline(file, into: memory.bytes, at: offset)
        if start == memory.bytes.count { return start }
        return start
            + (try await run { [system] cancellation in
                let free = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[start...])
                return try system.read(file.descriptor, at: offset + Int64(start), into: free, file.path, cancellation)
            })
    }
}

struct BorrowedMemory: @unchecked Sendable {
    // No lock: the value is immutable, and one job writes to the memory while the owner's exclusive borrow lasts.
    let bytes: UnsafeMutableRawBufferPointer
}

extension SystemInterface {
    /// For reads up to this size, memory is allocated without querying the file's size.
    private static var smallRead: Int { 256 << 10 }

    func read(
        _ descriptor: CInt, at offset: Int64, upToCount count: Int, _ path: String,
        _ cancellation: borrowing Cancellation
    ) throws -> ReadBuffer {
        // There are no bytes past the largest offset, and a request that extends past it fails with EINVAL.
        let count = min(count, Int(clamping: .max - offset))
        var expected = count
        if count > Self.smallRead {
            let rest = max(offset, try status(ofDescriptor: descriptor, path).size) - offset
            expected = max(Self.smallRead, Int(clamping: rest.addingClamped(1)))
        }
        var buffer = ReadBuffer(expected: min(count, expected))
        while buffer.count < count {
            try cancellation.check()
            let (wanted, next) = (count - buffer.count, offset + Int64(buffer.count))
            let read = try buffer.append(atMost: wanted) { (free) throws(FileError) in
                try self.read(descriptor, at: next, into: free, path)
            }
            guard let read else { throw Self.outOfMemory(path) }
            if read == 0 { break }
        }
        return buffer
    }

    func read(
        _ descriptor: CInt, at offset: Int64, into memory: UnsafeMutableRawBufferPointer, _ path: String,
        _ cancellation: borrowing Cancellation
    ) throws -> Int {
        let count = min(memory.count, Int(clamping: .max - offset))
        var done = 0
        while done < count {
            try cancellation.check()
            let free = UnsafeMutableRawBufferPointer(rebasing: memory[done..<count])
            let read = try read(descriptor, at: offset + Int64(done), into: free, path)
            if read == 0 { break }
            done += read
        }
        return done
    }

    private func read(
        _ descriptor: CInt, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, _ path: String
    ) throws(FileError) -> Int {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.largestTransfer))
        let result = retrying { calls.randomAccess.readAt(descriptor, piece, offset) }
        try check(result, "read", path)
        return result
    }
}

// MARK: - Writing

extension RandomAccessFile {
    /// Writes all bytes at an offset. A write after the end of the file leaves a hole that reads as zeros. See pwrite(2).
    ///
    /// - Precondition: `offset` isn't negative.
    /// - Cancellation: A queued call throws `CancellationError` immediately, and nothing is written. Once started, the operation
    ///   completes.
    /// - Failure: A ``FileError``. Its `bytesWritten` is the number of bytes that this call wrote.
    public func write(_ data: Data, at offset: Int64) async throws {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        try await run("write") { [file] _ in
            try data.withUnsafeBytes { try file.io.system.write(file.descriptor, $0, at: offset, file.path) }
        }
    }

    /// Writes all bytes of a span at an offset, without copying them.
    ///
    /// Cancellation and failure are the same as in `write(_:at:)` with a `Data`.
    ///
    /// - Precondition: `offset` isn't negative.
    public func write(_ bytes: RawSpan, at offset: Int64) async throws {
        precondition(offset >= 0, "The offset must not be negative; it is \(offset).")
        // As in AsyncFileStream.write(_:): the span borrows its owner until this function returns.
        let borrowed = bytes.withUnsafeBytes { BorrowedBytes(pieces: [$0]) }
        try await run("write") { [file] _ in
            try file.io.system.write(file.descriptor, borrowed.pieces[0], at: offset, file.path)
        }
    }

    /// Waits until the written bytes are on the device, to the extent that `durability` guarantees. See fsync(2).
    ///
    /// The sync covers every write that returned before it, in any task. If a sync fails, the kernel may have dropped the bytes that it
    /// couldn't write. Don't sync again; write the file again.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public func sync(_ durability: Durability = .full) async throws {
        try await run("sync") { [file] _ in
            try file.io.system.sync(file.descriptor, durability, file.path)
            if durability == .fullAndDirectory { try file.io.system.syncDirectory(of: file.path) }
        }
    }
}

extension SystemInterface {
    func write(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, at offset: Int64, _ path: String
    ) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let piece = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(done).prefix(Self.largestTransfer))
            let result = retrying { calls.randomAccess.writeAt(descriptor, piece, offset + Int64(done)) }
            guard result > 0 else {
                // POSIX doesn't allow a result of 0 for a write of at least 1 byte. Without this check, it would cause an endless loop.
                throw FileError(
                    operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result), bytesWritten: done)
            }
            done += result
        }
    }
}

// MARK: - Size and space

extension RandomAccessFile {
    /// The file's current size in bytes. The sizes of devices and of files in /proc and /sys aren't reliable. See fstat(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``.
    public var size: Int64 {
        get async throws {
            try await run("read the status of") { [file] _ in
                try file.io.system.status(ofDescriptor: file.descriptor, file.path).size
            }
        }
    }

    /// Truncates the file, or extends it with zeros that take no space, to a size in bytes. See ftruncate(2).
    ///
    /// - Precondition: `size` isn't negative.
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``.
    public func truncate(to size: Int64) async throws {
        precondition(size >= 0, "The size must not be negative; it is \(size).")
        try await run("truncate") { [file] _ in
            try file.io.system.truncate(file.descriptor, to: size, file.path)
        }
    }

    /// Reserves space on the device for a range, so that writing there doesn't run out of space later.
    ///
    /// Unless `keepsSize` is true, the file grows to the end of the range. Existing bytes stay; new ones read as zeros. On copy-on-write
    /// file systems (Btrfs, ZFS, APFS), the space isn't guaranteed. If the file system can't reserve space, the method throws. It doesn't
    /// write zeros instead, as posix_fallocate(3) does, because that races with other writers. See fallocate(2); on Apple platforms
    /// F_PREALLOCATE of fcntl(2).
    ///
    /// - Precondition: The range doesn't begin before 0.
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/noSpace``, or ``FileError/Code/unsupported`` if the file system can't reserve space.
    public func preallocate(_ range: Range<Int64>, keepsSize: Bool = false) async throws {
        precondition(range.lowerBound >= 0, "The offset must not be negative; it is \(range.lowerBound).")
        if range.isEmpty { return }  // EINVAL otherwise.
        try await run("preallocate space in") { [file] _ in
            try file.io.system.preallocate(file.descriptor, range, keepsSize: keepsSize, file.path)
        }
    }

    /// Gives the space of a range back to the file system. Its bytes then read as zeros, and the size stays the same.
    ///
    /// On Linux the range may have any bounds, and the whole blocks in it are freed. On Apple platforms it must consist of whole blocks.
    /// See fallocate(2), "Deallocating file space".
    ///
    /// - Precondition: The range doesn't begin before 0.
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/unsupported`` if the file system can't punch holes.
    public func punchHole(_ range: Range<Int64>) async throws {
        precondition(range.lowerBound >= 0, "The offset must not be negative; it is \(range.lowerBound).")
        if range.isEmpty { return }
        try await run("punch a hole in") { [file] _ in
            let system = file.io.system
            try system.check(
                system.retrying {
                    system.calls.randomAccess.punchHole(file.descriptor, range.lowerBound, Int64(range.count))
                }, "punch a hole in", file.path)
        }
    }
}

extension SystemInterface {
    func preallocate(
        _ descriptor: CInt, _ range: Range<Int64>, keepsSize: Bool, _ path: String
    ) throws(FileError) {
        let (offset, count) = (range.lowerBound, Int64(range.count))
        let result = retrying { calls.randomAccess.preallocate(descriptor, offset, count, keepsSize) }
        if result == -EOPNOTSUPP || result == -ENOSYS {
            throw FileError(
                operation: "preallocate space in", path: path, systemError: -result,
                remedy:
                    "Continue without it, because this file system can't reserve space in advance.")
        }
        try check(result, "preallocate space in", path)
    }
}

// MARK: - Advice

/// A hint about the intended use of a file's bytes, which the system may ignore.
///
///     try await file.advise(.random)                              // no read-ahead for the following lookups
///     try await file.advise(.notNeeded, for: 0..<done)            // the page cache may drop these bytes
///
/// See posix_fadvise(2), and madvise(2) for a ``MappedFile``.
public enum AccessAdvice: Sendable, Hashable, CaseIterable {
    /// No particular order. Cancels earlier advice.
    case normal
    /// From start to end: the system reads far ahead.
    case sequential
    /// In no order: the system doesn't read ahead.
    case random
    /// Soon: the system begins to read the bytes from the device. The call doesn't wait for that.
    case needed
    /// Not soon: the page cache may drop the bytes. It keeps bytes that aren't on the device yet, so sync first.
    case notNeeded
}

extension RandomAccessFile {
    /// Tells the system how the program will use a range of the file, or all of it, including bytes that are written later.
    ///
    /// On Apple platforms ``AccessAdvice/notNeeded`` has no effect, and ``AccessAdvice/random`` applies to the whole file.
    ///
    /// - Precondition: The range doesn't begin before 0.
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. A hint that the system ignores isn't an error.
    public func advise(_ advice: AccessAdvice, for range: Range<Int64>? = nil) async throws {
        precondition(
            range.map { $0.lowerBound >= 0 } ?? true,
            "The offset must not be negative; it is \(range?.lowerBound ?? 0).")
        if range?.isEmpty == true { return }  // The system call takes a count of 0 for all bytes.
        try await run("advise the system about") { [file] _ in
            let system = file.io.system
            let (offset, count) = (Int64(range?.lowerBound ?? 0), Int64(range?.count ?? 0))
            try system.check(
                system.retrying { system.calls.randomAccess.adviseFile(file.descriptor, offset, count, advice) },
                "advise the system about", file.path)
        }
    }
}

// MARK: - Closing a shared descriptor

/// Counts the operations on a shared descriptor and decides when it may be closed. A pure value.
///
/// After close(2) the kernel gives the descriptor's number to the next file that is opened, and an operation still in flight would write
/// into that file. So an operation counts from before it is queued until it has returned. Closing refuses new operations, and the
/// descriptor is closed when the count reaches 0:
///
/// ```text
/// task A                 task B                     task C
/// begin: 1
///                        close: no new operations,
///                        waits
///                                                   begin: refused
/// end: 0, wakes B
///                        closes the descriptor
///                        closed: wakes the other
///                        tasks that called close
/// ```
package struct DescriptorUse<Waiter> {
    private enum Phase {
        case open
        /// `closer` waits until the operations have ended. It's `nil` once it has been woken.
        case closing(closer: Waiter?)
        case closed
    }

    private var phase = Phase.open
    private var operations = 0
    private var later: [Waiter] = []

    package init() {}

    /// Returns whether an operation may begin. If so, the caller must call ``end()``.
    package mutating func begin() -> Bool {
        guard case .open = phase else { return false }
        operations += 1
        return true
    }

    /// Records the end of an operation. Returns the waiter that must now close the descriptor, if any.
    package mutating func end() -> Waiter? {
        precondition(operations > 0, "An operation may end only once.")
        operations -= 1
        guard operations == 0, case .closing(let closer) = phase else { return nil }
        phase = .closing(closer: nil)
        return closer
    }

    /// Refuses operations from now on. Returns what the caller must do, or `nil` if it must wait.
    package mutating func close(_ waiter: Waiter) -> ClosingTurn? {
        switch phase {
        case .open:
            let isFree = operations == 0
            phase = .closing(closer: isFree ? nil : waiter)
            return isFree ? .close : nil
        case .closing:
            later.append(waiter)
            return nil
        case .closed:
            return .nothing
        }
    }

    /// Records that the descriptor is closed. Returns the waiters to wake with ``ClosingTurn/nothing``.
    package mutating func closed() -> [Waiter] {
        phase = .closed
        defer { later = [] }
        return later
    }
}

package enum ClosingTurn: Sendable, Hashable {
    /// Close the descriptor, and then call ``DescriptorUse/closed()``.
    case close
    /// Nothing: the descriptor is closed.
    case nothing
}
