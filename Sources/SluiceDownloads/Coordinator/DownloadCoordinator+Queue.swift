import SluiceConcurrency
import SluiceLock

// MARK: - Enqueuing

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
}

// MARK: - Changing

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

// MARK: - Snapshots

extension DownloadCoordinator {
    /// An asynchronous sequence of snapshots of the queue: its current state, and the new state after each change.
    ///
    ///     for try await snapshot in downloads.snapshots() { render(snapshot) }
    ///
    /// A snapshot is created when it is requested, so a slow reader skips states and never sees an outdated one. There are at most ten
    /// snapshots in a second. Changes by other processes appear within a second. To show the queue in a view, use a
    /// ``DownloadList``, which follows these snapshots and computes the rate and the time left.
    ///
    /// The sequence ends when the task is cancelled. It throws a ``QueueStoreError`` if the store fails.
    ///
    /// After a cancellation, the last snapshot may be older than the queue. To save or print the final state, call ``snapshot(listing:)``
    /// after the run; it also works in a cancelled task.
    ///
    /// - Parameter count: The maximum number of jobs of each kind that a snapshot lists. The counts include all jobs.
    public func snapshots(listing count: Int = 100) -> some AsyncSequence<QueueSnapshot, any Error> & Sendable {
        QueueSnapshots(coordinator: self, listing: count)
    }

    /// The current state of the queue.
    ///
    /// - Throws: ``QueueStoreError``.
    @concurrent public func snapshot(listing count: Int = 100) async throws -> QueueSnapshot {
        var snapshot = try await store.snapshot(listing: count)
        if let run = current.withLock({ $0 }) { run.addProgress(to: &snapshot) }
        return snapshot
    }
}

private struct QueueSnapshots: AsyncSequence, Sendable {
    typealias Failure = any Error

    fileprivate let coordinator: DownloadCoordinator
    fileprivate let listing: Int

    func makeAsyncIterator() -> Iterator {
        Iterator(coordinator: coordinator, listing: listing)
    }

    struct Iterator: AsyncIteratorProtocol {
        private let coordinator: DownloadCoordinator
        private let listing: Int
        /// The change after the last snapshot; `nil` before the first.
        private var change: Condition?

        fileprivate init(coordinator: DownloadCoordinator, listing: Int) {
            self.coordinator = coordinator
            self.listing = listing
        }

        mutating func next() async throws -> QueueSnapshot? {
            try await next(isolation: nil)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> QueueSnapshot? {
            if let change {
                try? await coordinator.timing.clock.sleep(for: coordinator.timing.frame)
                let limit = coordinator.store.isShared ? coordinator.timing.poll : nil
                await coordinator.timing.wait(for: change, atMost: limit)
            }
            change = coordinator.observers.changes.next
            guard !Task.isCancelled else { return nil }
            return try await coordinator.snapshot(listing: listing)
        }
    }
}

// MARK: - Events

extension DownloadCoordinator {
    /// An asynchronous sequence of the changes of all downloads, without gaps: those that the queue has recorded after a cursor, and then
    /// each further one.
    ///
    ///     for try await event in downloads.events(after: saved) {
    ///         if event.kind == .done { notify(event.user, about: event.job) }
    ///         saved = event.id
    ///     }
    ///
    /// The events of all processes are numbered in the order of their changes. With an SQLite store they survive the end of the process:
    /// a program that saves the cursor of the last handled event misses none. Every reader gets all events. A slow one costs no memory,
    /// because at most 256 events are read ahead. The changes of other processes appear within a second.
    ///
    /// The queue keeps at least the last 10,000 events. To begin with the current state, use the cursor of a snapshot:
    /// `downloads.events(after: snapshot.cursor)`.
    ///
    /// The sequence ends when the task is cancelled. It throws ``QueueStoreError``, with the code `eventsRemoved` if events after the
    /// cursor have been removed.
    ///
    /// - Parameter cursor: The last event to leave out; `nil` to begin with the oldest event that is kept.
    public func events(after cursor: QueueEvent.Cursor? = nil)
        -> some AsyncSequence<QueueEvent, any Error> & Sendable
    {
        QueueEvents(coordinator: self, cursor: cursor)
    }
}

private struct QueueEvents: AsyncSequence, Sendable {
    typealias Failure = any Error

    let coordinator: DownloadCoordinator
    let cursor: QueueEvent.Cursor?

    func makeAsyncIterator() -> Iterator { Iterator(coordinator: coordinator, last: cursor) }

    struct Iterator: AsyncIteratorProtocol {
        private let coordinator: DownloadCoordinator
        private var last: QueueEvent.Cursor?
        private var page: ArraySlice<QueueEvent> = []

        private static let pageSize = 256

        fileprivate init(coordinator: DownloadCoordinator, last: QueueEvent.Cursor?) {
            self.coordinator = coordinator
            self.last = last
        }

        mutating func next() async throws -> QueueEvent? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> QueueEvent? {
            let store = coordinator.store
            while page.isEmpty {
                guard !Task.isCancelled else { return nil }
                let change = coordinator.observers.changes.next
                page = try await store.events(after: last?.rawValue, atMost: Self.pageSize)[...]
                if page.isEmpty {
                    let limit = store.isShared ? coordinator.timing.poll : nil
                    await coordinator.timing.wait(for: change, atMost: limit)
                }
            }
            last = page.first?.id
            return page.popFirst()
        }
    }
}
