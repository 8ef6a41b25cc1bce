import ArgumentParser
import HTTPTypes
import NativeMark
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct QueueListCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Shows the downloads of a queue.",
        discussion: """
            The first line counts all downloads. Then come the downloads in each state: the running and the waiting ones, in the \
            order in which they start, the paused and the failed ones, and those that are done or cancelled, the latest first. \
            Each has its number, its file, the users and batches that it is for, and its progress or its error.

            EXAMPLES:
              Show the queue, at most 10 downloads in each state:
                sluice queue list --db songs.db --limit 10
              Print the files of all failed downloads, with their errors:
                sluice queue list --db songs.db --json | jq -r '.failed[] | [.file, .error.message] | @tsv'
              Count the waiting downloads:
                sluice queue list --db songs.db --json --limit 0 | jq .counts.waiting

            For downloads that other processes run, the progress comes from their partial files, if this machine has them.
            """)

    @OptionGroup
    var queue: QueueOption

    @Option(help: .init("The maximum number of downloads to list in each state, 0 to 1000000.", valueName: "n"))
    var limit = 20

    @Flag(help: "Print one JSON document, without secrets.")
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        guard (0...1_000_000).contains(limit) else {
            throw CommandFailure(
                .usage, "--limit \(limit): The number must be from 0 to 1000000. See 'sluice queue list --help'.")
        }
        let database = QueueDatabase(name: queue.db, command: "list")
        let report = try await database.withQueue { downloads in
            try await QueueReport.read(downloads, limit: limit, findingFailures: true)
        }
        if json {
            await console.write(try CommandJSON.line(report), to: .output)
        } else {
            let table = QueueTable(report: report, width: console.outputSize()?.columns)
            let sections = table.sections
            let lines = [report.countsText] + (sections.isEmpty ? [] : [""]) + sections
            await console.write(lines.map { $0 + "\n" }.joined(), to: .output)
        }
        return .success
    }
}
