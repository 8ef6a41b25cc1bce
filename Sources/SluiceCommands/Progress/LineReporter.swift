import SluiceConcurrency
import SluiceDownloads

/// Turns events into text, a line at a time.
protocol LineFormatter: Sendable {
    /// The lines for an event, if any, and the stream that they go to.
    func lines(for event: DownloadEvent, of index: Int) -> String?
    /// The lines at the end.
    func lines(for summary: DownloadSummary, after duration: Duration) -> String?
    /// The line for a message of the program's own.
    func line(for message: String) -> String?
    /// Where the lines go.
    var stream: Console.Stream { get }
}

/// Writes lines as things happen: for logs, pipes and programs.
final class LineReporter<Formatter: LineFormatter>: ProgressReporter {
    private let console: Console
    private let formatter: Formatter
    private let pending = AsyncQueue<String>()
    private let start = ContinuousClock.now

    init(console: Console, formatter: Formatter) {
        self.console = console
        self.formatter = formatter
    }

    func report(_ index: Int, _ event: DownloadEvent) {
        if let lines = formatter.lines(for: event, of: index) { pending.enqueue(lines) }
    }

    func announce(_ message: String) async {
        if let line = formatter.line(for: message) { pending.enqueue(line) }
    }

    func run() async {
        for await line in pending.elements {
            // One write for all that has come together meanwhile.
            var text = line
            while let next = pending.tryDequeue() { text += next }
            await console.write(text, to: formatter.stream)
        }
    }

    func finish(with summary: DownloadSummary?) {
        if let summary, let lines = formatter.lines(for: summary, after: .now - start) { pending.enqueue(lines) }
        pending.finish()
    }
}

extension ContinuousClock.Instant {
    static func - (now: Self, start: Self) -> Duration { start.duration(to: now) }
}
