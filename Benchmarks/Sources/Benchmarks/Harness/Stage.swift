import Foundation

/// The settings of a run, for rows. `External` adds temporary directories.
struct Stage: Sendable {
    let isQuick: Bool
    let rounds: Int
    /// The path of `sluice`, which may be missing.
    let sluice: URL
    /// The path of ChildUsage, which starts child processes and measures them.
    let childUsage: URL

    /// Returns the amount of work: `full`, or `quick` with `--quick`.
    func count(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }
}
