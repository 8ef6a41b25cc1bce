internal import CSluiceFiles

// Reading and writing until it is done: short results, interruptions and descriptors that are not ready.
extension Kernel {
    /// The most that one read or write transfers. Linux stops there whatever is asked for; macOS refuses more than INT_MAX.
    static var largestTransfer: Int { 2_147_479_552 }

    /// The most pieces that one writev takes (IOV_MAX).
    static var maximumPieces: Int { 1024 }

    // MARK: Reading

    /// One read: the bytes that came, 0 only at the end. See read(2).
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

    /// There is no memory for what is read.
    static func outOfMemory(_ path: String) -> FileError {
        FileError(operation: "read", path: path, systemError: ENOMEM)
    }

    /// Reads up to `count` bytes, fewer only at the end. Where progress is reported, in pieces.
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

    /// Reads to the end, and throws when there is more than `limit`.
    func readToEnd(
        _ descriptor: CInt, limit: Int, expected: Int, _ path: String, _ cancellation: borrowing Cancellation,
        _ progress: ProgressCounter? = nil
    ) throws -> ReadBuffer {
        // One byte more than the limit tells the end from an excess, one more than expected finds the end in one call.
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
            remedy: "It holds more than the \(limit) bytes allowed: raise `limit`, or read it in chunks.")
    }

    // MARK: Writing

    /// Writes all bytes. The error says how many were put out, `written` before this call included. See write(2).
    func write(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, after written: Int = 0, _ path: String
    ) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let piece = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(done).prefix(Self.largestTransfer))
            done += try transferred(descriptor, written + done, path) { calls.write(descriptor, piece) }
        }
    }

    /// Writes all pieces, many per system call. See writev(2).
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

    /// As many pieces as one call takes. The sum stays within one transfer: more would be EINVAL (past SSIZE_MAX).
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

    /// The bytes that one call put out, at least one.
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
            // Zero for a write of some bytes is not in POSIX; without this line it would be an endless loop.
            throw FileError(
                operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result), bytesWritten: written)
        }
    }

    /// Blocks until a descriptor that somebody made non-blocking is ready. See poll(2).
    private func wait(for descriptor: CInt, _ direction: SystemCalls.Direction, _ path: String) throws(FileError) {
        try check(retrying { calls.waitUntilReady(descriptor, direction) }, "wait for", path)
    }
}
