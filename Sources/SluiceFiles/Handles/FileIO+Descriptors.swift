#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// Descriptors that the caller has open: standard streams, pipes, sockets, terminals.
//
// Pipes and their like are waited for on the readiness lane and are read and written without a thread of the pool. O_NONBLOCK
// is not set on them: see docs/Decisions/0015. A regular file behind a descriptor is read and written on the pool.
extension FileIO {
    /// Writes all bytes to a descriptor of the caller's, such as standard output.
    ///
    ///     try await files.write(page, descriptor: 1, name: "standard output")
    ///
    /// The caller owns the descriptor and keeps it open. A pipe, socket or terminal that has no room is waited for, and holds
    /// no thread. A pipe without a reader is ``FileError/Code/brokenPipe``; no SIGPIPE is raised. See write(2), pipe(7).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`, and no byte was written. A pipe or its like is left
    ///   immediately also later, with a ``FileError`` of ``FileError/Code/cancelled`` if a part of the bytes was written. The
    ///   write to a regular file, once begun, goes on to the last byte or the first failure.
    /// - Failure: a ``FileError`` whose `bytesWritten` says how many bytes were put out.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - descriptor: An open descriptor.
    ///   - name: What errors call it.
    public func write(_ data: Data, descriptor: CInt, name: String) async throws {
        try Task.checkCancellation()
        if let transfer = try ReadinessTransfer(of: descriptor, for: .writing, self, name) {
            return try await transfer.counting { try await transfer.write([.data(data)]) }
        }
        try await run { [kernel] _ in
            try data.withUnsafeBytes { try kernel.write(descriptor, $0, name) }
        }
    }

    /// Reads what there is on a descriptor of the caller's, and waits for it if there is nothing.
    ///
    ///     let answer = try await files.read(upToCount: 4096, descriptor: 0, name: "standard input")    // one line of a terminal
    ///
    /// Unlike a read of a file, this does not go on until `count` bytes are there: what the other side has written so far is
    /// what it waits to be answered for. No byte comes only at the end. The caller owns the descriptor and keeps it open.
    /// See read(2).
    ///
    /// - Cancellation: ends the wait immediately with `CancellationError`, and no byte is lost.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - count: The most bytes to read.
    ///   - descriptor: An open descriptor.
    ///   - name: What errors call it.
    public func read(upToCount count: Int, descriptor: CInt, name: String) async throws -> Data {
        precondition(count >= 0, "A count is not negative.")
        try Task.checkCancellation()
        if let transfer = try ReadinessTransfer(of: descriptor, for: .reading, self, name) {
            return try await transfer.counting { try await transfer.readSome(upToCount: count) }
        }
        return try await run { [kernel] _ in
            var buffer = ReadBuffer(expected: min(count, 64 << 10))
            if count > 0 {
                let read = try buffer.append(atMost: min(count, 64 << 10)) { free throws(FileError) in
                    try kernel.read(descriptor, into: free, name)
                }
                if read == nil { throw Kernel.outOfMemory(name) }
            }
            return buffer.data()
        }
    }

    /// Reads a descriptor of the caller's, such as standard input, to its end.
    ///
    ///     let markdown = try await files.readToEnd(descriptor: 0, name: "standard input", limit: 64 << 20)
    ///
    /// The caller owns the descriptor and keeps it open. While the other side of a pipe or terminal is silent, no thread
    /// waits. See read(2).
    ///
    /// - Cancellation: leaves the queue or the wait immediately, or stops between two reads, with `CancellationError`. What was
    ///   read until then is lost; `chunks(descriptor:)` and `read(upToCount:descriptor:)` lose nothing.
    /// - Failure: a ``FileError``, among them ``FileError/Code/limitExceeded`` when there is more than `limit`.
    ///
    /// - Parameters:
    ///   - descriptor: An open descriptor.
    ///   - name: What errors call it.
    ///   - limit: The most bytes to accept.
    public func readToEnd(
        descriptor: CInt, name: String, limit: Int = FileIO.defaultReadLimit
    ) async throws -> Data {
        precondition(limit >= 0, "A limit is not negative.")
        try Task.checkCancellation()
        if let transfer = try ReadinessTransfer(of: descriptor, for: .reading, self, name) {
            var data = Data()
            try await transfer.counting { try await transfer.readToEnd(limit: limit, after: &data) }
            return data
        }
        return try await run { [kernel] cancellation in
            let bytes = try kernel.readToEnd(descriptor, limit: limit, expected: 64 << 10, name, cancellation)
            return bytes.data()
        }
    }

    /// The bytes of a descriptor of the caller's in chunks, as they arrive.
    ///
    ///     for try await line in files.chunks(descriptor: 0, name: "standard input").lines() { … }
    ///
    /// A chunk is what is there when it is asked for, up to `size` bytes: the next one is not waited for to fill it. Nothing
    /// is read ahead. The caller owns the descriptor and keeps it open; two iterations share its bytes.
    ///
    /// - Cancellation: the next chunk throws `CancellationError`, immediately; no byte is lost.
    /// - Failure: a ``FileError``, after the chunks before it.
    ///
    /// - Parameters:
    ///   - descriptor: An open descriptor.
    ///   - name: What errors call it.
    ///   - size: The most bytes of a chunk.
    public func chunks(
        descriptor: CInt, name: String, upTo size: Int = 64 << 10
    ) -> FileChunks {
        precondition(size > 0, "A chunk has at least one byte.")
        return FileChunks(.descriptor(descriptor, name: name, owner: nil), size: size, self)
    }
}
