internal import CSluiceFiles

// Complete reads and writes, in spite of short results, interruptions and descriptors that aren't ready.
extension Kernel {
    /// The largest number of bytes of one read or write. Linux transfers no more; macOS refuses more than INT_MAX.
    static var largestTransfer: Int { 2_147_479_552 }

    /// IOV_MAX, the largest number of pieces of one writev(2).
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
        // One byte more than the limit shows an excess; one more than expected finds the end in one call.
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

    /// Writes all bytes. The error counts those that were written, including the `written` bytes before this call. See write(2).
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

    /// Returns as many pieces as one call accepts. Their sum stays within one transfer, because a sum over SSIZE_MAX fails with EINVAL.
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
            // POSIX has no result of 0 for a write of at least 1 byte. Without this line it would cause an endless loop.
            throw FileError(
                operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result), bytesWritten: written)
        }
    }

    /// Blocks until a descriptor that other code made non-blocking is ready. See poll(2).
    private func wait(for descriptor: CInt, _ direction: SystemCalls.Direction, _ path: String) throws(FileError) {
        try check(retrying { calls.waitUntilReady(descriptor, direction) }, "wait for", path)
    }
}
