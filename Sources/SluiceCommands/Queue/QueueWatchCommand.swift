import ArgumentParser
import NativeMark
import SluiceConcurrency
import SluiceDownloads
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct QueueWatchCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Shows a queue on the full screen of the terminal, and follows its changes.",
        discussion: """
            The screen shows what 'sluice queue list' shows, and is redrawn after each change. Changes by other processes appear \
            within a second. Watching changes nothing, and needs no worker.

            KEYS:
              q                      quit, with status 0
              Up, Down, k, j         scroll by a line
              Page Up, Page Down     scroll by a screen; also b and Space
              Home, End, g, G        go to the beginning or the end
              Ctrl-C                 stop, with status 7

            If standard output isn't a terminal, or with --json, each change is one line with a JSON document, as 'sluice queue \
            list --json' prints it.

            EXAMPLES:
              Watch a queue in a second terminal:
                sluice queue watch --db songs.db
              Report when nothing is waiting or running anymore:
                sluice queue watch --db songs.db --json | jq --unbuffered 'select(.counts.waiting + .counts.running == 0)'
            """)

    @OptionGroup
    var queue: QueueOption

    @Option(help: .init("The maximum number of downloads to list in each state, 0 to 10000.", valueName: "n"))
    var limit = 100

    @Flag(help: "Print a JSON document at each change, one per line.")
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        guard (0...10_000).contains(limit) else {
            throw CommandFailure(
                .usage, "--limit \(limit): The number must be from 0 to 10000. See 'sluice queue watch --help'.")
        }
        let database = QueueDatabase(name: queue.db, command: "watch")
        return try await database.withQueue { downloads in
            let reports = QueueReports(downloads: downloads, limit: limit)
            if json || !console.canShowScreen { return try await lines(of: reports, console) }
            return try await WatchScreen(title: database.shortTitle, console: console).show(reports)
        }
    }

    private func lines(of reports: QueueReports, _ console: Console) async throws -> ExitStatus {
        try await reports.forEach(onlyChanged: true) { report in
            await console.write(try CommandJSON.line(report), to: .output)
            return !console.losses.isLost(.output)
        }
        // Only an interruption and a lost reader end the loop.
        return Task.isCancelled ? .interrupted : .success
    }
}

/// The successive states of a queue.
struct QueueReports: Sendable {
    var downloads: DownloadCoordinator
    var limit: Int

    /// Passes each state to `body`, until `body` returns `false` or the task is cancelled.
    ///
    /// - Parameters:
    ///   - onlyChanged: Whether to skip states that are equal to the one before. If not, there is a state at least every second.
    ///   - body: A function that uses the state, and returns whether to continue.
    func forEach(onlyChanged: Bool, _ body: (QueueReport) async throws -> Bool) async throws {
        var latest: QueueReport?
        for try await snapshot in downloads.snapshots(listing: limit) {
            let report = await QueueReport(snapshot, limit: limit).addingProgress(of: snapshot)
            guard report != latest || !onlyChanged, !Task.isCancelled else { continue }
            latest = report
            guard try await body(report) else { return }
        }
    }
}
