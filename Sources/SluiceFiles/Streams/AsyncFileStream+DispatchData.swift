#if canImport(Dispatch)
public import Dispatch

extension AsyncFileStream where Mode == WriteMode {
    /// Writes all bytes of a `DispatchData`, region by region, without making them contiguous first.
    ///
    /// Cancellation and failure as in `write(_:)` with one `Data`.
    public borrowing func write(_ data: DispatchData) async throws {
        var pieces: [UnsafeRawBufferPointer] = []
        data.enumerateBytes { bytes, _, _ in pieces.append(UnsafeRawBufferPointer(bytes)) }
        // The regions stay where they are for as long as the data lives, and that is until the job has ended or will
        // never begin.
        defer { withExtendedLifetime(data) {} }
        if file.isWaitedFor { return try await file.writeWhenReady([.borrowed(BorrowedBytes(pieces: pieces))]) }
        try await file.io.run { [file, borrowed = BorrowedBytes(pieces: pieces)] _ in
            try file.io.kernel.write(file.descriptor, pieces: borrowed.pieces, file.path)
        }
    }
}
#endif
