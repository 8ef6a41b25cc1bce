// The only file in this module that needs all of Foundation, because `FileHandle` isn't in FoundationEssentials.
public import Foundation

// Descriptors that the caller has opened: standard streams, pipes, sockets, terminals.
//
// The readiness lane waits for pipes, sockets and terminals, which are read and written without a pool thread. O_NONBLOCK isn't set on
// them: see docs/Decisions/0015. A regular file behind a descriptor is read and written on the pool.
extension FileIO {
    /// Writes all bytes to a descriptor that you own, such as standard output.
    ///
    /// You must keep the descriptor open; `name` identifies it in errors. Waiting for room in a pipe, socket or terminal uses no thread. A
    /// pipe without a reader throws ``FileError/Code/brokenPipe``; no SIGPIPE is raised. See write(2), pipe(7).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, and nothing is written. A call that waits for a pipe, socket
    ///   or terminal also stops immediately, even inside ``uninterrupted(_:)``: it throws `CancellationError` if no byte was written, and
    ///   otherwise a ``FileError`` with ``FileError/Code/cancelled``. Once started, a write to a regular file completes.
    /// - Failure: A ``FileError``. Its `bytesWritten` is the number of bytes that this call wrote.
    public func write(_ data: Data, descriptor: CInt, name: String) async throws {
        try FileIO.checkCancellation()
        if let transfer = try ReadinessTransfer(of: descriptor, for: .writing, self, name) {
            return try await transfer.counting { try await transfer.write([.data(data)]) }
        }
        try await run { [system] _ in
            try data.withUnsafeBytes { try system.write(descriptor, $0, name) }
        }
    }

    /// Reads the bytes available on a descriptor that you own. Waits if there are none.
    ///
    ///     let answer = try await files.read(upToCount: 4096, descriptor: 0, name: "standard input")    // one line of a terminal
    ///
    /// Unlike reading a file, this doesn't wait until `count` bytes have arrived, because the other side may be waiting for an answer.
    /// Returns an empty `Data` only at the end. You must keep the descriptor open; `name` identifies it in errors. See read(2).
    ///
    /// - Precondition: `count` isn't negative. Check a number that the other side sent before you pass it.
    /// - Cancellation: A queued or waiting call throws `CancellationError` immediately, and no byte is lost.
    /// - Failure: A ``FileError``.
    public func read(upToCount count: Int, descriptor: CInt, name: String) async throws -> Data {
        precondition(count >= 0, "The count must not be negative; it is \(count).")
        try FileIO.checkCancellation()
        if let transfer = try ReadinessTransfer(of: descriptor, for: .reading, self, name) {
            return try await transfer.counting { try await transfer.readSome(upToCount: count) }
        }
        return try await run { [system] _ in
            var buffer = ReadBuffer(expected: min(count, 64 << 10))
            if count > 0 {
                let read = try buffer.append(atMost: min(count, 64 << 10)) { free throws(FileError) in
                    try system.read(descriptor, into: free, name)
                }
                if read == nil { throw SystemInterface.outOfMemory(name) }
            }
            return buffer.data()
        }
    }

    /// Reads a descriptor that you own, such as standard input, to its end.
    ///
    /// You must keep the descriptor open; `name` identifies it in errors. Waiting for a pipe, socket or terminal uses no thread. Without
    /// `maximumSize`, there is no limit. See read(2).
    ///
    /// - Precondition: `maximumSize` isn't negative.
    /// - Cancellation: A queued or waiting call throws `CancellationError` immediately. A running call throws it between reads, and the
    ///   bytes read so far are lost. ``chunks(descriptor:name:upTo:)`` and ``read(upToCount:descriptor:name:)`` lose none.
    /// - Failure: A ``FileError``: ``FileError/Code/limitExceeded`` if there are more bytes than `maximumSize`.
    public func readToEnd(
        descriptor: CInt, name: String, maximumSize: Int = .max
    ) async throws -> Data {
        precondition(maximumSize >= 0, "The maximum size must not be negative; it is \(maximumSize).")
        try FileIO.checkCancellation()
        if let transfer = try ReadinessTransfer(of: descriptor, for: .reading, self, name) {
            var data = Data()
            try await transfer.counting { try await transfer.readToEnd(limit: maximumSize, after: &data) }
            return data
        }
        return try await run { [system] cancellation in
            let bytes = try system.readToEnd(descriptor, limit: maximumSize, expected: 64 << 10, name, cancellation)
            return bytes.data()
        }
    }

