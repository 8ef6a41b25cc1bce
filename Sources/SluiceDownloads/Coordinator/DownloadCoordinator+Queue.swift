import SluiceConcurrency
import SluiceFiles
import SluiceLock

// MARK: - Enqueuing

extension DownloadCoordinator {
    /// Adds requests to the queue, in this order, and returns a handle for each.
    ///
    ///     let handles = try await downloads.enqueue(songs, batch: "top 500")
    ///     let song = try await handles[0].file
    ///
    /// When the method returns, all requests are in the store.
    ///
    /// A download is identified by its URL and its target. A request for an unfinished download joins it: its user and batch become a member
    /// (``QueuedDownload/Member``), and its handle completes with the same file. A request for a failed or cancelled download starts it
    /// again. A request for a download that is done starts it again only if its file is gone, so a program can enqueue the same list at each
    /// start. A request isn't added if another unfinished download writes the same file; see ``DownloadHandle/admission``.
    ///
    /// A run in this process notices new downloads immediately; a run in another process, within a second.
    ///
    /// - Parameters:
    ///   - requests: The files to download.
    ///   - batch: A name for the group of requests, such as "playlist 7", for example to cancel them together (``cancel(_:waits:)``). A
    ///     download can belong to several batches.
    ///   - keepsFinished: Whether a download that is done stays done if its file still exists. With `false`, it starts again, and fails
    ///     unless ``Configuration/existing`` is `replace` or its file is gone. Sluice looks for the files of relative requests in the
    ///     configuration's directory. If there is none, only the workers know where these files are, and the downloads stay done.
    /// - Throws: ``QueueStoreError``. If it throws, no request is in the store, with one exception: downloads whose files are gone are added
    ///   in a second step. If that step throws, the other requests are already in the store; repeat the call.
    @discardableResult
    @concurrent public func enqueue(
        _ requests: [DownloadRequest], batch: String? = nil, keepsFinished: Bool = true
    ) async throws -> [DownloadHandle] {
        let jobs =
            keepsFinished
            ? try await enqueueMissing(requests, batch: batch, looksUpRelative: configuration.directory != nil)
            : try await store.enqueue(requests, options: EnqueueOptions(batch: batch, machine: store.machine))
        core.current?.wake()
        observers.changes.note()
        return zip(requests, jobs).map {
            DownloadHandle(
                request: $0, batch: batch, id: $1.id, admission: $1.admission, coordinator: self,
                ended: observers.outcome(of: $1.id))
        }
    }

    /// Adds a request to the queue, and returns its handle.
    ///
    ///     let handle = try await downloads.enqueue(DownloadRequest(url, to: music, user: me))
    ///     play(try await handle.file)
    ///
    /// The same as ``enqueue(_:batch:keepsFinished:)-([DownloadRequest],_,_)`` with one request.
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func enqueue(
        _ request: DownloadRequest, batch: String? = nil, keepsFinished: Bool = true
    ) async throws -> DownloadHandle {
        try await enqueue([request], batch: batch, keepsFinished: keepsFinished)[0]
    }

    /// Adds requests, except those for jobs that are done and whose files still exist.
    ///
    /// - Parameter looksUpRelative: Whether relative requests belong in ``directory``. If not, their jobs stay done.
    func enqueueMissing(
        _ requests: [DownloadRequest], batch: String?, looksUpRelative: Bool
    ) async throws -> [EnqueuedJob] {
        var options = EnqueueOptions(batch: batch, keepsFinished: true, machine: store.machine)
        var jobs = try await store.enqueue(requests, options: options)
        let kept = jobs.indices.filter { jobs[$0].admission == .kept && (looksUpRelative || !requests[$0].isRelative) }
        guard !kept.isEmpty else { return jobs }
        let gone = await DownloadRequest.indicesOfGoneFiles(of: resolved(kept.map { requests[$0] }), using: files)
            .map { kept[$0] }
        guard !gone.isEmpty else { return jobs }
        options.keepsFinished = false
        let again = try await store.enqueue(gone.map { requests[$0] }, options: options)
        for (index, job) in zip(gone, again) { jobs[index] = job }
        return jobs
    }
}

// MARK: - Changing

