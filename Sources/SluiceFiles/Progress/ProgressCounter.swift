internal import SluiceLock

/// Counts the work of one operation's jobs and reports it from time to time.
///
/// A thread that finds a report due calls the closure, unless another thread is calling it. So the reports are in order, no other
/// thread waits, and the closure is called without a lock.
package final class ProgressCounter: Sendable {
    package typealias Report = @Sendable (FileProgress) -> Void

    package static var bytesPerReport: Int { 4 << 20 }
    package static var entriesPerReport: Int { 128 }

    private struct State {
        var progress: FileProgress
        var reportedBytes: Int64 = 0
        var reportedEntries = 0
        var isReporting = false

        /// Returns the report to make now, or `nil` if none is due or another thread is reporting.
        mutating func due() -> FileProgress? {
            guard !isReporting else { return nil }
            guard
                progress.completedBytes - reportedBytes >= Int64(ProgressCounter.bytesPerReport)
                    || progress.completedEntries - reportedEntries >= ProgressCounter.entriesPerReport
            else { return nil }
            reportedBytes = progress.completedBytes
            reportedEntries = progress.completedEntries
            isReporting = true
            return progress
        }
    }

    private let state: Lock<State>
    private let report: Report

    /// Returns `nil` without a closure, so that unused progress costs one test per piece.
    package init?(_ report: Report?, totalBytes: Int64? = nil, totalEntries: Int? = nil) {
        guard let report else { return nil }
        self.report = report
        state = Lock(State(progress: FileProgress(totalBytes: totalBytes, totalEntries: totalEntries)))
    }

    package func expect(totalBytes: Int64?, totalEntries: Int? = nil) {
        state.withLock {
            $0.progress.totalBytes = totalBytes
            $0.progress.totalEntries = totalEntries
        }
    }

    package func add(bytes: Int = 0, entries: Int = 0) {
        var due = state.withLock { state in
            state.progress.completedBytes = state.progress.completedBytes.addingOrMaximum(Int64(bytes))
            state.progress.completedEntries = state.progress.completedEntries.addingOrMaximum(entries)
            return state.due()
        }
        while let progress = due {
            report(progress)
            // Other threads may have made another report due.
            due = state.withLock { state in
                state.isReporting = false
                return state.due()
            }
        }
    }

    /// Makes the last report. The caller must ensure that no thread calls `add` any more.
    package func finish() {
        let progress = state.withLock { state in
            state.progress.isFinished = true
            return state.progress
        }
        report(progress)
    }
}

extension FixedWidthInteger {
    /// The sum, or the largest value if it is larger: a file with holes may have 2^63 - 1 bytes, and a tree many of them.
    func addingOrMaximum(_ other: Self) -> Self {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }
}
