import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension DownloadCoordinator {
    /// Downloads a file into a directory, and returns the file's URL.
    ///
    ///     let song = try await DownloadCoordinator().download(url, to: music)
    ///
    /// The file's name comes from the URL. Retries, limits, resuming and existing files are handled as the coordinator's configuration
    /// says. The queue may already be running. With `ExistingFile.skip`, the result can be a file that already existed.
    ///
    /// If the calling task is cancelled, the partial file stays, and the next call continues it.
    ///
    /// - Throws: `TransferError` if the download failed; `CancellationError` if the calling task or the download was cancelled;
    ///   ``QueueStoreError`` with the code `closed` if the coordinator was closed meanwhile; and the same errors as
    ///   ``run(until:onEvent:onWarning:)``.
    @concurrent public func download(
        _ url: URL, to directory: URL, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> URL {
        let summary = try await download([DownloadRequest(url, to: directory)]) { _, event in onEvent(event) }
        switch summary.results[0] {
        case .done(let file), .skipped(let file): return file
        case .failed(let error): throw error
        case .cancelled: throw CancellationError()
        case .unfinished: throw Task.isCancelled ? CancellationError() : QueueStoreError.closed("queue")
        }
    }

    /// Downloads a list of files and returns a summary.
    ///
    ///     let summary = try await DownloadCoordinator().download(urls.map { DownloadRequest($0, to: music) })
    ///
    /// Enqueues the requests, runs the queue until they have ended, and removes them if all succeeded. Otherwise they stay in the store,
    /// and a later call with the same list and store picks up where this one stopped: completed downloads count as skipped if their files
    /// exist, and failed or cancelled ones are retried. With `ExistingFile.skip`, a request for an existing file isn't enqueued. With
    /// ``Configuration/records``, neither is a request whose file an earlier list completed.
    ///
    /// A request fails if an earlier one in the list writes the same file or uses it as its partial file. If a request isn't enqueued, its
    /// event has no ID.
    ///
    /// **Cancellation** works as in ``run(until:onEvent:onWarning:)``. The summary counts the unfinished requests.
    ///
    /// - Parameters:
    ///   - requests: The files to download.
    ///   - onEvent: A function that is called at each step with the index of the request in the list. Several tasks call it concurrently.
    ///     It must be quick and must not block. For anything slow, pass the events to an `AsyncQueue` of SluiceConcurrency.
    /// - Throws: The same errors as ``run(until:onEvent:onWarning:)``. The error of a request is in the summary and in its event.
    @concurrent public func download(
        _ requests: [DownloadRequest],
        onEvent: @escaping @Sendable (_ index: Int, _ event: DownloadEvent) -> Void = { _, _ in }
    ) async throws -> DownloadSummary {
        try await download(
            requests, conflicts: DownloadRequest.conflicts(in: resolved(requests)), onEvent: onEvent)
    }

    /// The same, for callers that have already computed the conflicts (``DownloadRequest/conflicts(in:)``).
    @concurrent package func download(
        _ requests: [DownloadRequest], conflicts: [Int: Int],
        onEvent: @escaping @Sendable (_ index: Int, _ event: DownloadEvent) -> Void
    ) async throws -> DownloadSummary {
        let batch = Self.batch(of: requests)
        let resolved = resolved(requests)
        var indices = requests.indices.filter { conflicts[$0] == nil }
        var targets: [Int: TargetFacts] = [:]
        var skipped: Set<Int> = []
        let records = configuration.existing == .replace ? nil : configuration.records
        var mayBePublished: Set<Int> = []
        var leftovers: [DownloadRequest] = []
        if !configuration.takesServerNames, configuration.existing == .skip || records != nil {
            let known = configuration.existing == .fail ? await records?.known(of: indices.map { resolved[$0] }) : nil
            targets.reserveCapacity(indices.count)
            await TargetFacts.of(indices.lazy.map { resolved[$0] }, using: files) { [indices] offset, facts in
                let index = indices[offset]
                targets[index] = facts
                // A job is needed to verify a checksum.
                guard resolved[index].checksum == nil else { return }
                switch known?.answer(about: resolved[index], facts) {
                case .complete:
                    skipped.insert(index)
                    // The process that completed the file died before it removed the checkpoint.
                    if facts.evidence != .noCheckpoint { leftovers.append(resolved[index]) }
                case .mayBePublished: mayBePublished.insert(index)
                case .unknown, nil:
                    // A job is also needed to remove what an earlier attempt left behind.
                    guard configuration.existing == .skip,
                        case .skip(_, hasLeftovers: false) = facts.decision(existing: .skip, mayBePublished: false)
                    else { return }
                    skipped.insert(index)
                }
            }
            for request in leftovers { try? await Transfer.discardPartial(of: request, files: files) }
            if !skipped.isEmpty { indices.removeAll { skipped.contains($0) } }
            // Before they are enqueued: another run may start them at once.
            await records?.begin(indices.filter { targets[$0]?.target == .nothing }.map { resolved[$0] })
        }
        let jobs = try await enqueueMissing(indices.map { requests[$0] }, batch: batch, looksUpRelative: true)
        var positions: [JobID: Int] = [:]
        positions.reserveCapacity(indices.count)
        for (index, job) in zip(indices, jobs) { positions[job.id] = index }

        let summary = Lock(DownloadSummary(of: resolved))
        let ended = Lock<Set<Int>>([])
        let note: @Sendable (Int, DownloadEvent) -> Void = { index, event in
            summary.withLock { $0.note(event, of: index) }
            if event.isEnd { ended.withLock { _ = $0.insert(index) } }
            onEvent(index, event)
        }
        for (index, other) in conflicts.sorted(by: { $0.key < $1.key }) {
            note(
                index,
                .finished(
                    download: nil, outcome: .failed(.targetTaken(by: requests[other].url, requests[index]))))
        }
        for index in skipped.sorted() { note(index, .finished(download: nil, outcome: .skipped)) }
        for (index, job) in zip(indices, jobs) {
            switch job.admission {
            case .kept: note(index, .finished(download: job.id, outcome: .skipped))
            case .conflict(let other):
                positions[job.id] = nil
                note(index, .finished(download: job.id, outcome: .failed(.alreadyQueued(from: other, requests[index]))))
            case .added, .joined: break
            }
        }
        let known = positions
        var ahead: [(id: JobID, request: DownloadRequest)] = []
        for (index, job) in zip(indices, jobs) where job.admission == .added {
            if mayBePublished.contains(index) { core.knownTargets.noteMayBePublished(job.id) }
            if let facts = targets.removeValue(forKey: index) {
                core.knownTargets.note(facts, of: job.id)
            } else {
                ahead.append((job.id, resolved[index]))
            }
        }
        let unknown = ahead
        defer { core.knownTargets.forgetAll() }
        try await withThrowingTaskGroup { group in
            group.addTask { [self] in await core.knownTargets.look(at: unknown, using: files) }
            let caller = RunCaller(until: .whenBatchIsEmpty(batch), isAwaited: true) { event in
                if let download = event.download, let index = known[download] { note(index, event) }
            } onWarning: { _ in
            }
            try await core.run(caller)
            group.cancelAll()
        }
        await configuration.records?.flush()
        // A stopped run skips this, because it takes a while for long lists.
        if !Task.isCancelled, !core.isClosed {
            let silent = ended.withLock { ended in positions.filter { !ended.contains($0.value) } }
            for (index, event) in try await endsElsewhere(of: silent, resolved) { note(index, event) }
        }
        let result = summary.withLock { $0 }
        if result.isComplete, !core.isClosed { _ = try await store.remove(.batch(batch)) }
        return result
    }

    /// Depends only on the list, so every process uses the same batch and can remove it as a whole.
    private static func batch(of requests: [DownloadRequest]) -> String {
        var digest = SHA256Digest()
        var bytes: [UInt8] = []
        for request in requests {
            var url = request.url.absoluteString
            url.withUTF8 { bytes += $0 }
            bytes.append(0)
            request.targetDirectory.append(pathOf: request.name, to: &bytes)
            bytes.append(0)
            if bytes.count >= 64 << 10 {
                digest.update(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        digest.update(bytes)
        return "list " + Array(digest.finish().prefix(16)).hexadecimal
    }

    /// Returns the ends of jobs that other processes ran, because their events don't arrive here.
    private func endsElsewhere(
        of positions: [JobID: Int], _ requests: [DownloadRequest]
    ) async throws -> [(index: Int, event: DownloadEvent)] {
        guard !positions.isEmpty else { return [] }
        var ends: [(Int, DownloadEvent)] = []
        var gone = positions
        for job in try await store.jobs(Array(positions.keys)) {
            guard let index = gone.removeValue(forKey: job.id), job.state.isFinal else { continue }
            ends.append((index, requests[index].end(of: job)))
        }
        // The other process may have run the same list and removed it when it was complete.
        let vanished = gone.sorted { $0.value < $1.value }
        let found = try await TargetFacts.of(vanished.map { requests[$0.value] }, using: files)
        for ((job, index), facts) in zip(vanished, found) {
            // If the file exists, the other process downloaded it.
            let outcome: DownloadEvent.Outcome =
                switch facts.decision(existing: .skip, mayBePublished: false) {
                case .skip(let bytes, _), .complete(let bytes): .done(fileSize: bytes)
                case .refuse(let refusal): .failed(refusal.error(for: requests[index]))
                case .download, .identify: .failed(TransferError(.removed, url: requests[index].url))
                }
            ends.append((index, .finished(download: job, outcome: outcome)))
        }
        return ends
    }
}

extension DownloadRequest {
    fileprivate func end(of job: QueuedDownload) -> DownloadEvent {
        let outcome: DownloadEvent.Outcome =
            switch job.state {
            case .done: .done(fileSize: job.fileSize ?? 0)
            case .cancelled: .cancelled
            case .paused:
                .failed(TransferError(.paused, url: url))
            case .failed, .waiting, .running:
                .failed(job.error ?? TransferError(.unknown, url: url))
            }
        return .finished(download: job.id, outcome: outcome)
    }
}
