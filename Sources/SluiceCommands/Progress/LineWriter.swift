import SluiceConcurrency
import SluiceLock

/// Hands lines from the tasks that have them to one task that writes them.
///
/// A slow target slows no other task. What waits for it is bounded: see ``LineBacklog``.
final class LineWriter: Sendable {
    private let backlog: Lock<LineBacklog>
    /// Tells the writing task that there are lines. One bell suffices for all that came until it is heard.
    private let bell = AsyncBoundedQueue<Void>(capacity: 1, overflow: .dropNewest)

    /// A writer for which at most `limit` pieces of news wait.
    init(limit: Int = LineBacklog.newsLimit) { backlog = Lock(LineBacklog(limit: limit)) }

    /// Notes one or several whole lines. Quick, never blocks.
    func add(_ lines: String, _ kind: LineBacklog.Kind) {
        backlog.withLock { $0.add(lines, kind) }
        // A bell that rings already suffices.
        _ = bell.trySend(())
    }

    /// Ends ``run(dropped:write:)`` after all that was noted.
    func finish() { bell.finish() }

    /// About as much as a pipe holds (pipe(7)): one write for lines that came together.
    private static let writeSize = 64 << 10

    /// Writes what is noted, until ``finish()``. Lines that came together are written together.
    ///
    /// - Parameter dropped: The line in the place of so many others that were dropped.
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
