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
        var nextBytes = Int64(ProgressCounter.bytesPerReport)
        var nextEntries = ProgressCounter.entriesPerReport
        var isReporting = false

        /// Returns the report to make now, or `nil` if none is due or another thread is reporting.
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
            state.progress.completedBytes += Int64(bytes)
            state.progress.completedEntries += entries
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
