import SluiceLock

extension DownloadCoordinator {
    /// Cancels jobs, waits until they have stopped, and removes their partial files.
    ///
    ///     try await downloads.cancel(.all)
    ///     try await downloads.cancel(.batch("playlist 7"))
    ///     try await downloads.cancel(.waiting)                    // running downloads go on
    ///
    /// Cancelling a batch removes the unfinished jobs from it. Jobs that also belong to another batch continue. Jobs that are done stay
    /// done, and their files aren't removed.
    ///
    /// A job that another process runs is stopped by that process within a third of its lease. If that process has died, this method waits
    /// until the lease has expired. Partial files that can't be removed stay; a later attempt uses or replaces them.
    ///
    /// A job that two users have requested belongs to the first of them. So `.user` cancels only the jobs that this user was the first to
    /// request.
    ///
    /// - Throws: ``QueueStoreError``; `CancellationError` if the calling task is cancelled while it waits. The jobs are cancelled
    ///   nevertheless.
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
            // No other process may be running to notice that a lease has expired; claiming no job checks that.
            _ = try await store.exchange([], claiming: .nothing)
        }
    }
}
