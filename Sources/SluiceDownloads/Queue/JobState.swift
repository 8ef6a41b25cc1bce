/// The column `state` in SQLite and PostgreSQL. String interpolation yields the state's number, for use in SQL. The numbers are stored, so
/// they never change; the migrations of both databases spell them out.
package enum JobState: Int, CaseIterable, Sendable, CustomStringConvertible {
    /// Can be claimed.
    case ready
    case running, done, failed, cancelled
    /// Waits for a delay.
    case delayed
    case paused

    // For SQL's `IN`.
    package static let waiting = "\(ready), \(delayed)"
    package static let ended = "\(done), \(failed), \(cancelled)"
    package static let unfinished = "\(ready), \(running), \(delayed), \(paused)"

    package var description: String { "\(rawValue)" }

    /// Unknown values from another program count as failed.
    package init(column: Int) { self = Self(rawValue: column) ?? .failed }

    var state: QueuedDownload.State {
        switch self {
        case .ready, .delayed: .waiting
        case .running: .running
        case .done: .done
        case .failed: .failed
        case .cancelled: .cancelled
        case .paused: .paused
        }
    }
}

extension QueuedDownload.State {
    package init(column: Int) { self = JobState(column: column).state }

    package var stored: [JobState] { JobState.allCases.filter { $0.state == self } }

    /// The stored states for SQL's `IN`.
    var columns: String { stored.map(\.description).joined(separator: ", ") }
}