extension DownloadCoordinator {
    /// What a change to the selected downloads did.
    ///
    ///     let change = try await downloads.cancel(.user(me), waits: false)
    ///     show("Cancelled \(change.changedCount) downloads. \(change.stopping.count) are stopping.")
    ///     try await downloads.waitUntilStopped(change.stopping)
    ///
    /// A change can affect a million downloads, so they are only counted. The running ones are listed, because the limits keep them few.
    public struct ChangeReport: Sendable, Hashable {
        /// The number of downloads that were changed.
        public var changedCount: Int
        /// How many of the changed downloads continue for other users or batches, because only some of their members were cancelled or
        /// paused.
        public var continuingCount: Int
        /// The downloads that are being cancelled or paused, but run until their workers have stopped them. Empty if the method waited.
        public var stopping: [QueuedDownload.ID]
        /// The selected IDs that belong to no download, or to one that the selected user hasn't requested, in their original order.
        public var unknown: [QueuedDownload.ID]

        /// Creates a report, for previews and tests of a user interface.
        public init(
            changedCount: Int = 0, continuingCount: Int = 0, stopping: [QueuedDownload.ID] = [],
            unknown: [QueuedDownload.ID] = []
        ) {
            self.changedCount = changedCount
            self.continuingCount = continuingCount
            self.stopping = stopping
            self.unknown = unknown
        }

        init(_ change: JobChange, unknown: [QueuedDownload.ID]) {
            let stopping = change.cancelling + change.pausing
            // A job that continues only for paused members is in both lists.
            let continuing = Set(change.continuing).subtracting(stopping)
            self.init(
                changedCount: change.stopped.count + Set(stopping).union(continuing).count,
                continuingCount: continuing.count, stopping: stopping.sorted(), unknown: unknown)
        }
    }

    /// Cancels downloads, waits until they have stopped, and removes their partial files.
    ///
    ///     try await downloads.cancel(.all)
    ///     try await downloads.cancel(.user(me))
    ///     try await downloads.cancel(.user(me, ids: [handle.id]))  // others may still want the file
    ///     try await downloads.cancel(.waiting)                    // running downloads continue
    ///
    /// Cancelling a user or a batch ends its members (``QueuedDownload/Member``). A download that other members have requested continues,
    /// and only the handles of the cancelled requests complete, with the state ``QueuedDownload/State/cancelled``. Downloads that are done
    /// stay done, and their files aren't removed.
    ///
    /// If another process runs a download, it stops the download within a third of its lease. Downloads of processes that are known to have
    /// died are cancelled immediately, and downloads of other dead processes once their leases expire. Partial files that can't be removed
    /// stay; a later attempt uses or replaces them.
    ///
    /// - Parameters:
    ///   - selection: The downloads.
    ///   - waits: Whether the method waits until running downloads have stopped, as ``waitUntilStopped(_:)`` does. If not, the report lists
    ///     them.
    /// - Throws: ``QueueStoreError``; `CancellationError` if the calling task is cancelled while it waits. The downloads are cancelled
    ///   anyway.
    @discardableResult
    @concurrent public func cancel(
        _ selection: QueuedDownload.Selection, waits: Bool = true
    ) async throws -> ChangeReport {
        let unknown = try await unknownIDs(in: selection)
        try await store.releaseJobsOfDeadWorkers()
        let change = try await store.cancel(selection)
        let run = core.current
        run?.stop(change.cancelling, because: .cancelled)
        run?.stop(change.pausing, because: .paused)
        let directory = directory
        for job in change.stopped {
            observers.note(.cancelled, of: job.id)
            observers.note(.finished(download: job.id, outcome: .cancelled))
            try? await Transfer.discardPartial(of: job.request.resolved(in: directory), files: files)
        }
        for job in change.continuing { observers.noteEnd(of: selection, in: job) }
        observers.changes.note()
        return try await finish(ChangeReport(change, unknown: unknown), waits: waits)
    }

