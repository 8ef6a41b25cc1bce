import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One run of `sluice queue add`.
struct QueueAdd: Sendable {
    /// What was done with the requests, and the JSON of the command.
    struct Result: Sendable, Encodable {
        struct Conflict: Sendable, Encodable {
            var url: String
            var file: String
            /// The unfinished download that writes the file.
            var id: Int64
            var other: String
        }

        var added = 0
        var joined = 0
        var kept = 0
        /// The numbers of the added, joined and kept downloads, in the order of the requests.
        var ids: [Int64] = []
        var conflicts: [Conflict] = []
        var isInterrupted = false

        private enum CodingKeys: CodingKey { case added, joined, kept, ids, conflicts }
    }

    var database: QueueDatabase
    var urls: [String]
    var lists: [String]
    var directory: String
    var user: String?
    var batch: String?
    var priority: Int
    var isJSON: Bool
    var console: Console

    /// The number of requests that are stored in one step.
    private static let chunk = 500
    /// Further problems are only counted.
    private static let shownProblems = 20

    func run() async throws -> ExitStatus {
        // Before the lists are read: standard input may take long.
        _ = try database.store()
        let entries = try await QueueEntries(urls: urls, lists: lists)
        try await check(entries)
        let result = try await database.withQueue(creating: true) { _, queue in
            let result = try await add(entries, to: queue)
            await report(result)
            return result
        }
        if result.isInterrupted {
            await console.report(
                "Interrupted: not all downloads were added. Run the same command again; those in the queue are joined.")
            return .interrupted
        }
        return result.conflicts.isEmpty ? .success : .other
    }

    private var requestMaker: RequestMaker {
        RequestMaker(directory: directory, relative: database.spansMachines ? .keep : .makeAbsolute)
    }

    /// Throws a ``CommandFailure`` with all problems.
    private func check(_ entries: QueueEntries) async throws {
        var maker = requestMaker
        do throws(RequestMaker.Problem) { try maker.checkDirectory() } catch {
            throw CommandFailure(.usage, error.line)
        }
        var count = 0
        let (problems, hidden) = try await entries.read(problemLimit: Self.shownProblems) { entry in
            count += 1
            // A list may be long.
            if count % Self.chunk == 0 { try Task.checkCancellation() }
            do throws(RequestMaker.Problem) {
                let request = try maker.request(for: entry)
                guard request.url.password(percentEncoded: false) != nil else { return nil }
                let place = entry.place.isEmpty ? "" : "\(entry.place): "
                return
                    "\(place)\(request.url.redactedForDisplay): The URL has a password, and a queue doesn't store "
                    + "passwords. Remove it."
            } catch {
                return error.line
            }
        }
        guard problems.isEmpty else {
            let rest = hidden > 0 ? ["… and \(hidden) more problems. Nothing was added."] : []
            throw CommandFailure(.usage, lines: problems + rest)
        }
        guard count > 0 else {
            let names = lists.map { $0 == "-" ? "standard input" : $0 }.joined(separator: ", ")
            throw CommandFailure(
                .usage, "There is nothing to add: \(names) contains no URL. Pass URLs, or another list with -i.")
        }
    }

    /// Stops between two chunks if the task is cancelled.
    private func add(_ entries: QueueEntries, to queue: any QueueStore) async throws -> Result {
        var result = Result()
        var maker = requestMaker
        var requests: [DownloadRequest] = []
        // A list that changes between the passes may have new problems.
        do {
            let (problems, _) = try await entries.read(problemLimit: Self.shownProblems) { entry in
                do throws(RequestMaker.Problem) {
                    var request = try maker.request(for: entry)
                    request.user = request.user ?? user
                    request.priority = priority
                    requests.append(request)
                } catch {
                    return error.line
                }
                if requests.count == Self.chunk {
                    try await store(requests, in: queue, &result)
                    requests.removeAll(keepingCapacity: true)
                    try Task.checkCancellation()
                }
                return nil
            }
            try Task.checkCancellation()
            if !requests.isEmpty { try await store(requests, in: queue, &result) }
            for problem in problems { await console.report(problem) }
        } catch is CancellationError {
            // The chunks so far are in the queue.
            result.isInterrupted = true
        }
        return result
    }

    private func store(_ requests: [DownloadRequest], in queue: any QueueStore, _ result: inout Result) async throws {
        var options = EnqueueOptions(batch: batch, keepsFinished: true, place: queue.place)
        var jobs = try await queue.enqueue(requests, options: options)
        // A download that is done is repeated if its file is gone. The file of a relative target is in the directory of its worker.
        let kept = jobs.indices.filter { jobs[$0].outcome == .kept && !requests[$0].isRelative }
        if !kept.isEmpty {
            let names = kept.map { (requests[$0].directory, requests[$0].name) }
            let statuses = (try? await FileIO.shared.statuses(of: names, followingLinks: false)) ?? []
            let gone = zip(kept, statuses).filter { if case .success(nil) = $1 { true } else { false } }.map(\.0)
            options.keepsFinished = false
            let again = try await queue.enqueue(gone.map { requests[$0] }, options: options)
            for (index, job) in zip(gone, again) { jobs[index] = job }
        }
        for (request, job) in zip(requests, jobs) {
            switch job.outcome {
            case .added: result.added += 1
            case .joined: result.joined += 1
            case .kept: result.kept += 1
            case .conflict(let other):
                result.conflicts.append(
                    Result.Conflict(
                        url: request.url.redactedForDisplay, file: request.target.path(percentEncoded: false),
                        id: job.id.rawValue, other: other.redactedForDisplay))
                continue
            }
            if isJSON { result.ids.append(job.id.rawValue) }
        }
    }

    private func report(_ result: Result) async {
        if isJSON {
            if let line = try? CommandJSON.line(result) { await console.writeWhole(line, to: .output) }
        } else {
            await console.writeWhole(Self.text(result) + "\n", to: .output)
        }
        for conflict in result.conflicts {
            await console.report(
                "\(conflict.url): The unfinished download \(conflict.id) of \(conflict.other) writes the same file, "
                    + "'\(conflict.file)'. Cancel it, or choose another name with out= in a list (-i) or another directory."
            )
        }
    }

    /// "Added 12 downloads. 3 were in the queue already, 1 is done."
    static func text(_ result: Result) -> String {
        var parts: [String] = []
        if result.joined > 0 {
            parts.append("\(result.joined) \(result.joined == 1 ? "was" : "were") in the queue already")
        }
        if result.kept > 0 { parts.append("\(result.kept) \(result.kept == 1 ? "is" : "are") done already") }
        let conflicts = result.conflicts.count
        if conflicts > 0 {
            parts.append(
                conflicts == 1 ? "1 conflicts with another download" : "\(conflicts) conflict with other downloads")
        }
        let rest = parts.isEmpty ? "" : " \(parts.joined(separator: ", "))."
        return "Added \(Format.count(result.added, "download")).\(rest)"
    }
}
