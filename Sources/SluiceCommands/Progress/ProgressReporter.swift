import ArgumentParser
import SluiceCache
import SluiceConcurrency
import SluiceDownloads
import SluiceLock

enum ProgressStyle: String, ExpressibleByArgument, CaseIterable, Sendable {
    case auto, bar, lines, json, none

    func makeReporter(console: Console, names: ProgressNames) -> any ProgressReporter {
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
    /// Shows a message from the program along with the progress. Doesn't block.
    func announce(_ message: String)
    /// Whether ``note(_:)`` has an effect.
    var showsCounts: Bool { get }
    /// Shows the number of downloads in each state of a queue. Doesn't block.
    func note(_ counts: [QueuedDownload.State: Int])
    /// Writes recorded events until ``finish(with:)``, and then the remaining ones.
    func run() async
    /// Ends ``run()`` after all recorded events, and the summary if there is one, are written.
    func finish(with summary: ProgressSummary?)
    /// The reporter's reactions to a request to stop and to signals.
    var responses: Interruption.Responses { get }
}

extension ProgressReporter {
    var responses: Interruption.Responses { .init(stopping: announceStop) }

    var showsCounts: Bool { false }

    func note(_ counts: [QueuedDownload.State: Int]) {}

    func announceStop() {
        announce("Stopping. Press Ctrl-C again to stop immediately.")
    }

    func showing(_ work: @Sendable () async throws -> DownloadSummary) async throws -> DownloadSummary {
        try await showing(summarizedBy: ProgressSummary.init, work)
    }

    func showing<Value: Sendable>(
        summarizedBy summarize: (Value) -> ProgressSummary, _ work: @Sendable () async throws -> Value
    ) async throws -> Value {
        // Not a child task: the remaining events are written even if the work is cancelled.
        let writing = Task { await run() }
        let result = await Result { try await work() }
        finish(with: (try? result.get()).map(summarize))
        await writing.value
        return try result.get()
    }
}

/// The numbers that are shown at the end.
struct ProgressSummary: Sendable, Equatable {
    var done = 0
    var skipped = 0
    var failed = 0
    var unfinished = 0
    var retries = 0
    var bytes: Int64 = 0
    /// The number of files whose bytes came from the cache; `nil` without a cache.
    var cached: Int?
}

extension ProgressSummary {
    init(_ summary: DownloadSummary) {
        self.init(
            done: summary.doneCount, skipped: summary.skippedCount, failed: summary.failures.count,
            unfinished: summary.unfinishedCount, retries: summary.retryCount, bytes: summary.totalFileSize)
    }

    init(_ summary: DownloadSummary, _ statistics: ResourceCache.Statistics) {
        self.init(summary)
        cached = statistics.memoryHits + statistics.diskHits + statistics.revalidated
    }
}

// MARK: - The names of the files

/// The names of the files that a progress reporter shows.
enum ProgressNames: Sendable, ExpressibleByArrayLiteral {
    /// By the index in a list of requests.
    case list([String])
    /// By the index in a list of this length. Servers change the names.
    case served(QueueNames, count: Int)
    /// By the number of the download.
    case queue(QueueNames)

    init(arrayLiteral names: String...) { self = .list(names) }

    var areOfQueue: Bool {
        if case .queue = self { true } else { false }
    }

    /// The length of the list; 0 for a queue, which has no end.
    var count: Int {
        switch self {
        case .list(let names): names.count
        case .served(_, let count): count
        case .queue: 0
        }
    }

    var isEmpty: Bool { count == 0 }

    subscript(index: Int) -> String {
        switch self {
        case .list(let names): names[index]
        case .queue(let names), .served(let names, _): names[index]
        }
    }
}

/// The names of the downloads that a queue's worker is working on.
final class QueueNames: Sendable {
    private let names = Lock<[Int: String]>([:])

    subscript(number: Int) -> String {
        get { names.withLock { $0[number] } ?? "\(number)" }
        set { names.withLock { $0[number] = newValue } }
    }

    func contains(_ number: Int) -> Bool { names.withLock { $0[number] != nil } }

    func forget(_ number: Int) {
        _ = names.withLock { $0.removeValue(forKey: number) }
    }
}
