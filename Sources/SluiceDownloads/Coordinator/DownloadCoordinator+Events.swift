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
