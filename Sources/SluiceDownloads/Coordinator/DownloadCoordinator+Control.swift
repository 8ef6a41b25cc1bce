import SluiceLock

extension DownloadCoordinator {
    /// Resumes paused downloads, and returns how many wait now. They continue with the bytes of their partial files.
    ///
    ///     try await downloads.resume(.all)
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func resume(_ selection: QueuedDownload.Selection) async throws -> Int {
        let jobs = try await store.resume(selection)
        current.withLock { $0 }?.wake()
        observers.changes.note()
        return jobs.count
    }

    /// Tries failed and cancelled downloads again, and returns how many wait now.
    ///
    ///     try await downloads.retry(.state(.failed))
    ///     try await downloads.retry(.batch("playlist 7"))
    ///
    /// They keep their numbers, members and priorities, and lose their failed attempts. A download continues with the bytes of its partial
    /// file, if that still exists. A download isn't tried again if another unfinished download writes the same file.
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func retry(_ selection: QueuedDownload.Selection) async throws -> Int {
        let jobs = try await store.retry(selection)
        current.withLock { $0 }?.wake()
        observers.changes.note()
        return jobs.count
    }

    /// Changes the priority of unfinished downloads, and returns how many there are.
    ///
    ///     try await downloads.prioritize(.user(me), priority: 10)
    ///
    /// The priority of a download is the highest of its members. Waiting downloads of a higher priority start first. Running downloads go
    /// on; if one of them has to wait again, the new priority counts.
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func prioritize(_ selection: QueuedDownload.Selection, priority: Int) async throws -> Int {
        let count = try await store.prioritize(selection, priority: priority)
        observers.changes.note()
        return count
    }

    /// Removes ended downloads from the queue, and returns how many there were. Their files stay.
    ///
    ///     try await downloads.remove(.state(.done))
    ///
    /// Removing a user or a batch leaves a download in the queue that other members have requested.
    ///
    /// To remove a download that hasn't ended, cancel it first. A ``DownloadHandle/result`` of a removed download throws.
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func remove(_ selection: QueuedDownload.Selection) async throws -> Int {
        let count = try await store.remove(selection)
        if count > 0 { observers.forgetOutcomes() }
        observers.changes.note()
        return count
    }
}
