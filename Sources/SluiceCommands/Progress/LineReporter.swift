import SluiceDownloads

protocol LineFormatter: Sendable {
    /// Returns the lines for an event; `nil` if there are none.
    func lines(for event: DownloadEvent, of index: Int) -> String?
    func lines(for summary: ProgressSummary, after duration: Duration) -> String?
    func line(for message: String) -> String?
    /// The reader was too slow for `count` lines, which were dropped.
    func line(forDropped count: Int) -> String?
    var stream: Console.Stream { get }
}

/// Writes progress as lines, for logs, pipes and programs.
///
/// A slow or stopped reader doesn't slow the downloads. The number of lines that wait for it is bounded: see ``LineBacklog``.
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

    func finish(with summary: ProgressSummary?) {
        if let summary, let lines = formatter.lines(for: summary, after: .now - start) { writer.add(lines, .result) }
        writer.finish()
    }
}

extension DownloadEvent {
    fileprivate var isResult: Bool {
        switch self {
        case .finished, .paused, .released: true
        case .started, .responded, .received, .retrying: false
        }
    }
}

extension ContinuousClock.Instant {
    static func - (now: Self, start: Self) -> Duration { start.duration(to: now) }
}
