import SluiceLock

extension DownloadCoordinator {
    /// Cancels downloads, waits until they have stopped, and removes their partial files.
    ///
    ///     try await downloads.cancel(.all)
    ///     try await downloads.cancel(.user(me))
    ///     try await downloads.cancel(.waiting)                    // running downloads go on
    ///
    /// Cancelling a user or a batch ends its members (``QueuedDownload/Member``). A download that other members have requested continues,
    /// and only the handles of the cancelled requests complete, with the state ``QueuedDownload/State/cancelled``. Downloads that are done
    /// stay done, and their files aren't removed.
    ///
    /// A download that another process runs is stopped by that process within a third of its lease. If that process has died, this method
    /// waits until the lease has expired. Partial files that can't be removed stay; a later attempt uses or replaces them.
    ///
    /// - Throws: ``QueueStoreError``; `CancellationError` if the calling task is cancelled while it waits. The downloads are cancelled
    ///   nevertheless.
    @concurrent public func cancel(_ selection: QueuedDownload.Selection) async throws {
        let change = try await store.cancel(selection)
        let run = current.withLock { $0 }
        run?.stop(change.cancelling, because: .cancelled)
        run?.stop(change.pausing, because: .paused)
        for job in change.stopped {
            observers.note(.cancelled, of: job.id)
            observers.note(.finished(job: job.id, outcome: .cancelled))
            try? await Transfer.discardPartial(of: job.request.resolved(in: directory), files: files)
        }
        for job in change.continuing { observers.noteEnd(of: selection, in: job) }
        observers.changes.note()
        try await waitUntilStopped(change.cancelling)
    }

    /// Pauses downloads, and waits until they have stopped. They keep their partial files.
    ///
    ///     try await downloads.pause(.user(me))
    ///     try await downloads.resume(.user(me))
    ///
    /// Pausing a user or a batch pauses its members (``QueuedDownload/Member``). A download that other members have requested continues
    /// for them. Requests that are enqueued later aren't paused, and enqueuing a paused request again resumes it. Paused downloads survive
    /// the end of the process as waiting ones do.
    ///
    /// A download that another process runs is stopped by that process within a third of its lease.
    ///
    /// - Throws: ``QueueStoreError``; `CancellationError` if the calling task is cancelled while it waits. The downloads are paused
    ///   nevertheless.
    @concurrent public func pause(_ selection: QueuedDownload.Selection) async throws {
        let change = try await store.pause(selection)
        current.withLock { $0 }?.stop(change.pausing, because: .paused)
        observers.changes.note()
        try await waitUntilStopped(change.pausing)
    }

    /// Waits until jobs have stopped, or another call has revoked the stop. A job that was resumed may run again before anything shows that
    /// it had stopped.
    private func waitUntilStopped(_ jobs: [JobID]) async throws {
        guard !jobs.isEmpty else { return }
        var change = observers.changes.next
        while try await store.jobs(jobs).contains(where: \.isStopping) {
            try Task.checkCancellation()
            await timing.wait(for: change, atMost: timing.poll)
            change = observers.changes.next
            // No other process may be running to notice that a lease has expired; claiming no job checks that.
            _ = try await store.exchange([], claiming: .nothing)
        }
    }
}
