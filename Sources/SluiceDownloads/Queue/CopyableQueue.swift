/// A store whose unfinished jobs can be copied to another store.
package protocol CopyableQueue: QueueStore {
    /// Returns at most `count` unfinished jobs with greater numbers than `id`, in the order of their numbers.
    func unfinished(after id: JobID, atMost count: Int) async throws -> [QueuedDownload]

    /// Adds jobs with all their members and failed attempts, in this order, and returns what was done with each. All of them are added, or
    /// none.
    ///
    /// A job that is unfinished here gets the members that it doesn't have, and its own members aren't changed. A job that is done here
    /// stays done.
    ///
    /// - Parameter place: The machine that absolute targets belong to, if the store spans machines. See ``JobClaim/place``.
    func add(_ downloads: [QueuedDownload], place: String?) async throws -> [EnqueuedJob]
}

extension CopyableQueue {
    package func add(_ downloads: [QueuedDownload]) async throws -> [EnqueuedJob] {
        try await add(downloads, place: nil)
    }
}