    /// Pauses downloads, and waits until they have stopped. They keep their partial files.
    ///
    ///     try await downloads.pause(.user(me))
    ///     try await downloads.resume(.user(me))
    ///
    /// Pausing a user or a batch pauses its members (``QueuedDownload/Member``). A download that other members have requested continues for
    /// them. Requests that are enqueued later aren't paused, and enqueuing a paused request again resumes it. Paused downloads survive the
    /// end of the process, just as waiting ones do.
    ///
    /// Downloads that other processes run stop as described in ``cancel(_:waits:)``.
    ///
    /// - Parameters:
    ///   - selection: The downloads.
    ///   - waits: Whether the method waits until running downloads have stopped, as ``waitUntilStopped(_:)`` does. If not, the report lists
    ///     them.
    /// - Throws: ``QueueStoreError``; `CancellationError` if the calling task is cancelled while it waits. The downloads are paused
    ///   anyway.
    @discardableResult
    @concurrent public func pause(
        _ selection: QueuedDownload.Selection, waits: Bool = true
    ) async throws -> ChangeReport {
        let unknown = try await unknownIDs(in: selection)
        try await store.releaseJobsOfDeadWorkers()
        let change = try await store.pause(selection)
        core.current?.stop(change.pausing, because: .paused)
        observers.changes.note()
        return try await finish(ChangeReport(change, unknown: unknown), waits: waits)
    }

    /// Waits until downloads that are being cancelled or paused have stopped. Nothing is written to their files afterwards.
    ///
    ///     let change = try await downloads.pause(.all, waits: false)
    ///     show("Waiting for \(change.stopping.count) downloads…")
    ///     try await downloads.waitUntilStopped(change.stopping)
    ///
    /// The method doesn't wait for unknown IDs, or for downloads that another call has resumed or enqueued again.
    ///
    /// The method notices immediately when a run in this process stops a download. Other processes don't announce it, so the method polls
    /// the store, first after 0.1 seconds, then less and less often, and finally every second. It also takes back the downloads of
    /// processes that have died in the meantime.
    ///
    /// - Throws: ``QueueStoreError``; `CancellationError` if the calling task is cancelled before the downloads have stopped.
    @concurrent public func waitUntilStopped(_ ids: [QueuedDownload.ID]) async throws {
        var pause = min(.milliseconds(100), timing.poll)
        var nextPoll = timing.now() + pause.milliseconds
        var change = observers.changes.next
        // A resumed job may run again before we see that it had stopped.
        while !ids.isEmpty, try await store.jobs(ids).contains(where: \.isStopping) {
            try Task.checkCancellation()
            await timing.wait(for: change, until: nextPoll)
            change = observers.changes.next
            guard timing.now() >= nextPoll else { continue }
            pause = min(pause * 2, timing.poll)
            nextPoll = timing.now() + pause.milliseconds
            // There may be no other process to notice that a worker has died.
            try await store.releaseJobsOfDeadWorkers()
        }
    }

    private func finish(_ report: ChangeReport, waits: Bool) async throws -> ChangeReport {
        guard waits else { return report }
        try await waitUntilStopped(report.stopping)
        var report = report
        report.stopping = []
        return report
    }

    /// Resumes paused downloads, and reports how many are waiting now. They continue from their partial files.
    ///
    ///     try await downloads.resume(.all)
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func resume(_ selection: QueuedDownload.Selection) async throws -> ChangeReport {
        let unknown = try await unknownIDs(in: selection)
        let jobs = try await store.resume(selection)
        core.current?.wake()
        observers.changes.note()
        return ChangeReport(changedCount: jobs.count, unknown: unknown)
    }

    /// Retries failed and cancelled downloads, and reports how many are waiting now.
    ///
    ///     try await downloads.retry(.state(.failed))
    ///     try await downloads.retry(.batch("playlist 7"))
    ///
    /// They keep their IDs, members and priorities, and their failed attempts no longer count. Their handles wait for the new attempt, and
    /// new ``DownloadHandle/events()`` report it. All members of a download become active again, even if you selected only one user's
    /// downloads. A download continues from its partial file if that still exists. It isn't retried if another unfinished download writes
    /// the same file.
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func retry(_ selection: QueuedDownload.Selection) async throws -> ChangeReport {
        let unknown = try await unknownIDs(in: selection)
        let jobs = try await store.retry(selection)
        core.current?.wake()
        observers.changes.note()
        return ChangeReport(changedCount: jobs.count, unknown: unknown)
    }

