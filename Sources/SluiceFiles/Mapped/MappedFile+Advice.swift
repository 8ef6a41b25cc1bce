internal import CSluiceFiles

extension MappedFile {
    /// Reads a range, or all of the file, into memory, so that touching it does not block soon afterwards.
    ///
    ///     try await file.prefetch(offset..<(offset + 4096))
    ///
    /// It returns when the pages are there. The system may take them back at any time, and does when memory is short. It is
    /// MADV_POPULATE_READ of madvise(2), since Linux 5.14; elsewhere a worker touches each page, where a file that was cut
    /// off is fatal (see ``MappedFile``) instead of an error.
    ///
    /// - Cancellation: leaves the queue immediately, or stops between two steps of 32 MiB, with `CancellationError`.
    /// - Failure: a ``FileError``: ``FileError/Code/inputOutput`` where the file is shorter than it was, or its device fails.
    ///
    /// - Parameter range: Which bytes; nil for all.
    public borrowing func prefetch(_ range: Range<Int>? = nil) async throws {
        let range = checked(range)
        try await mapping.io.run { [mapping] cancellation in
            let kernel = mapping.io.kernel
            var rest = UnsafeMutableRawBufferPointer(rebasing: mapping.memory[range])
            while !rest.isEmpty {
                try cancellation.check()
                let step = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(32 << 20))
                try kernel.prefetch(step, mapping.path)
                rest = UnsafeMutableRawBufferPointer(rebasing: rest.dropFirst(step.count))
            }
        }
    }

    /// Tells the system how a range, or all of the file, is going to be used. See madvise(2).
    ///
    ///     try await file.advise(.random)                              // no read-ahead for the lookups to come
    ///
    /// It counts for whole pages, and for this mapping alone.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``. That a hint is ignored is no failure.
    ///
    /// - Parameters:
    ///   - advice: How it is going to be used.
    ///   - range: Which bytes; nil for all.
    public borrowing func advise(_ advice: AccessAdvice, for range: Range<Int>? = nil) async throws {
        let range = checked(range)
        if range.isEmpty { return }
        try await mapping.io.run { [mapping] _ in
            let kernel = mapping.io.kernel
            let (memory, calls) = (mapping.memory[range], kernel.calls.randomAccess)
            guard let start = UnsafeMutableRawBufferPointer(rebasing: memory).baseAddress else { return }
            try kernel.check(
                kernel.retrying { calls.adviseMemory(start, memory.count, advice) }, "advise on", mapping.path)
        }
    }

    private borrowing func checked(_ range: Range<Int>?) -> Range<Int> {
        let range = range ?? 0..<count
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "A range is within the bytes of the file.")
        return range
    }
}
