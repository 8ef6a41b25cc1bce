internal import SluiceLock

/// Counts what the jobs of one operation have done, and reports it now and then.
///
///     let counter = ProgressCounter(progress, totalBytes: size)     // nil if no closure is given
///     …
///     counter?.add(bytes: written)                                  // after each piece, on any thread
///     …
///     counter?.finish()                                             // last in the job, if all went well
///
/// Several threads may add concurrently. The thread that finds a report due and no other thread reporting makes it; the others go on with their
/// work. So the reports are in order, and the closure is called without a lock.
package final class ProgressCounter: Sendable {
    package typealias Report = @Sendable (FileProgress) -> Void

    /// The bytes and the entries after which a report is due.
    package static var bytesPerReport: Int { 4 << 20 }
    package static var entriesPerReport: Int { 128 }

    private struct State {
        var progress: FileProgress
        var nextBytes = Int64(ProgressCounter.bytesPerReport)
        var nextEntries = ProgressCounter.entriesPerReport
        var isReporting = false

        /// What to report now, if that is due and no other thread reports.
        mutating func due() -> FileProgress? {
            guard !isReporting else { return nil }
            guard progress.completedBytes >= nextBytes || progress.completedEntries >= nextEntries else { return nil }
            nextBytes = progress.completedBytes + Int64(ProgressCounter.bytesPerReport)
            nextEntries = progress.completedEntries + ProgressCounter.entriesPerReport
            isReporting = true
            return progress
        }
    }

    private let state: Lock<State>
    private let report: Report

    /// Nil without a closure: without a closure, progress costs one test per piece.
    package init?(_ report: Report?, totalBytes: Int64? = nil, totalEntries: Int? = nil) {
        guard let report else { return nil }
        self.report = report
        state = Lock(State(progress: FileProgress(totalBytes: totalBytes, totalEntries: totalEntries)))
    }

    /// Says what there is to do, where that is learnt on the way.
    package func expect(totalBytes: Int64?, totalEntries: Int? = nil) {
        state.withLock {
            $0.progress.totalBytes = totalBytes
            $0.progress.totalEntries = totalEntries
        }
    }

    /// Counts, and reports if that is due.
    package func add(bytes: Int = 0, entries: Int = 0) {
        var due = state.withLock { state in
            state.progress.completedBytes += Int64(bytes)
            state.progress.completedEntries += entries
            return state.due()
        }
        while let progress = due {
            report(progress)
            // What others did meanwhile may be due again.
            due = state.withLock { state in
                state.isReporting = false
                return state.due()
            }
        }
    }

    /// Makes the last report. Every thread that adds has ended; nothing is added afterwards.
    package func finish() {
        let progress = state.withLock { state in
            state.progress.isFinished = true
            return state.progress
        }
        report(progress)
    }
}
