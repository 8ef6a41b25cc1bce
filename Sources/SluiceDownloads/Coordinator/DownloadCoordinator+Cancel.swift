import SluiceLock

extension DownloadCoordinator {
    /// Cancels jobs and returns when they have stopped: no writer of theirs is left, and what they had is removed.
    ///
    ///     try await downloads.cancel(.all)
    ///     try await downloads.cancel(.batch("playlist 7"))
    ///
    /// Cancelling a batch takes its jobs out of it; those that belong to another batch, too, go on. Jobs that are done stay
    /// done, and their files stay.
    ///
    /// Jobs that another process runs are stopped by it, which may take as long as a third of its lease; this waits for
    /// that, or until the lease has run out, if it died. Files that cannot be removed stay; a later attempt uses or replaces
    /// them.
    ///
    /// A job that two have asked for is one job: cancelling those of a user cancels the jobs that this user asked for first.
    ///
    /// - Throws: ``QueueStoreError``; `CancellationError` when the task is cancelled while it waits: the jobs are cancelled
    ///   all the same.
    @concurrent public func cancel(_ selection: QueuedDownload.Selection) async throws {
        let pulse = observers.pulse()
        defer { observers.remove(pulse) }
        let cancellation = try await store.cancel(selection)
        current.withLock { $0 }?.cancel(cancellation.running)
        for job in cancellation.stopped {
            observers.note(.finished(job: job.id, outcome: .cancelled))
            try? await Transfer.discardPartial(of: job.request, files: files)
        }
        observers.noteChange()
        while try await store.jobs(cancellation.running).contains(where: { $0.state == .running }) {
            try Task.checkCancellation()
            await pulse.wait(atMost: timing.poll, sleep: timing.sleep)
            // Nobody else may be there to see that a lease has run out: a claim of nothing does.
            _ = try await store.exchange([], claiming: .nothing)
        }
    }
}
