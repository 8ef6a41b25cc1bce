import SluiceConcurrency
import SluiceHTTP
import SluiceLock

/// The disk store of a cache, which opens when it is first needed.
///
/// Tasks that need the store while it opens wait for the same attempt. After a failed attempt, the next one is made a second later at the
/// earliest, because each may wait for a locked index; until then, the store's error is the answer.
final class DiskStage: Sendable {
    private let now: @Sendable () -> HTTPDate
    private let closed: TransferError
    private let openStore: @Sendable () async throws -> DiskStore
    /// Not an `AsyncLazy`, whose waiting tasks would each try again after an error.
    private let attempts = SingleFlight<Int, DiskStore>()
    private let state = Lock(State())

    private struct State {
        var store: DiskStore?
        var isClosed = false
        var failure: (error: any Error, time: HTTPDate)?
    }

    init(
        now: @escaping @Sendable () -> HTTPDate, whenClosed closed: TransferError,
        _ openStore: @escaping @Sendable () async throws -> DiskStore
    ) {
        self.now = now
        self.closed = closed
        self.openStore = openStore
    }

    /// The store if it has been opened. Doesn't wait.
    var storeIfOpen: DiskStore? { state.withLock { $0.store } }

    /// The store. The first task opens it.
    var store: DiskStore {
        get async throws {
            let (store, failure) = state.withLock { ($0.store, $0.failure) }
            if let store { return store }
            if let failure, failure.time == now() { throw failure.error }
            return try await self.open()
        }
    }

    /// Opens the store unless it is open, even if an attempt has just failed.
    @discardableResult
    func open() async throws -> DiskStore {
        if let store = storeIfOpen { return store }
        return try await attempts.run(for: 0) { [self] in
            // The last attempt may have succeeded since the check.
            if let store = storeIfOpen { return store }
            guard state.withLock({ !$0.isClosed }) else { throw closed }
            do {
                let store = try await openStore()
                state.withLock { ($0.store, $0.failure) = (store, nil) }
                return store
            } catch {
                if !(error is CancellationError) { state.withLock { [time = now()] in $0.failure = (error, time) } }
                throw error
            }
        }
    }

    /// Closes the store if it is open or opening. Completes even if the task is cancelled.
    func close() async throws {
        state.withLock { $0.isClosed = true }
        // Waits for a running attempt. A new one doesn't open the store anymore.
        try await Task { try? await self.open() }.value?.close()
    }
}
