internal import CSluiceFiles
internal import Synchronization

/// What jobs do with ``SystemCalls``: its methods retry a call after an interruption, throw errors, and count descriptors. Every method may
/// block its thread, and runs only in jobs.
final class SystemInterface: Sendable {
    let calls: SystemCalls

    let openCount = Atomic(0)

    /// The names of temporary files contain a random number per engine and a counter. O_EXCL detects the remaining collisions.
    private let seed = UInt64.random(in: .min ... .max)
    private let counter = Atomic<UInt64>(0)

    init(calls: SystemCalls) { self.calls = calls }

    func uniqueName(prefix: String) -> String {
        let count = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return "\(prefix)\(String(seed, radix: 36))-\(String(count, radix: 36))"
    }

    /// Calls `create` with new paths in a directory until one isn't taken.
    func withUniquePath<R>(
        in directory: String, prefix: String = ".sluice-", suffix: String = "",
        _ create: (String) throws(FileError) -> R
    ) throws(FileError) -> R {
        var attempt = 1
        while true {
            do throws(FileError) {
                return try create(Path.join(directory, uniqueName(prefix: prefix) + suffix))
            } catch  where error.code == .exists && attempt < 100 {
                attempt += 1  // The name, one of 2^64, is taken.
            }
        }
    }

    // MARK: Results

    /// Retries a call that a signal interrupts, which happens if a handler was installed without SA_RESTART.
    func retrying<R: FixedWidthInteger>(_ call: () -> R) -> R {
        while true {
            let result = call()
            if result != R(-EINTR) { return result }
        }
    }

    func check<R: SignedInteger & FixedWidthInteger>(
        _ result: R, _ operation: @autoclosure () -> String, _ path: @autoclosure () -> String
    ) throws(FileError) {
        if result < 0 { throw FileError(operation: operation(), path: path(), systemError: CInt(-result)) }
    }

    // MARK: Open and close

    /// Opens a file. Child processes don't inherit the descriptor. See open(2).
    func open(
        _ path: String, _ flags: CInt, permissions: UInt32 = 0, for operation: String = "open"
    ) throws(FileError) -> CInt {
        let result = path.withCString { path in retrying { calls.open(path, flags | O_CLOEXEC, permissions) } }
        if result == -EMFILE { throw outOfDescriptors(operation, path) }
        try check(result, operation, path)
        openCount.add(1, ordering: .relaxed)
        return result
    }

    /// Opens a directory inside another one, without following a link. Returns minus the error number on failure.
    func openDirectory(_ name: UnsafePointer<CChar>, in directory: CInt) -> CInt {
        let result = retrying { calls.openAt(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        if result >= 0 { openCount.add(1, ordering: .relaxed) }
        return result
    }

    private func outOfDescriptors(_ operation: String, _ path: String) -> FileError {
        var error = FileError(operation: operation, path: path, systemError: EMFILE)
        let own = openCount.load(ordering: .relaxed)
        if own > 1 {
            error.remedy =
                "Close some of the \(own) files of this FileIO, open fewer concurrently, or raise the limit (ulimit -n)."
        }
        return error
    }

    /// Closes a descriptor once: even after EINTR it's closed, and its number may already belong to another file. See close(2), "Dealing
    /// with error returns from close()".
    ///
    /// `isLocked` means that the descriptor holds a lock. Closing alone may not release it: a forked child process that hasn't called exec
    /// yet holds a copy of the descriptor, and with it the lock. See flock(2).
    func close(_ descriptor: CInt, isLocked: Bool = false, _ path: String) throws(FileError) {
        if isLocked { _ = retrying { calls.unlock(descriptor) } }
        let result = calls.close(descriptor)
        openCount.subtract(1, ordering: .relaxed)
        if result != -EINTR { try check(result, "close", path) }
    }

    func closeQuietly(_ descriptor: CInt, isLocked: Bool = false) {
        if isLocked { _ = retrying { calls.unlock(descriptor) } }
        _ = calls.close(descriptor)
        openCount.subtract(1, ordering: .relaxed)
    }

    // MARK: Status and size

    func truncate(
        _ descriptor: CInt, to size: Int64, for operation: String = "truncate", _ path: String
    ) throws(FileError) {
        try check(retrying { calls.truncate(descriptor, size) }, operation, path)
    }

    func status(ofDescriptor descriptor: CInt, _ path: String) throws(FileError) -> RawStatus {
        var status = RawStatus()
        try check(calls.statusOfDescriptor(descriptor, &status), "read the status of", path)
        return status
    }

    func status(of path: String, followsLinks: Bool = true) throws(FileError) -> RawStatus? {
        var status = RawStatus()
        let result = path.withCString { path in retrying { calls.status(path, followsLinks, &status) } }
        if result == -ENOENT || result == -ENOTDIR { return nil }
        try check(result, "read the status of", path)
        return status
    }

    // MARK: Durability

    func sync(_ descriptor: CInt, _ durability: Durability, _ path: String) throws(FileError) {
        switch durability {
        case .none: break
        case .data: try check(retrying { calls.syncData(descriptor) }, "sync", path)
        case .full, .fullAndDirectory: try check(retrying { calls.sync(descriptor) }, "sync", path)
        }
    }

    /// Syncs the directory of `path`, which makes its names durable. EINVAL is ignored: the file system has no such operation.
    func syncDirectory(of path: String) throws(FileError) {
        let directory = Path.directory(of: path)
        let descriptor = try open(directory, O_RDONLY | O_DIRECTORY)
        let result = retrying { calls.syncDirectory(descriptor) }
        closeQuietly(descriptor)
        if result != -EINVAL { try check(result, "sync the directory", directory) }
    }
}

// MARK: - Transfers

// Reads and writes that run to completion despite short results, interruptions and descriptors that aren't ready.
extension SystemInterface {
    /// The largest number of bytes in one read or write. Linux transfers no more; macOS refuses more than INT_MAX.
    static var largestTransfer: Int { 2_147_479_552 }

    /// IOV_MAX, the largest number of pieces in one writev(2).
    static var maximumPieces: Int { 1024 }

    // MARK: Reading

    func read(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, _ path: String
    ) throws(FileError) -> Int {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.largestTransfer))
        while true {
            let result = retrying { calls.read(descriptor, piece) }
            if result == -Int(EAGAIN) {
                try wait(for: descriptor, .reading, path)
                continue
            }
            try check(result, "read", path)
            return result
        }
    }

