/// Lines that wait to be written, of which a stopped reader can't make more and more.
///
/// A result (of which each file has one), a message and the summary always wait. Of the news in between (an attempt that begins,
/// an answer, an attempt that fails and is repeated) only the latest ``newsLimit`` wait: an older one is dropped and counted.
///
/// A pure value. Adding takes O(1), amortised.
struct LineBacklog: Sendable {
    /// What a line tells.
    enum Kind: Sendable {
        /// What a later line of the same file replaces.
        case news
        /// What no later line tells again.
        case result
    }

    /// What is taken to be written.
    struct Batch: Sendable, Equatable {
        /// How many of the news were dropped since the last batch. They came before the lines.
        var dropped = 0
        /// In the order in which they came.
        var lines: [String] = []
    }

    private typealias Numbered = (number: Int, line: String)

    /// The most news that wait: some for each of as many downloads as run concurrently, unless they are very many.
    static let newsLimit = 1024

    private let limit: Int
    private var lastNumber = 0
    private var results: [Numbered] = []
    /// A ring once it is full: the oldest is at `oldest`.
    private var news: [Numbered] = []
    private var oldest = 0
    private var dropped = 0

    init(limit: Int = Self.newsLimit) {
        precondition(limit > 0, "At least one piece of news waits.")
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

    /// Takes everything that waits.
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
