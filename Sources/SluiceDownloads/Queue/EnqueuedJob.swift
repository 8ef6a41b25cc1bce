package struct EnqueueOptions: Sendable, Hashable {
    package var batch: String?
    package var keepsFinished: Bool

    package init(batch: String? = nil, keepsFinished: Bool = false) {
        self.batch = batch
        self.keepsFinished = keepsFinished
    }
}

package struct EnqueuedJob: Sendable, Hashable {
    /// The job; after a conflict, the other job.
    package var id: JobID
    package var outcome: DownloadHandle.Outcome

    package init(id: JobID, outcome: DownloadHandle.Outcome) {
        self.id = id
        self.outcome = outcome
    }
}
