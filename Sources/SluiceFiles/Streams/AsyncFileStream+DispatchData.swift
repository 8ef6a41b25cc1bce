#if canImport(Dispatch)
// In a separate file: Foundation re-exports Dispatch on Apple platforms, so importing both in one file would be redundant there.
public import Dispatch

extension AsyncFileStream where Mode == WriteMode {
    /// Writes all bytes of a `DispatchData`, without making them contiguous first.
    ///
    /// Cancellation and failure are the same as in `write(_:)` with one `Data`.
    public borrowing func write(_ data: DispatchData) async throws {
        var pieces: [UnsafeRawBufferPointer] = []
        data.enumerateBytes { bytes, _, _ in pieces.append(UnsafeRawBufferPointer(bytes)) }
        // The regions stay in place while the data is alive, which is until the job has ended or can no longer start.
        defer { withExtendedLifetime(data) {} }
        if file.isWaitedFor { return try await file.writeWhenReady([.borrowed(BorrowedBytes(pieces: pieces))]) }
        try await file.io.run { [file, borrowed = BorrowedBytes(pieces: pieces)] _ in
            try file.io.system.write(file.descriptor, pieces: borrowed.pieces, file.path)
        }
    }
}
#endif
