import ArgumentParser
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct QueueCopyCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies the unfinished downloads of a queue to another queue.",
        discussion: """
            Copies the downloads that wait, run or are paused, with their users, batches, priorities, pauses and failed attempts. \
            They get new numbers. The source queue isn't changed. The target queue is created if it is missing. A download that \
            is already in the target queue is joined, so the same command can be repeated.

            Stop the workers of the old queue first. Otherwise both queues would download the same files.

            Directories stay as they are. In a PostgreSQL queue, a download with an absolute directory is downloaded only by the \
            machine that runs this command. With --relative-to, directories below the given one become relative, so any worker \
            can download their files.

            EXAMPLES:
              Move to another database:
                sluice queue copy --from songs.db --to /data/songs.db
                sluice queue work --db /data/songs.db
              Move to PostgreSQL, for workers on several machines:
                sluice queue copy --from songs.db --to postgres://ann@db.example/sluice --relative-to /srv/music
                sluice queue work --db postgres://ann@db.example/sluice -d /srv/music
            """)

    @Option(help: .init("The queue to copy.", valueName: "db"))
    var from: String

    @Option(help: .init("The queue to copy to, created if missing.", valueName: "db"))
    var to: String

    @Option(help: .init("Make the directories below this one relative to it.", valueName: "dir"))
    var relativeTo: String?

    @Flag(help: "Print the numbers of the downloads as one JSON document.")
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        let source = QueueDatabase(name: from, option: "--from", command: "copy")
        let target = QueueDatabase(name: to, option: "--to", command: "copy")
        guard relativeTo != "" else {
            throw CommandFailure(
                .usage,
                "--relative-to: The directory name is empty. Name a directory. See 'sluice queue copy --help'.")
        }
        _ = try (source.store(), target.store())
        try await source.checkExistence()
        guard await !source.isSame(as: target) else {
            throw CommandFailure(
                .usage,
                "--to \(target.title): This is the same queue as --from. Name another queue. See 'sluice queue copy --help'."
            )
        }
        return try await source.withQueue { old in
            try await target.withQueue(creating: true) { new in
                let base = relativeTo.map { URL(filePath: $0, directoryHint: .isDirectory) }
                return try await QueueCopy(
                    base: base, spansMachines: target.spansMachines, console: console, isJSON: json
                ).run(from: old, to: new)
            }
        }
    }
}

/// One run of `sluice queue copy`.
private struct QueueCopy: Sendable {
    struct Result: Encodable {
        var copied = 0
        var joined = 0
        /// Downloads that are done in the other queue.
        var kept = 0
        var conflicts = 0
    }

    /// Directories below this one become relative.
    var base: URL?
    /// Whether workers on several machines can use the new queue.
    var spansMachines: Bool
    var console: Console
    var isJSON: Bool

    func run(from old: DownloadCoordinator, to new: DownloadCoordinator) async throws -> ExitStatus {
        var result = Result()
        var absoluteCount = 0
        try await new.copyUnfinished(from: old) { request in
            if let relative = base.flatMap({ request.relative(to: $0) }) { request = relative }
        } onCopy: { download, id, admission in
            if spansMachines, !download.request.isRelative { absoluteCount += 1 }
            switch admission {
            case .added: result.copied += 1
            case .joined: result.joined += 1
            case .kept: result.kept += 1
            case .conflict(let other):
                result.conflicts += 1
                await console.report(
                    "\(download.request.url.redactedForDisplay): In the other queue, the unfinished download \(id) of "
                        + "\(other.redactedForDisplay) writes the same file, "
                        + "'\(download.request.target.path(percentEncoded: false))'. Cancel one of them.")
            }
        }
        let text = isJSON ? try CommandJSON.line(result) : Self.text(result) + "\n"
        await console.writeWhole(text, to: .output)
        if absoluteCount > 0 {
            let isOne = absoluteCount == 1
            let reason =
                if base == nil {
                    "\(isOne ? "its directory is" : "their directories are") absolute. Pass --relative-to to make directories relative."
                } else {
                    "\(isOne ? "its directory isn't" : "their directories aren't") below the one of --relative-to."
                }
            await console.report(
                "--to: Only this machine will download \(Format.count(absoluteCount, "file")), because \(reason)")
        }
        if Task.isCancelled {
            await console.report(
                "Interrupted: not all downloads were copied. Run the same command again to copy the rest.")
            return .interrupted
        }
        return result.conflicts == 0 ? .success : .other
    }

    private static func text(_ result: Result) -> String {
        var parts: [String] = []
        let (joined, kept, conflicts) = (result.joined, result.kept, result.conflicts)
        if joined > 0 { parts.append("\(joined) \(joined == 1 ? "was" : "were") in the other queue already") }
        if kept > 0 { parts.append("\(kept) \(kept == 1 ? "is" : "are") done there") }
        if conflicts > 0 {
            parts.append(
                conflicts == 1 ? "1 conflicts with another download" : "\(conflicts) conflict with other downloads")
        }
        let rest = parts.isEmpty ? "" : " \(parts.joined(separator: ", "))."
        return "Copied \(Format.count(result.copied, "download")).\(rest)"
    }
}
