/// Which URL of a download with mirrors is tried next, and which have failed.
///
/// ```text
/// first ── fails ─▶ second ── fails ─▶ third ── fails ─▶ the retries begin, with the first that may still work
/// ```
///
/// A coordinator remembers this only while it runs. Another one begins with the first URL.
struct MirrorTurn: Sendable, Hashable {
    /// What follows the failure of a URL.
    enum Step: Sendable, Hashable {
        /// Another URL hasn't been tried in this round, and is now the current one.
        case next
        /// All have failed in this round, but not all for good. The next round begins.
        case again
        /// All have failed for good.
        case allFailed
    }

    private let count: Int
    /// The index of the URL to try.
    private(set) var current = 0
    /// Those that have failed for good. Another attempt would fail, too.
    private var failed: Set<Int> = []
    /// Those that have failed since the round began.
    private var tried: Set<Int> = []

    init(count: Int) { self.count = count }

    /// Notes that the current URL has failed.
    mutating func fail(isPermanent: Bool) -> Step {
        tried.insert(current)
        if isPermanent { failed.insert(current) }
        let usable = (0..<count).filter { !failed.contains($0) }
        guard let first = usable.first else {
            self = MirrorTurn(count: count)
            return .allFailed
        }
        if let next = usable.first(where: { !tried.contains($0) }) {
            current = next
            return .next
        }
        (current, tried) = (first, [])
        return .again
    }
}