    /// Returns the bytes from a descriptor that you own in chunks, as they arrive.
    ///
    ///     for try await line in files.chunks(descriptor: 0, name: "standard input").lines() { … }
    ///
    /// A chunk holds the bytes that are available, up to `size`; the iteration doesn't wait for more to fill it. Nothing is read ahead. You
    /// must keep the descriptor open; `name` identifies it in errors. If two tasks iterate, each byte goes to one of them.
    ///
    /// - Precondition: `size` is at least 1.
    /// - Cancellation: The next chunk throws `CancellationError` immediately, and no byte is lost.
    /// - Failure: A ``FileError``. It is thrown after the chunks that precede it, and ends the iteration.
    public func chunks(
        descriptor: CInt, name: String, upTo size: Int = 64 << 10
    ) -> FileChunks {
        precondition(size > 0, "A chunk's size must be at least 1; it is \(size).")
        return FileChunks(.descriptor(descriptor, name: name, owner: nil), size: size, self)
    }
}

// MARK: - File handles

// The caller owns the `FileHandle`, and must not close it while one of these operations runs. Its O_NONBLOCK flag isn't changed.
// Operations take the handle's descriptor when they begin.
extension FileHandle {
    /// Returns the bytes of a pipe, socket, terminal or file in chunks, as they arrive.
    ///
    ///     let process = Process()
    ///     let pipe = Pipe()
    ///     process.standardOutput = pipe
    ///     try process.run()
    ///     for try await line in pipe.fileHandleForReading.chunks().lines() { print(line) }
    ///
    /// A chunk holds the bytes that are available, up to `size`; the iteration doesn't wait for more to fill it. Nothing is read
    /// ahead, and waiting uses no thread. The iteration keeps the handle alive.
    ///
    /// - Precondition: `size` is at least 1.
    /// - Cancellation: The next chunk throws `CancellationError` immediately, and no byte is lost.
    /// - Failure: A ``FileError``. It is thrown after the chunks that precede it, and ends the iteration.
    public func chunks(of size: Int = 64 << 10, using files: FileIO = .shared) -> FileChunks {
        precondition(size > 0, "A chunk's size must be at least 1; it is \(size).")
        return FileChunks(.descriptor(fileDescriptor, name: asyncName, owner: self), size: size, files)
    }

    /// Reads the available bytes. Waits if there are none. Returns an empty `Data` only at the end.
    ///
    /// Cancellation and failure are the same as in ``FileIO/read(upToCount:descriptor:name:)``.
    ///
    /// - Precondition: `count` isn't negative.
    public func asyncRead(upToCount count: Int, using files: FileIO = .shared) async throws -> Data {
        defer { withExtendedLifetime(self) {} }
        return try await files.read(upToCount: count, descriptor: fileDescriptor, name: asyncName)
    }

    /// Reads until the other side closes, or to the end of the file.
    ///
    ///     let markdown = try await FileHandle.standardInput.asyncReadToEnd(maximumSize: 64 << 20)
    ///
    /// Cancellation and failure are the same as in ``FileIO/readToEnd(descriptor:name:maximumSize:)``.
    ///
    /// - Precondition: `maximumSize` isn't negative.
    public func asyncReadToEnd(
        maximumSize: Int = .max, using files: FileIO = .shared
    ) async throws -> Data {
        defer { withExtendedLifetime(self) {} }
        return try await files.readToEnd(descriptor: fileDescriptor, name: asyncName, maximumSize: maximumSize)
    }

    /// Writes all bytes.
    ///
    /// Cancellation and failure are the same as in ``FileIO/write(_:descriptor:name:)``.
    public func asyncWrite(_ data: Data, using files: FileIO = .shared) async throws {
        defer { withExtendedLifetime(self) {} }
        try await files.write(data, descriptor: fileDescriptor, name: asyncName)
    }

    private var asyncName: String {
        switch fileDescriptor {
        case 0: "standard input"
        case 1: "standard output"
        case 2: "standard error"
        case let descriptor: "descriptor \(descriptor)"
        }
    }
}