    /// Changes the priority of unfinished downloads, and reports how many there are.
    ///
    ///     try await downloads.prioritize(.user(me), priority: 10)
    ///
    /// A download has the highest priority of its members. Waiting downloads with a higher priority start first. Running downloads
    /// continue; if one of them has to wait again, the new priority counts.
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func prioritize(
        _ selection: QueuedDownload.Selection, priority: Int
    ) async throws -> ChangeReport {
        let unknown = try await unknownIDs(in: selection)
        let count = try await store.prioritize(selection, priority: priority)
        observers.changes.note()
        return ChangeReport(changedCount: count, unknown: unknown)
    }

    /// Limits the rate of all workers of the queue together, in this process and others. The queue stores the limits.
    ///
    ///     try await downloads.setQueueRates(.init(total: 2_000_000))      // 2 MB/s
    ///     try await downloads.setQueueRates(.init())                      // no limit
    ///
    /// The workers that have running downloads get equal parts, whether they use them or not. Workers in this process follow at once, others
    /// within a second (PostgreSQL: at once, or within five seconds if announcements don't arrive). Each worker's own limits
    /// (``Configuration/maximumRate``) apply, too.
    ///
    /// - Precondition: The rates are at least 1.
    /// - Throws: ``QueueStoreError``.
    @concurrent public func setQueueRates(_ rates: MaximumRates) async throws {
        rates.check()
        try await store.setRates(rates)
        core.current?.followRates()
    }

    /// Returns the limits that ``setQueueRates(_:)`` has stored in the queue.
    ///
    /// - Throws: ``QueueStoreError``.
    @concurrent public func queueRates() async throws -> MaximumRates {
        try await store.rates(besides: nil).rates
    }

    /// Removes ended downloads from the queue, and reports how many there were. Their files stay.
    ///
    ///     try await downloads.remove(.state(.done))
    ///
    /// If you remove a user or a batch, a download that other members have requested stays in the queue.
    ///
    /// To remove a download that hasn't ended, cancel it first. The ``DownloadHandle/result`` of a removed download throws.
    ///
    /// - Throws: ``QueueStoreError``.
    @discardableResult
    @concurrent public func remove(_ selection: QueuedDownload.Selection) async throws -> ChangeReport {
        // Look before the change, because removed downloads have no numbers.
        let unknown = try await unknownIDs(in: selection)
        let count = try await store.remove(selection)
        if count > 0 { observers.forgetOutcomes() }
        observers.changes.note()
        return ChangeReport(changedCount: count, unknown: unknown)
    }

    /// Removes ended downloads that are older than `age`, and the oldest ones if there are more than `count`. Their files stay.
    ///
    /// Each run does the same in the background with the values of its configuration, when it begins and then once a minute. In between,
    /// there can be more ended downloads.
    ///
    /// - Throws: ``QueueStoreError``.
    public func prune(olderThan age: Duration, keeping count: Int = 10_000) async throws {
        try await store.prune(olderThan: age, keeping: count)
        observers.forgetOutcomes()
        observers.changes.note()
    }

    private func unknownIDs(in selection: QueuedDownload.Selection) async throws -> [QueuedDownload.ID] {
        guard let ids = selection.ids else { return [] }
        let known = try await store.jobs(ids).filter { $0.members.contains(where: selection.means) }
        return Set(ids).subtracting(known.map(\.id)).sorted()
    }
}

// MARK: - Reading

extension DownloadCoordinator {
    /// The selected downloads, ordered by ID.
    ///
    ///     let playlist = try await downloads.downloads(.batch("playlist 7"))
    ///     let failed = try await downloads.downloads(.state(.failed), maximumCount: 20)
    ///
    /// To read a long queue in pages, pass the ID of the last download. Each call finds the IDs of all selected downloads before it reads a
    /// page of them. To show the whole queue as it changes, use ``snapshots(listing:)``.
    ///
    /// - Parameters:
    ///   - selection: The downloads.
    ///   - id: The ID after which the list begins; `nil` to begin with the first download.
    ///   - maximumCount: The maximum number of downloads to return.
    /// - Throws: ``QueueStoreError``.
    @concurrent public func downloads(
        _ selection: QueuedDownload.Selection, after id: QueuedDownload.ID? = nil, maximumCount: Int = 100
    ) async throws -> [QueuedDownload] {
        try await store.jobs(in: selection, after: id, atMost: maximumCount)
    }
}

