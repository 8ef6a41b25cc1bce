import SluiceLock

extension DownloadCoordinator {
    /// Adds requests to the queue, in this order, and returns a handle for each.
    ///
    ///     let handles = try await downloads.enqueue(songs, batch: "top 500")
    ///     let song = try await handles[0].result
    ///
    /// When the method returns, all requests are in the store. If it throws, none of them is.
    ///
    /// A job is identified by its URL and its target. A request for an unfinished job joins that job: its user and batch become a member
    /// (``QueuedDownload/Member``), and its handle completes with the same file. A request for an ended job starts it again, unless it is
    /// done and `keepsFinished` is `true`. A request isn't added if another unfinished job writes the same file; see
    /// ``DownloadHandle/outcome``.
    ///
    /// A run in this process notices the jobs immediately, and a run in another process within a second.
    ///
    /// - Parameters:
    ///   - requests: The files to download.
    ///   - batch: A name for these requests together, such as "playlist 7", for ``cancel(_:)``. A job can belong to several batches.
    ///   - keepsFinished: Whether a job that is done stays done. By default the file is downloaded again.
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func enqueue(
        _ requests: [DownloadRequest], batch: String? = nil, keepsFinished: Bool = false
    ) async throws -> [DownloadHandle] {
        let jobs = try await store.enqueue(
            requests, options: EnqueueOptions(batch: batch, keepsFinished: keepsFinished, place: store.place))
        current.withLock { $0 }?.wake()
        observers.changes.note()
        return zip(requests, jobs).map {
            DownloadHandle(
                request: $0, batch: batch, id: $1.id, outcome: $1.outcome, coordinator: self,
                ended: observers.outcome(of: $1.id))
        }
    }

    /// Removes ended jobs that are older than `age`, and the oldest ones if there are more than `count`. Their files stay.
    ///
    /// Each run does the same in the background, when it begins and then once a minute, with the values of its configuration. Until then
    /// there can be more ended downloads.
    ///
    /// - Throws: ``QueueStoreError``.
    public func prune(olderThan age: Duration, keeping count: Int = 10_000) async throws {
        try await store.prune(olderThan: age, keeping: count)
        observers.forgetOutcomes()
        observers.changes.note()
    }
}
