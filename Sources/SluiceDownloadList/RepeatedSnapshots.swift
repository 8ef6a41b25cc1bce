import SluiceDownloads

/// The snapshots of a queue as results. After an error the iteration begins again, a second later.
struct RepeatedSnapshots<Source: AsyncSequence<QueueSnapshot, any Error> & Sendable>: AsyncSequence, Sendable {
    let snapshots: Source
    let sleep: @Sendable (Duration) async throws -> Void

    func makeAsyncIterator() -> Iterator { Iterator(snapshots: snapshots, sleep: sleep) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let snapshots: Source
        fileprivate let sleep: @Sendable (Duration) async throws -> Void
        private var iterator: Source.AsyncIterator?
        private var lastError: QueueStoreError?

        fileprivate init(snapshots: Source, sleep: @escaping @Sendable (Duration) async throws -> Void) {
            self.snapshots = snapshots
            self.sleep = sleep
        }

        mutating func next() async -> Result<QueueSnapshot, QueueStoreError>? { await next(isolation: nil) }

        mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> Result<QueueSnapshot, QueueStoreError>? {
            if let lastError {
                if lastError.code == .closed { return nil }
                try? await sleep(.seconds(1))
                self.lastError = nil
                iterator = nil
            }
            guard !Task.isCancelled else { return nil }
            var current = iterator ?? snapshots.makeAsyncIterator()
            defer { iterator = current }
            do {
                return try await current.next(isolation: actor).map { .success($0) }
            } catch {
                guard !Task.isCancelled else { return nil }
                let failure =
                    error as? QueueStoreError
                    ?? QueueStoreError(.other, subject: "queue", message: "The queue couldn't be read: \(error).")
                lastError = failure
                return .failure(failure)
            }
        }
    }
}

/// A sequence with an element each second, until the task is cancelled.
struct Ticks: AsyncSequence, Sendable {
    let sleep: @Sendable (Duration) async throws -> Void

    func makeAsyncIterator() -> Iterator { Iterator(sleep: sleep) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let sleep: @Sendable (Duration) async throws -> Void

        func next() async -> Void? { await next(isolation: nil) }

        func next(isolation actor: isolated (any Actor)?) async -> Void? {
            try? await sleep(.seconds(1))
            return Task.isCancelled ? nil : ()
        }
    }
}