// MARK: - Snapshots

extension DownloadCoordinator {
    /// An asynchronous sequence of snapshots of the queue: its current state, and the new state after each change.
    ///
    ///     for try await snapshot in downloads.snapshots() { render(snapshot) }
    ///
    /// A snapshot is taken when the reader asks for it, so a slow reader skips states but never sees an outdated one. There are at most ten
    /// snapshots a second. Changes by other processes appear within a second. To show the queue in a view, use a ``DownloadList``, which
    /// follows these snapshots and computes the rate and the time left.
    ///
    /// The sequence ends when the task is cancelled. It throws a ``QueueStoreError`` if the store fails.
    ///
    /// After a cancellation, the last snapshot may be out of date. To save or print the final state, call ``snapshot(listing:)`` after the
    /// run; it works in a cancelled task, too.
    ///
    /// - Parameter count: The maximum number of downloads of each kind that a snapshot lists. The counts include all downloads.
    public func snapshots(listing count: Int = 100) -> some AsyncSequence<QueueSnapshot, any Error> & Sendable {
        QueueSnapshots(coordinator: self, listing: count)
    }

    /// The current state of the queue.
    ///
    /// - Throws: ``QueueStoreError``.
    @concurrent public func snapshot(listing count: Int = 100) async throws -> QueueSnapshot {
        var snapshot = try await store.snapshot(listing: count)
        if let run = core.current { run.addProgress(to: &snapshot) }
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
        /// Signals the next change after the last snapshot; `nil` before the first snapshot.
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
    /// An asynchronous sequence of the changes to all downloads, without gaps: first the recorded ones after a cursor, then each new one.
    ///
    ///     for try await event in downloads.events(after: saved) {
    ///         if event.kind == .done { notify(event.user, about: event.download) }
    ///         saved = event.id
    ///     }
    ///
    /// The events of all processes are numbered in the order of their changes. With an SQLite store, they survive the end of the process: a
    /// program that saves the cursor of the last event it handled misses none. Every reader gets all events. A slow reader costs no memory,
    /// because at most 256 events are read ahead. Changes by other processes appear within a second.
    ///
    /// The queue keeps at least the last 10,000 events. To begin with the current state, use the cursor of a snapshot:
    /// `downloads.events(after: snapshot.cursor)`.
    ///
    /// The sequence ends when the task is cancelled. It throws ``QueueStoreError``, with the code `eventsRemoved` if events after the
    /// cursor have been removed.
    ///
    /// - Parameter cursor: The event after which the sequence begins; `nil` to begin with the oldest event that the queue has kept.
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

// MARK: - Copying

extension DownloadCoordinator {
    /// Copies the unfinished downloads of another queue, with their members and failed attempts, and reports what happened to each. They
    /// get new numbers, and the other queue isn't changed.
    ///
    /// It copies 500 downloads at a time. If the task is cancelled, it returns after the current 500.
    ///
    /// - Parameters:
    ///   - other: The coordinator of the other queue.
    ///   - change: A function that can change a request before it is added.
    ///   - onCopy: A function that is called with each download, its number here, and what happened to it.
    package func copyUnfinished(
        from other: DownloadCoordinator, changing change: @Sendable (inout DownloadRequest) -> Void,
        onCopy: (QueuedDownload, QueuedDownload.ID, DownloadHandle.Admission) async -> Void
    ) async throws {
        guard let old = other.store as? any CopyableQueue, let new = store as? any CopyableQueue else {
            throw QueueStoreError(.other, subject: "queue in memory", message: "This kind of queue can't be copied.")
        }
        var latest = QueuedDownload.ID(rawValue: .min)
        while !Task.isCancelled {
            var downloads = try await old.unfinished(after: latest, atMost: 500)
            guard let last = downloads.last else { break }
            latest = last.id
            for index in downloads.indices { change(&downloads[index].request) }
            for (download, job) in zip(downloads, try await new.add(downloads, machine: new.machine)) {
                await onCopy(download, job.id, job.admission)
            }
        }
        observers.changes.note()
    }
}