    static func outOfMemory(_ path: String) -> FileError {
        FileError(operation: "read", path: path, systemError: ENOMEM)
    }

    /// Reads up to `count` bytes. Returns fewer only at the end. With `progress`, reads in pieces.
    func read(
        _ descriptor: CInt, upToCount count: Int, expected: Int, _ path: String,
        _ cancellation: borrowing Cancellation, _ progress: ProgressCounter? = nil
    ) throws -> ReadBuffer {
        var buffer = ReadBuffer(expected: min(count, expected))
        let piece = progress == nil ? count : ProgressCounter.bytesPerReport
        while buffer.count < count {
            try cancellation.check()
            let wanted = count - buffer.count
            let read = try buffer.append(atMost: min(wanted, piece)) { (free) throws(FileError) in
                try self.read(descriptor, into: free, path)
            }
            guard let read else { throw Self.outOfMemory(path) }
            if read == 0 { break }
            progress?.add(bytes: read)
        }
        return buffer
    }

    func readToEnd(
        _ descriptor: CInt, limit: Int, expected: Int, _ path: String, _ cancellation: borrowing Cancellation,
        _ progress: ProgressCounter? = nil
    ) throws -> ReadBuffer {
        // One byte more than the limit detects an excess; one more than expected finds the end in one call.
        let most = limit == .max ? limit : limit + 1
        let buffer = try read(
            descriptor, upToCount: most, expected: expected == .max ? expected : expected + 1, path, cancellation,
            progress)
        if buffer.count > limit { throw Self.excess(over: limit, path) }
        return buffer
    }

    static func excess(over limit: Int, _ path: String) -> FileError {
        FileError(
            code: .limitExceeded, operation: "read", path: path,
            remedy: "Raise maximumSize, which is \(limit) bytes, or read it in chunks.")
    }

    // MARK: Writing

    /// Writes all bytes. The error counts the bytes that were written, including the `written` bytes before this call. See write(2).
    func write(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, after written: Int = 0, _ path: String
    ) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let piece = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(done).prefix(Self.largestTransfer))
            done += try transferred(descriptor, written + done, path) { calls.write(descriptor, piece) }
        }
    }

    func write(_ descriptor: CInt, pieces: [UnsafeRawBufferPointer], _ path: String) throws(FileError) {
        var pieces = pieces[...]
        var written = 0
        while true {
            while pieces.first?.isEmpty == true { pieces.removeFirst() }
            if pieces.isEmpty { return }
            let batch = Self.batch(of: pieces)
            var result = try transferred(descriptor, written, path) { calls.writeVector(descriptor, batch) }
            written += result
            while let first = pieces.first, result >= first.count {
                result -= first.count
                pieces.removeFirst()
            }
            if result > 0 {
                pieces[pieces.startIndex] = UnsafeRawBufferPointer(rebasing: pieces.first!.dropFirst(result))
            }
        }
    }

    /// Returns as many pieces as one call accepts. Their total stays within one transfer, because a total over SSIZE_MAX fails with EINVAL.
    private static func batch(of pieces: ArraySlice<UnsafeRawBufferPointer>) -> ArraySlice<UnsafeRawBufferPointer> {
        var total = 0
        var batch = pieces.prefix(maximumPieces)
        for index in batch.indices {
            let count = batch[index].count
            if total + count >= largestTransfer {
                batch[index] = UnsafeRawBufferPointer(rebasing: batch[index].prefix(largestTransfer - total))
                return batch[...index]
            }
            total += count
        }
        return batch
    }

    private func transferred(
        _ descriptor: CInt, _ written: Int, _ path: String, _ call: () -> Int
    ) throws(FileError) -> Int {
        while true {
            let result = retrying(call)
            if result > 0 { return result }
            if result == -Int(EAGAIN) {
                try wait(for: descriptor, .writing, path)
                continue
            }
            // POSIX doesn't allow a result of 0 for a write of at least 1 byte. Without this line, it would cause an endless loop.
            throw FileError(
                operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result), bytesWritten: written)
        }
    }

    /// Blocks until a descriptor that other code made non-blocking is ready. See poll(2).
    private func wait(for descriptor: CInt, _ direction: SystemCalls.Direction, _ path: String) throws(FileError) {
        try check(retrying { calls.waitUntilReady(descriptor, direction) }, "wait for", path)
    }
}
