/// The lines that wait to be written. Their number is bounded even if the reader has stopped.
///
/// Results (one for each file), messages and the summary are always kept. Of the news (the start of an attempt, a response, a failed
/// attempt that is repeated) only the latest ``newsLimit`` are kept. Older news are dropped and counted.
///
/// Adding a line takes amortized O(1).
struct LineBacklog: Sendable {
    enum Kind: Sendable {
        /// A state that a later line of the same file replaces.
        case news
        /// A fact that no later line repeats.
        case result
    }

    struct Batch: Sendable, Equatable {
        /// The number of news that were dropped since the last batch, all from before `lines`.
        var dropped = 0
        var lines: [String] = []
    }

    private typealias Numbered = (number: Int, line: String)

    /// The largest number of waiting news: several for each running download, unless very many run concurrently.
    static let newsLimit = 1024

    private let limit: Int
    private var lastNumber = 0
    private var results: [Numbered] = []
    /// The latest news; when full, a ring with the oldest element at `oldest`.
    private var news: [Numbered] = []
    private var oldest = 0
    private var dropped = 0

    init(limit: Int = Self.newsLimit) {
        precondition(limit > 0, "A backlog's limit must be at least 1; it is \(limit).")
        self.limit = limit
    }

    mutating func add(_ line: String, _ kind: Kind) {
        lastNumber += 1
        switch kind {
        case .result: results.append((lastNumber, line))
        case .news where news.count < limit: news.append((lastNumber, line))
        case .news:
            news[oldest] = (lastNumber, line)
            oldest = (oldest + 1) % limit
            dropped += 1
        }
    }

    mutating func take() -> Batch {
        var batch = Batch(dropped: dropped)
        batch.lines.reserveCapacity(results.count + news.count)
        var (result, piece) = (results[...], news[oldest...] + news[..<oldest])
        while let nextResult = result.first, let nextPiece = piece.first {
            batch.lines.append(
                nextResult.number < nextPiece.number ? result.removeFirst().line : piece.removeFirst().line)
        }
        batch.lines += result.map(\.line) + piece.map(\.line)
        (results, news, oldest, dropped) = ([], [], 0, 0)
        return batch
    }
}
