import SluiceFiles
import SluiceHTTP
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What became of a list of requests.
public struct DownloadSummary: Sendable {
    /// Files that were downloaded.
    public var done = 0
    /// Files that were there already.
    public var skipped = 0
    /// Requests that somebody cancelled.
    public var cancelled = 0
    /// The errors of those that failed, by the request's place in the list.
    public var failures: [Int: DownloadError] = [:]
    /// Requests that are left undone, since the run was stopped.
    public var unfinished = 0
    /// Bytes of the files that were downloaded.
    public var bytes: Int64 = 0
    /// Attempts after a request's first one.
    public var retries = 0

    /// Nothing done so far.
    public init() {}

    /// Whether every request ended well.
    public var isComplete: Bool { failures.isEmpty && unfinished == 0 && cancelled == 0 }

    mutating func note(_ event: DownloadEvent, of index: Int) {
        switch event {
        case .retrying: retries += 1
        case .finished(_, let outcome):
            unfinished -= 1
            switch outcome {
            case .done(let count):
                done += 1
                bytes += count
            case .skipped: skipped += 1
            case .cancelled: cancelled += 1
            case .failed(let error): failures[index] = error
            }
        case .started, .responded, .received, .released: break
        }
    }
}

extension DownloadCoordinator {
    /// Downloads a list and says what became of it: for a program that has one list, and no queue to keep.
    ///
    ///     let summary = try await HTTPTransport.withTransport { transport in
    ///         try await DownloadCoordinator(transport: transport).download(urls.map { DownloadRequest($0, to: music) })
    ///     }
    ///
    /// Enqueues the requests, runs until they have ended, and forgets them if all ended well. When some failed, or it is
    /// stopped before that, they stay in the store: the same list, given to a coordinator of the same store, goes on where it
    /// was, and what was done by then counts as skipped while its file is there. A request that writes the same file as an
    /// earlier one, or its partial file, fails.
    ///
    /// `onEvent` is called at each step with the request's place in the list, from the task that takes it; it must be quick
    /// and must not block. The coordinator must not be running otherwise.
    ///
    /// - Cancellation: as for ``run(until:onEvent:)``; the summary counts what is left undone.
    /// - Throws: ``QueueStoreError``. Each request's own error is in the summary and in its event.
    public func download(
        _ requests: [DownloadRequest],
        onEvent: @escaping @Sendable (_ index: Int, _ event: DownloadEvent) -> Void = { _, _ in }
    ) async throws -> DownloadSummary {
        let batch = "list \(UInt64.random(in: 0 ... .max))"
        let conflicts = DownloadRequest.conflicts(in: requests)
        let indices = requests.indices.filter { conflicts[$0] == nil }
        let jobs = try await enqueueList(indices.map { requests[$0] }, batch)
        var places: [JobID: Int] = [:]
        for (index, job) in zip(indices, jobs) { places[job.id] = index }

        var counted = DownloadSummary()
        counted.unfinished = requests.count
        let summary = Mutex(counted)
        let ended = Mutex<Set<Int>>([])
        let note: @Sendable (Int, DownloadEvent) -> Void = { index, event in
            summary.withLock { $0.note(event, of: index) }
            if event.isEnd { ended.withLock { _ = $0.insert(index) } }
            onEvent(index, event)
        }
        for (index, other) in conflicts.sorted(by: { $0.key < $1.key }) {
            note(
                index,
                .finished(job: JobID(rawValue: 0), outcome: .failed(requests[index].conflict(requests[other].url))))
        }
        for (index, job) in zip(indices, jobs) {
            switch job.outcome {
            case .kept: note(index, .finished(job: job.id, outcome: .skipped))
            case .conflict(let other):
                places[job.id] = nil
                note(index, .finished(job: job.id, outcome: .failed(requests[index].queued(other))))
            case .added, .joined: break
            }
        }
        let known = places
        try await run(until: .whenBatchIsEmpty(batch)) { event in
            if let index = known[event.job] { note(index, event) }
        }
        // Another process may have carried some out. Who is to stop does not look for that: it takes long for long lists.
        if !Task.isCancelled {
            let open = ended.withLock { ended in places.filter { !ended.contains($0.value) } }
            for (index, event) in try await ends(of: open, requests) { note(index, event) }
        }
        let result = summary.withLock { $0 }
        // While some have failed, those that are done are what the next attempt of the list need not do.
        if result.isComplete { try await store.remove(Array(known.keys)) }
        return result
    }

