import SluiceFiles
public import SluiceHTTP

extension DownloadCoordinator {
    /// What ``download(_:onEvent:)`` would do with a request. Later versions may add cases.
    public enum Preview: Sendable {
        /// Download the file. With `ExistingFile.replace`, it may replace another.
        case download
        /// Continue a partial file, if the server still has the same file.
        case resume
        /// Compare an existing file with the request's checksum.
        case verify
        /// Nothing, because the file exists.
        case skip
        /// The request would fail without a request to the server.
        case fail(TransferError)
    }

    /// Returns what ``download(_:onEvent:)`` would do with each request of a list, without doing it.
    ///
    ///     for (request, preview) in zip(requests, await downloads.previews(of: requests)) { print(request.target, preview) }
    ///
    /// Only files and ``Configuration/records`` are looked at, not the queue. Nothing is written, and no request is sent. The files may have
    /// changed when the list is downloaded. If the task is cancelled, the rest of the list counts as `.download`.
    public func previews(of requests: [DownloadRequest]) async -> [Preview] {
        let resolved = resolved(requests)
        var previews = [Preview](repeating: .download, count: requests.count)
        let known = configuration.existing == .fail ? await configuration.records?.known(of: resolved) : nil
        await TargetFacts.of(resolved, using: files) { index, facts in
            let request = resolved[index]
            if request.checksum != nil, case .file = facts.target { return previews[index] = .verify }
            if case .complete = known?.answer(about: request, facts) { return previews[index] = .skip }
            switch facts.decision(existing: configuration.existing, mayBePublished: false) {
            case .download(let resuming): previews[index] = resuming ? .resume : .download
            case .skip, .complete: previews[index] = .skip
            case .identify: previews[index] = .download
            case .refuse(let refusal): previews[index] = .fail(refusal.error(for: request))
            }
        }
        for (index, request) in resolved.enumerated() where request.hasReservedName {
            previews[index] = .fail(.nameReserved(request))
        }
        for (index, other) in DownloadRequest.conflicts(in: resolved) {
            previews[index] = .fail(.targetTaken(by: requests[other].url, resolved[index]))
        }
        return previews
    }
}
