/// A hint about the intended use of a file's bytes, which the system may ignore.
///
///     try await file.advise(.random)                              // no read-ahead for the following lookups
///     try await file.advise(.notNeeded, for: 0..<done)            // the page cache may drop these bytes
///
/// See posix_fadvise(2), and madvise(2) for a ``MappedFile``.
public enum AccessAdvice: Sendable, Hashable, CaseIterable {
    /// No particular order. Withdraws earlier advice.
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
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. A hint that the system ignores isn't an error.
    public func advise(_ advice: AccessAdvice, for range: Range<Int64>? = nil) async throws {
        precondition(
            range.map { $0.lowerBound >= 0 } ?? true,
            "The offset must not be negative; it is \(range?.lowerBound ?? 0).")
        if range?.isEmpty == true { return }  // The system call takes a count of 0 for all bytes.
        try await run("advise the system about") { [file] _ in
            let kernel = file.io.kernel
            let (offset, count) = (Int64(range?.lowerBound ?? 0), Int64(range?.count ?? 0))
            try kernel.check(
                kernel.retrying { kernel.calls.randomAccess.adviseFile(file.descriptor, offset, count, advice) },
                "advise the system about", file.path)
        }
    }
}