    /// How jobs ended that this process has seen no end of; those that have not are left out.
    private func ends(of places: [JobID: Int], _ requests: [DownloadRequest]) async throws -> [(Int, DownloadEvent)] {
        guard !places.isEmpty else { return [] }
        let found = try await store.jobs(Array(places.keys))
        var ends = found.filter(\.state.isFinal).map { (places[$0.id]!, requests[places[$0.id]!].end(of: $0)) }
        // A process forgets a list whose files are all there, also those that are on a list here.
        let remembered = Set(found.map(\.id))
        let forgotten = places.filter { !remembered.contains($0.key) }.sorted { $0.value < $1.value }
        guard !forgotten.isEmpty else { return ends }
        let targets = forgotten.map { requests[$0.value].target }
        for ((id, index), status) in zip(forgotten, try await files.statuses(of: targets, followingLinks: false)) {
            let request = requests[index]
            var outcome = DownloadOutcome.failed(request.goneElsewhere)
            if case .success(let file?) = status { outcome = .done(bytes: Int64(file.size)) }
            ends.append((index, .finished(job: id, outcome: outcome)))
        }
        return ends
    }

    /// Enqueues a list; what is done already stays so if its file is still there.
    private func enqueueList(_ requests: [DownloadRequest], _ batch: String) async throws -> [EnqueuedJob] {
        var jobs = try await store.enqueue(requests, options: EnqueueOptions(batch: batch, keepsFinished: true))
        let kept = jobs.indices.filter { jobs[$0].outcome == .kept }
        guard !kept.isEmpty else { return jobs }
        // A process that died between the record and the tidying has left its checkpoint.
        let untidy = try? await Transfer.mayResume(kept.map { requests[$0] }, files: files)
        for (index, isUntidy) in zip(kept, untidy ?? []) where isUntidy {
            try? await Transfer.discardPartial(of: requests[index], files: files)
        }
        let statuses = try? await files.statuses(of: kept.map { requests[$0].target }, followingLinks: false)
        let gone = zip(kept, statuses ?? []).filter { _, status in
            if case .success(nil) = status { true } else { false }
        }.map(\.0)
        let again = try await store.enqueue(gone.map { requests[$0] }, options: EnqueueOptions(batch: batch))
        for (index, job) in zip(gone, again) { jobs[index] = job }
        return jobs
    }
}

extension DownloadRequest {
    /// How a job ended that another process has worked on.
    fileprivate func end(of job: QueuedDownload) -> DownloadEvent {
        let outcome: DownloadOutcome =
            switch job.state {
            case .done: .done(bytes: job.bytes ?? 0)
            case .cancelled: .cancelled
            case .failed, .waiting, .running:
                .failed(DownloadError(.elsewhere(message: job.message ?? "it failed"), url: url, target: target))
            }
        return .finished(job: job.id, outcome: outcome)
    }

    fileprivate func queued(_ other: URL) -> DownloadError {
        DownloadError(.queued(other), url: url, target: target)
    }

    fileprivate var goneElsewhere: DownloadError {
        let message =
            "\(url.redactedForDisplay): another process that shares the queue removed this download from it, and its file is "
            + "not there; run the same again"
        return DownloadError(.elsewhere(message: message), url: url, target: target)
    }

    fileprivate func conflict(_ other: URL) -> DownloadError {
        DownloadError(.conflict(with: other), url: url, target: target)
    }
}
