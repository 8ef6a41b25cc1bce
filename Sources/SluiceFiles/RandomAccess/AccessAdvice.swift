/// What a program is about to do with bytes of a file: a hint, which the system may ignore.
///
///     try await file.advise(.random)                              // no read-ahead for the lookups to come
///     try await file.advise(.notNeeded, for: 0..<done)            // the page cache may have this back
///
/// See posix_fadvise(2), and madvise(2) for a ``MappedFile``.
public enum AccessAdvice: Sendable, Hashable, CaseIterable {
    /// Nothing in particular: takes earlier advice back.
    case normal
    /// From the front to the back: read far ahead.
    case sequential
    /// Here and there: do not read ahead.
    case random
    /// Soon: begin to read it from the device. The call does not wait for that.
    case needed
    /// Not soon: the page cache may drop it. Bytes that are not on the device yet stay; sync first to have them go too.
    case notNeeded
}

extension RandomAccessFile {
    /// Tells the system how a part of the file, or all of it, is going to be used.
    ///
    /// On Apple platforms ``AccessAdvice/notNeeded`` has no effect, and ``AccessAdvice/random`` counts for the whole file.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``. That a hint is ignored is no failure.
    ///
    /// - Parameters:
    ///   - advice: How it is going to be used.
    ///   - range: Which bytes; nil for all, those that are written later among them.
    public func advise(_ advice: AccessAdvice, for range: Range<Int64>? = nil) async throws {
        precondition(range.map { $0.lowerBound >= 0 } ?? true, "An offset is not negative.")
        if range?.isEmpty == true { return }  // A count of 0 would mean all.
        try await run("advise on") { [file] _ in
            let kernel = file.io.kernel
            let (offset, count) = (Int64(range?.lowerBound ?? 0), Int64(range?.count ?? 0))
            try kernel.check(
                kernel.retrying { kernel.calls.randomAccess.adviseFile(file.descriptor, offset, count, advice) },
                "advise on", file.path)
        }
    }
}
