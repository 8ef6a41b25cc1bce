internal import SluiceLock

/// The progress of a long operation.
///
/// Every long operation of this module, such as ``FileIO/copy(_:to:options:progress:)``, passes its progress to a closure:
///
/// - The closure is called on a thread of the engine, after every 4 MiB or 128 entries, and once more with ``isFinished`` at the end.
///   Reading a whole FIFO or terminal is the exception: its only report, the last one, comes on the calling task's thread. If the operation
///   throws, there is no last report.
/// - Reports come one at a time, never go backwards, and end before the operation returns.
/// - The operation waits for the closure, so pass the value on (to a `Mutex`, an `AsyncStream`) and return.
public struct FileProgress: Sendable, Hashable {
    /// The number of bytes done. A copy counts holes and shared blocks too.
    public var completedBytes: Int64

    /// The total number of bytes when the operation began, or `nil` if that is unknown (a pipe, a tree that wasn't counted). It can be
    /// wrong: a file in /proc has a size of 0, and a file may shrink.
    public var totalBytes: Int64?

    /// The number of files, directories and links done.
    public var completedEntries: Int

    /// The total number of files, directories and links, or `nil` if that is unknown.
    public var totalEntries: Int?

    /// Whether this is the last report: all work is done, including syncs.
    public var isFinished: Bool

    /// Creates a progress value.
    public init(
        completedBytes: Int64 = 0, totalBytes: Int64? = nil, completedEntries: Int = 0, totalEntries: Int? = nil,
        isFinished: Bool = false
    ) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
        self.completedEntries = completedEntries
        self.totalEntries = totalEntries
        self.isFinished = isFinished
    }

    /// The fraction done, from 0 to 1: of the bytes if their total is known, otherwise of the entries, otherwise `nil`. It's less than
    /// 1 until the last report.
    public var fractionCompleted: Double? {
        if isFinished { return 1 }
        if let totalBytes, totalBytes > 0 { return Self.fraction(completedBytes, of: totalBytes) }
        if let totalEntries, totalEntries > 0 { return Self.fraction(completedEntries, of: totalEntries) }
        return nil
    }

    /// Stays below 1: the file may be larger than reported, and the sync is still to come.
    private static func fraction<Count: BinaryInteger>(_ completed: Count, of total: Count) -> Double {
        max(0, min(Double(completed) / Double(total), 0.999))
    }
}

// MARK: - Counting

/// Counts the work of one operation's jobs and reports it periodically.
///
/// A thread that finds a report due calls the closure, unless another thread is already calling it. So the reports are in order, no thread
/// waits for another, and the closure is called without holding a lock.
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

    /// Returns `nil` if there is no closure, so that unused progress costs one check per piece.
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
            state.progress.completedBytes = state.progress.completedBytes.addingClamped(Int64(bytes))
            state.progress.completedEntries = state.progress.completedEntries.addingClamped(entries)
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

    /// Makes the last report. The caller must ensure that no thread calls `add` anymore.
    package func finish() {
        let progress = state.withLock { state in
            state.progress.isFinished = true
            return state.progress
        }
        report(progress)
    }
}
