import Foundation

/// What a row may use: how much to do, and where. Folders come with the programs, in `External`.
struct Stage: Sendable {
    let isQuick: Bool
    let rounds: Int
    /// The `sluice` to run; it may be missing.
    let sluice: URL
    /// The program beside this one that starts children and looks after them.
    let childUsage: URL

    /// How much to do, and how much with `--quick`.
    func count(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }
}
