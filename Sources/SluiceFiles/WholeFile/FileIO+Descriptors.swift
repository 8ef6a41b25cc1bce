#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Writes all bytes to a descriptor of the caller's, such as standard output.
    ///
    ///     try await io.write(page, toDescriptor: 1, name: "standard output")
    ///
    /// The caller owns the descriptor and keeps it open. One that is non-blocking is waited for. A pipe that nobody reads is
    /// ``FileError/Code/brokenPipe``; no SIGPIPE is raised. See write(2).
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`, and no byte was written. Once begun, it goes on to
    ///   the last byte or the first failure.
    /// - Failure: a ``FileError`` whose `bytesWritten` says how many bytes were put out.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - descriptor: An open descriptor.
    ///   - name: What errors call it.
    public func write(_ data: Data, toDescriptor descriptor: CInt, name: String) async throws {
        try await run { [kernel] _ in
            try data.withUnsafeBytes { try kernel.write(descriptor, $0, name) }
        }
    }

    /// Reads a descriptor of the caller's, such as standard input, to its end.
    ///
    ///     let markdown = try await io.readToEnd(descriptor: 0, name: "standard input", limit: 64 << 20)
    ///
    /// The caller owns the descriptor and keeps it open. While the other side of a pipe or terminal is silent, a thread of
    /// this engine waits. See read(2).
    ///
    /// - Cancellation: leaves the queue at once, or stops between two reads, with `CancellationError`.
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
        return try await run { [kernel] cancellation in
            let bytes = try kernel.readToEnd(descriptor, limit: limit, expected: 64 << 10, name, cancellation)
            return bytes.data()
        }
    }
}
