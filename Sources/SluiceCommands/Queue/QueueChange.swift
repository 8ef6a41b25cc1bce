import SluiceDownloads

/// A command that changes selected downloads, and its messages.
struct QueueChange: Sendable {
    enum Kind: String, Sendable {
        case pause, resume, cancel, retry, remove

        var pastTense: String {
            switch self {
            case .pause: "Paused"
            case .resume: "Resumed"
            case .cancel: "Cancelled"
            case .retry: "Retrying"
            case .remove: "Removed"
            }
        }

        /// The downloads that the command changes, for a message when there are none.
        var subjects: String {
            switch self {
            case .pause: "waiting or running"
            case .resume: "paused"
            case .cancel: "waiting, running or paused"
            case .retry: "failed or cancelled"
            case .remove: "done, failed or cancelled"
            }
        }
    }

    /// The JSON of the command.
    struct Result: Sendable, Equatable, Encodable {
        /// The number of changed downloads.
        var changed = 0
        /// How many of them go on for other users or batches.
        var continuing = 0
        /// How many of them haven't stopped yet, because the command was interrupted.
        var running = 0
        /// The numbers that no download has.
        var unknown: [Int64] = []
    }

    var kind: Kind
    var database: QueueDatabase
    var selection: QueuedDownload.Selection
    var isJSON: Bool
    var console: Console

    func run() async throws -> ExitStatus {
        let result = try await database.withQueue { downloads, queue in
            var unknown: Set<QueuedDownload.ID> = []
            // Before the change: removed downloads have no numbers.
            if case .ids(let ids) = selection { unknown = Set(ids).subtracting(try await queue.jobs(ids).map(\.id)) }
            // A new worker takes back the jobs of dead ones, which nothing would stop until their leases expire.
            if kind == .pause || kind == .cancel { try await queue.detach(queue.attach()) }
            var (result, running) = try await change(downloads, queue)
            result.unknown = unknown.map(\.rawValue).sorted()
            if !running.isEmpty, console.isTerminal {
                let verb = running.count == 1 ? "has" : "have"
                await console.report("Waiting until \(Format.count(running.count, "download")) \(verb) stopped.")
            }
            result.running = try await stillRunning(running, queue)
            return result
        }
        if isJSON {
            await console.writeWhole(try CommandJSON.line(result), to: .output)
        } else {
            await console.writeWhole(Self.text(kind, result) + "\n", to: .output)
        }
        for id in result.unknown {
            await console.report(
                "\(id): The queue has no download with this number. Look it up with 'sluice queue list'.")
        }
        if result.running > 0 {
            await console.report(
                "Interrupted: \(Format.count(result.running, "download")) will stop as soon as the worker notices.")
            return .interrupted
        }
        return result.unknown.isEmpty ? .success : .other
    }

    /// Returns what has changed, and the running downloads that their workers are going to stop.
    private func change(
        _ downloads: DownloadCoordinator, _ queue: any QueueStore
    ) async throws -> (Result, running: [QueuedDownload.ID]) {
        switch kind {
        case .pause: return Self.counted(try await queue.pause(selection), running: \.pausing)
        case .cancel:
            let change = try await queue.cancel(selection)
            await downloads.discardPartialFiles(of: change.stopped)
            return Self.counted(change, running: \.cancelling)
        case .resume: return (Result(changed: try await downloads.resume(selection)), [])
        case .retry: return (Result(changed: try await downloads.retry(selection)), [])
        case .remove: return (Result(changed: try await downloads.remove(selection)), [])
        }
    }

    private static func counted(
        _ change: JobChange, running: KeyPath<JobChange, [QueuedDownload.ID]>
    ) -> (Result, running: [QueuedDownload.ID]) {
        let changed = Set(change.stopped.map(\.id) + change.cancelling + change.pausing + change.continuing).count
        // A job that continues for paused members only is in both lists.
        let continuing = Set(change.continuing).subtracting(change.pausing).count
        return (Result(changed: changed, continuing: continuing), change[keyPath: running])
    }

    /// Waits until workers have stopped these downloads. Returns how many still run if the task is cancelled.
    private func stillRunning(_ ids: [QueuedDownload.ID], _ queue: any QueueStore) async throws -> Int {
        guard !ids.isEmpty else { return 0 }
        // The lease is that of a claim, which this command doesn't make: a claim of nothing takes back the jobs of dead workers.
        let nothing = JobClaim(
            worker: QueueWorker(name: ""), count: 0, limits: DownloadCoordinator.Limits(), lease: .zero)
        while true {
            _ = try await queue.exchange([], claiming: nothing)
            // A download that was resumed, or enqueued again, meanwhile runs on.
            let running = try await queue.jobs(ids).count(where: \.isStopping)
            if running == 0 || Task.isCancelled { return running }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    static func text(_ kind: Kind, _ result: Result) -> String {
        guard result.changed > 0 else {
            return "\(kind.pastTense) 0 downloads: none of the selected ones is \(kind.subjects)."
        }
        var text = "\(kind.pastTense) \(Format.count(result.changed, "download"))"
        if result.continuing > 0 {
            let subject = result.continuing == result.changed ? "which" : "of which \(result.continuing)"
            text += ", \(subject) \(result.continuing == 1 ? "goes" : "go") on for other users or batches"
        }
        return text + "."
    }
}
