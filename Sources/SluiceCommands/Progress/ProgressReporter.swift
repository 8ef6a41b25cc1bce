import ArgumentParser
import SluiceConcurrency
import SluiceDownloads

enum ProgressStyle: String, ExpressibleByArgument, CaseIterable, Sendable {
    case auto, bar, lines, json, none

    /// The names are in the order of the requests.
    func makeReporter(console: Console, names: [String]) -> any ProgressReporter {
        switch self {
        case .auto: (console.isTerminal ? Self.bar : .lines).makeReporter(console: console, names: names)
        case .bar: BarReporter(console: console, names: names)
        case .lines: LineReporter(console: console, formatter: PlainLines(names: names))
        case .json: LineReporter(console: console, formatter: JSONLines(names: names))
        case .none: LineReporter(console: console, formatter: ErrorLines())
        }
    }
}

/// Shows the progress of downloads to a user or a program.
///
/// Events come concurrently from many tasks, which only record them. A separate task writes, so that a slow terminal doesn't slow the
/// downloads.
protocol ProgressReporter: Sendable {
    /// Records an event of the request at this index. Doesn't block.
    func report(_ index: Int, _ event: DownloadEvent)
    /// Shows a message of the program with the progress. Doesn't block.
    func announce(_ message: String)
    /// Writes recorded events until ``finish(with:)``, and then the remaining ones.
    func run() async
    /// Ends ``run()`` after all recorded events, and the summary if there is one, are written.
    func finish(with summary: DownloadSummary?)
    /// The reporter's reactions to a request to stop and to signals.
    var responses: Interruption.Responses { get }
}

extension ProgressReporter {
    var responses: Interruption.Responses { .init(stopping: announceStop) }

    func announceStop() {
        announce("Stopping. Press Ctrl-C again to stop immediately.")
    }

    func showing(_ work: @Sendable () async throws -> DownloadSummary) async throws -> DownloadSummary {
        // Not a child task: the remaining events are written even if the work is cancelled.
        let writing = Task { await run() }
        let result = await Result { try await work() }
        finish(with: try? result.get())
        await writing.value
        return try result.get()
    }
}
