import SluiceDownloads

/// Turns events into text, a line at a time.
protocol LineFormatter: Sendable {
    /// The lines for an event, if any.
    func lines(for event: DownloadEvent, of index: Int) -> String?
    /// The lines at the end.
    func lines(for summary: DownloadSummary, after duration: Duration) -> String?
    /// The line for a message of the program's own.
    func line(for message: String) -> String?
    /// The line in the place of so many others, which were dropped while nothing read them.
    func line(forDropped count: Int) -> String?
    /// Where the lines go.
    var stream: Console.Stream { get }
}

/// Writes lines as things happen: for logs, pipes and programs.
///
/// A reader that is slow or has stopped slows no download. What waits for it is bounded: see ``LineBacklog``.
final class LineReporter<Formatter: LineFormatter>: ProgressReporter {
    private let console: Console
    private let formatter: Formatter
    private let writer = LineWriter()
    private let start = ContinuousClock.now

    init(console: Console, formatter: Formatter) {
        self.console = console
        self.formatter = formatter
    }

    func report(_ index: Int, _ event: DownloadEvent) {
        guard let lines = formatter.lines(for: event, of: index) else { return }
        writer.add(lines, event.isResult ? .result : .news)
    }

    func announce(_ message: String) {
        if let line = formatter.line(for: message) { writer.add(line, .result) }
    }

    func run() async {
        await writer.run(dropped: formatter.line(forDropped:)) { await console.write($0, to: formatter.stream) }
    }

    func finish(with summary: DownloadSummary?) {
        if let summary, let lines = formatter.lines(for: summary, after: .now - start) { writer.add(lines, .result) }
        writer.finish()
    }
}

extension DownloadEvent {
    /// Whether it is the last of its download in this run.
    fileprivate var isResult: Bool {
        switch self {
        case .finished, .released: true
        case .started, .responded, .received, .retrying: false
        }
    }
}

extension ContinuousClock.Instant {
    static func - (now: Self, start: Self) -> Duration { start.duration(to: now) }
}
