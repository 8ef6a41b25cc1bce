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

    /// One or several complete lines. Doesn't block.
    func add(_ lines: String, _ kind: LineBacklog.Kind) {
        backlog.withLock { $0.add(lines, kind) }
        // If the queue is full, the writing task is already told.
        _ = bell.trySend(())
    }

    /// Ends ``run(dropped:write:)`` after all added lines are written.
    func finish() { bell.finish() }

    /// The number of bytes after which collected lines are written: the capacity of a pipe (pipe(7)).
    private static let writeSize = 64 << 10

    /// Runs until ``finish()``. Lines that are waiting together are written together. `dropped` returns the line that replaces a number of
    /// dropped lines.
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
