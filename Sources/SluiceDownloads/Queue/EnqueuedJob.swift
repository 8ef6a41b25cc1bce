/// How a store takes requests in.
package struct EnqueueOptions: Sendable, Hashable {
    /// A name for these requests together. A job may belong to several batches.
    package var batch: String?
    /// Whether a job that is done stays done, and is not downloaded again.
    package var keepsFinished: Bool

    package init(batch: String? = nil, keepsFinished: Bool = false) {
        self.batch = batch
        self.keepsFinished = keepsFinished
    }
}

/// What a store did with a request that was enqueued.
package struct EnqueuedJob: Sendable, Hashable {
    /// The job; of a conflict, the other one.
    package var id: JobID
    package var outcome: DownloadHandle.Outcome

    package init(id: JobID, outcome: DownloadHandle.Outcome) {
        self.id = id
        self.outcome = outcome
    }
}
