import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One call of ``Downloader/run(_:onEvent:)``: the queue, its workers, and the account of what is done.
final class DownloaderRun: Sendable {
    /// A request's next attempt.
    private struct Attempt: Sendable {
        var index: Int
        var number: Int
        /// Whether there may be something to go on from.
        var mayResume = true
    }

    private let downloader: Downloader
    private let requests: [DownloadRequest]
    private let onEvent: @Sendable (DownloadEvent) -> Void
    private let queue = AsyncQueue<Attempt>()
    private let account: Mutex<Account>

    private struct Account {
        var summary = DownloadSummary()
        /// Requests that still have an attempt before them or under way.
        var open: Int
    }

    init(
        downloader: Downloader, requests: [DownloadRequest], onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) {
        self.downloader = downloader
        self.requests = requests
        self.onEvent = onEvent
        var summary = DownloadSummary()
        summary.unfinished = requests.count
        account = Mutex(Account(summary: summary, open: requests.count))
        if requests.isEmpty { queue.finish() }
    }

    func result() async -> DownloadSummary {
        await withDiscardingTaskGroup { workers in
            workers.addTask { await self.fill() }
            for _ in 0..<min(downloader.limiter.concurrency, requests.count) {
                workers.addTask { await self.work() }
            }
        }
        return account.withLock { $0.summary }
    }

    /// Puts the requests into the queue, those left out whose target exists already: a question for many files at a time,
    /// so that it costs no switch of thread for each.
    private func fill() async {
        let batchSize = 256
        let conflicts = DownloadRequest.conflicts(in: requests)
        var folders: [URL: FileError?] = [:]
        for start in stride(from: 0, to: requests.count, by: batchSize) {
            let batch = start..<min(start + batchSize, requests.count)
            for folder in Set(requests[batch].map(\.folder)) where folders[folder] == nil {
                folders[folder] = .some(await errorOfMaking(folder))
            }
            let outcomes = await outcomesBeforehand(of: batch)
            // Cancelled: so are the workers.
            let mayResume = try? await Transfer.mayResume(requests[batch], files: downloader.files)
            for (index, outcome) in zip(batch, outcomes) {
                let request = requests[index]
                if let other = conflicts[index] {
                    finish(index, .failed(error(.conflict(with: requests[other].url), request)))
                } else if let failure = folders[request.folder] ?? nil {
                    finish(index, .failed(error(.file(failure), request)))
                } else if let outcome {
                    finish(index, outcome)
                } else {
                    queue.enqueue(
                        Attempt(index: index, number: 1, mayResume: mayResume?[index - batch.lowerBound] ?? true))
                }
            }
        }
    }

    private func error(_ reason: DownloadError.Reason, _ request: DownloadRequest) -> DownloadError {
        DownloadError(reason, url: request.url, target: request.target)
    }

    private func errorOfMaking(_ folder: URL) async -> FileError? {
        do {
            try await downloader.files.makeDirectory(at: folder)
        } catch let error as FileError {
            return error
        } catch {
            // Cancelled: so are the workers.
        }
        return nil
    }

    /// What can be said without asking a server: that the target exists.
    private func outcomesBeforehand(of batch: Range<Int>) async -> [DownloadOutcome?] {
        let existing = downloader.configuration.existing
        let undecided = [DownloadOutcome?](repeating: nil, count: batch.count)
        // A symbolic link that leads nowhere occupies its name, too.
        let targets = requests[batch].map(\.target)
        guard let statuses = try? await downloader.files.statuses(of: targets, followingLinks: false) else {
            // Cancelled: so are the workers.
            return undecided
        }
        return zip(batch, statuses).map { index, status in
            switch status {
            case .success(nil): return nil
            case .success(let found?) where existing == .replace:
                // Found out now rather than after the whole transfer.
                guard found.kind == .directory else { return nil }
                let failure = FileError(
                    code: .isDirectory, operation: "replace", path: requests[index].target.path(percentEncoded: false),
                    remedy: "Choose another name, or remove the folder.")
                return .failed(error(.file(failure), requests[index]))
            case .success where existing == .skip: return .skipped
            case .success: return .failed(error(.targetExists, requests[index]))
            case .failure(let failure): return .failed(error(.file(failure), requests[index]))
            }
        }
    }

    /// Takes one attempt after the other until every request is finished, or the task is cancelled.
    private func work() async {
        await withDiscardingTaskGroup { delays in
            for await attempt in queue.elements {
                guard let delay = await carryOut(attempt) else { continue }
                // The worker goes on with others meanwhile.
                delays.addTask {
                    do {
                        try await self.downloader.clock.sleep(for: delay)
                        self.queue.enqueue(Attempt(index: attempt.index, number: attempt.number + 1))
                    } catch {
                        self.leaveUnfinished()
                    }
                }
            }
        }
    }

    /// Runs an attempt; returns how long to wait for the next one, if there is to be one.
    private func carryOut(_ attempt: Attempt) async -> Duration? {
        let request = requests[attempt.index]
        do {
            let transfer = transfer(request, attempt)
            let result = try await downloader.limiter.run {
                onEvent(.started(index: attempt.index, attempt: attempt.number))
                return try await transfer.run()
            }
            if result.isCheckpointed { await transfer.forget() }
            finish(attempt.index, .done(bytes: result.bytes))
        } catch var error as DownloadError where !Task.isCancelled {
            error.attempts = attempt.number
            if case .targetExists = error.reason, downloader.configuration.existing == .skip {
                finish(attempt.index, .skipped)
                return nil
            }
            if let delay = delay(after: error, attempt) {
                account.withLock { $0.summary.retries += 1 }
                onEvent(.retrying(index: attempt.index, error: error, delay: delay))
                return delay
            }
            finish(attempt.index, .failed(error))
        } catch {
            // Cancelled, or the limiter's waiters were sent away.
            leaveUnfinished()
        }
        return nil
    }

    private func transfer(_ request: DownloadRequest, _ attempt: Attempt) -> Transfer {
        let index = attempt.index
        return Transfer(
            request: request, transport: downloader.transport, files: downloader.files,
            existing: downloader.configuration.existing, durability: downloader.configuration.durability,
            mayResume: attempt.mayResume,
            onResponse: { announced, present in
                self.onEvent(.responded(index: index, announced: announced))
                if present > 0 { self.onEvent(.received(index: index, bytes: present)) }
            },
            onReceived: { self.onEvent(.received(index: index, bytes: $0)) })
    }

    private func delay(after error: DownloadError, _ attempt: Attempt) -> Duration? {
        guard error.isTransient, !Task.isCancelled else { return nil }
        var random = SystemRandomNumberGenerator()
        return downloader.configuration.retries.delay(
            beforeRetry: attempt.number, retryAfter: error.retryAfter, using: &random)
    }

    private func finish(_ index: Int, _ outcome: DownloadOutcome) {
        let isLast = account.withLock { account in
            account.summary.unfinished -= 1
            account.open -= 1
            switch outcome {
            case .done(let bytes):
                account.summary.done += 1
                account.summary.bytes += bytes
            case .skipped: account.summary.skipped += 1
            case .failed(let error): account.summary.failures[index] = error
            }
            return account.open == 0
        }
        onEvent(.finished(index: index, outcome: outcome))
        if isLast { queue.finish() }
    }

    private func leaveUnfinished() {
        let isLast = account.withLock { account in
            account.open -= 1
            return account.open == 0
        }
        if isLast { queue.finish() }
    }
}
