import ArgumentParser
import SluiceConcurrency
import SluiceDownloads

/// `--progress`.
enum ProgressStyle: String, ExpressibleByArgument, CaseIterable, Sendable {
    case auto, bar, lines, json, none

    /// A reporter in this style for files with these names, in the order of their requests.
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

/// Shows a person or a program how downloads go.
///
/// Events come from many tasks at once and are only noted; a task of its own writes, so that a slow terminal slows no
/// download.
protocol ProgressReporter: Sendable {
    /// Notes an event of the request at this place in the list. Quick, never blocks.
    func report(_ index: Int, _ event: DownloadEvent)
    /// Shows a message of the program's own among the progress. Quick, never blocks.
    func announce(_ message: String)
    /// Writes what is noted until ``finish(with:)``, and then the rest.
    func run() async
    /// Ends ``run()`` after all that was noted, and the summary if there is one, are written.
    func finish(with summary: DownloadSummary?)
    /// What it does when the command is to stop, or the process leaves the terminal.
    var responses: Interruption.Responses { get }
}

extension ProgressReporter {
    var responses: Interruption.Responses { .init(stopping: announceStop) }

    /// Says that the first request to stop was heard.
    func announceStop() {
        announce("stopping; Ctrl-C again stops immediately")
    }

    /// Shows the progress of `work`, which reports to this reporter.
    func showing(_ work: @Sendable () async throws -> DownloadSummary) async throws -> DownloadSummary {
        // Cancelling the work must not stop the writing, which has the last word: it is no child task.
        let writing = Task { await run() }
        let result = await Result { try await work() }
        finish(with: try? result.get())
        await writing.value
        return try result.get()
    }
}
