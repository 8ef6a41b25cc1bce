import SluiceConcurrency
import SluiceLock

/// Passes lines from many tasks to one task that writes them.
///
/// A slow target doesn't slow the other tasks. The number of lines that wait for it is bounded: see ``LineBacklog``.
final class LineWriter: Sendable {
    private let backlog: Lock<LineBacklog>
    /// Tells the writing task that there are lines. One element stands for all lines that were added before it is received.
    private let bell = AsyncBoundedQueue<Void>(capacity: 1, overflow: .dropNewest)

    init(limit: Int = LineBacklog.newsLimit) { backlog = Lock(LineBacklog(limit: limit)) }

    /// Adds one or more complete lines. Doesn't block.
    func add(_ lines: String, _ kind: LineBacklog.Kind) {
        backlog.withLock { $0.add(lines, kind) }
        // If the bell's queue is full, the writing task has been told already.
        _ = bell.trySend(())
    }

    /// Ends ``run(dropped:write:)`` after all added lines are written.
    func finish() { bell.finish() }

    /// The number of bytes after which collected lines are written: the capacity of a pipe (pipe(7)).
    private static let writeSize = 64 << 10

    /// Writes lines until ``finish()``. Lines that are waiting at the same time are written together. `dropped` returns the line that
    /// replaces a number of dropped lines.
    func run(dropped: (Int) -> String?, write: (String) async throws -> Void) async rethrows {
        for await _ in bell.elements {
            let batch = backlog.withLock { $0.take() }
            var text = batch.dropped > 0 ? dropped(batch.dropped) ?? "" : ""
            for line in batch.lines {
                text += line
                guard text.utf8.count >= Self.writeSize else { continue }
                try await write(text)
                text = ""
            }
            if !text.isEmpty { try await write(text) }
        }
    }
}

// MARK: - The lines that wait

/// The lines that are waiting to be written. Their number is bounded even if the reader has stopped.
///
/// Results (one for each file), messages and the summary are always kept. Of the news (the start of an attempt, a response, a failed
/// attempt that will be retried), only the latest lines are kept, ``newsLimit`` by default. Older news lines are dropped and counted.
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
        /// The number of news lines that were dropped since the last batch. They are older than the news lines in `lines`.
        var dropped = 0
        var lines: [String] = []
    }

    private typealias Numbered = (number: Int, line: String)

    /// The maximum number of waiting news lines: several for each running download, unless very many run concurrently.
    static let newsLimit = 1024

    private let limit: Int
    private var lastNumber = 0
    private var results: [Numbered] = []
    /// The latest news lines; when full, a ring with the oldest element at `oldest`.
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
