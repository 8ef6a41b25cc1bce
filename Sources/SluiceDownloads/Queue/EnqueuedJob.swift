package struct EnqueueOptions: Sendable, Hashable {
    package var batch: String?
    package var keepsFinished: Bool
    /// The machine that absolute targets belong to, if the store spans machines. See ``JobClaim/place``.
    package var place: String?

    package init(batch: String? = nil, keepsFinished: Bool = false, place: String? = nil) {
        self.batch = batch
        self.keepsFinished = keepsFinished
        self.place = place
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
