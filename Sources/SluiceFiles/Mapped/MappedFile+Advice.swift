internal import CSluiceFiles

extension MappedFile {
    /// Reads a range, or the whole file, into memory, so that accessing it soon afterwards doesn't block.
    ///
    /// The call returns when the pages are in memory. The system may take them back at any time. On Linux 5.14 and later it uses
    /// MADV_POPULATE_READ of madvise(2). Elsewhere a thread of the engine reads a byte of each page, and if the file was truncated, that
    /// ends the process (see ``MappedFile``) instead of throwing an error.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running one throws it between two steps of 32 MiB.
    /// - Failure: A ``FileError``: ``FileError/Code/inputOutput`` if the file was truncated or its device fails.
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

    /// Tells the system how the program will use a range, or the whole file. The advice applies to whole pages of this mapping.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. A hint that the system ignores isn't an error. See madvise(2).
    public borrowing func advise(_ advice: AccessAdvice, for range: Range<Int>? = nil) async throws {
        let range = checked(range)
        if range.isEmpty { return }
        try await mapping.io.run { [mapping] _ in
            let kernel = mapping.io.kernel
            let (memory, calls) = (mapping.memory[range], kernel.calls.randomAccess)
            guard let start = UnsafeMutableRawBufferPointer(rebasing: memory).baseAddress else { return }
            try kernel.check(
                kernel.retrying { calls.adviseMemory(start, memory.count, advice) }, "advise the system about",
                mapping.path)
        }
    }

    private borrowing func checked(_ range: Range<Int>?) -> Range<Int> {
        let range = range ?? 0..<count
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count,
            "The range must be within the file's \(count) bytes; it is \(range).")
        return range
    }
}
