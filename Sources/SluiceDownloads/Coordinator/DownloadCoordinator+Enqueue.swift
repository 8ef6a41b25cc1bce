import SluiceLock

extension DownloadCoordinator {
    /// Takes requests in, in this order, and returns a handle for each.
    ///
    ///     let handles = try await downloads.enqueue(songs, batch: "top 500")
    ///     let song = try await handles[0].result
    ///
    /// Returns when they are in the store; all of them are, or none. A job's key is its URL and its target: a request for one
    /// that waits or runs joins it, one that has ended starts again, unless it is done and `keepsFinished` is true. A request whose target
    /// another job is about to write is not taken in, and its handle says so.
    ///
    /// Has an effect at once on a run that is under way here, and within a second on those of other processes.
    ///
    /// - Parameters:
    ///   - requests: What to download.
    ///   - batch: A name for these requests together, such as "playlist 7", for ``cancel(_:)``. A download may belong to several
    ///     batches.
    ///   - keepsFinished: Whether a download that is done stays done. By default it is downloaded again.
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func enqueue(
        _ requests: [DownloadRequest], batch: String? = nil, keepsFinished: Bool = false
    ) async throws -> [DownloadHandle] {
        let jobs = try await store.enqueue(
            requests, options: EnqueueOptions(batch: batch, keepsFinished: keepsFinished))
        current.withLock { $0 }?.wake()
        observers.noteChange()
        return zip(requests, jobs).map {
            DownloadHandle(request: $0, id: $1.id, outcome: $1.outcome, coordinator: self)
        }
    }

    /// Forgets those of the ended jobs that ended longer ago than this, and the oldest beyond this many.
    ///
    /// Files stay. Each run does this when it begins, as its configuration says.
    public func prune(olderThan age: Duration, keeping count: Int = 10_000) async throws {
        try await store.prune(olderThan: age, keeping: count)
        observers.noteChange()
    }
}
