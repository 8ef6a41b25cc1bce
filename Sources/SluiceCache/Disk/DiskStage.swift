import SluiceConcurrency
import SluiceHTTP
import SluiceLock
import Synchronization

/// The disk store of a cache, which opens when it is first needed.
///
/// Tasks that need the store while it opens wait for the same attempt. After a failed attempt, the next one is made a second later at the
/// earliest, because each may wait for a locked index; until then, the store's error is the answer.
final class DiskStage: Sendable {
    private let now: @Sendable () -> HTTPDate
    private let closed: TransferError
    private let openStore: @Sendable () async throws -> DiskStore
    private let opened = AtomicStore()
    /// Not an `AsyncLazy`, whose waiting tasks would each try again after an error.
    private let attempts = SingleFlight<Int, DiskStore>()
    private let state = Lock(State())

    private struct State {
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
    var storeIfOpen: DiskStore? { opened.load() }

    /// The store. The first task opens it.
    var store: DiskStore {
        get async throws {
            if let store = opened.load() { return store }
            if let failure = state.withLock({ $0.failure }), failure.time == now() { throw failure.error }
            return try await self.open()
        }
    }

    /// Opens the store unless it is open, even if an attempt has just failed.
    @discardableResult
    func open() async throws -> DiskStore {
        if let store = opened.load() { return store }
        return try await attempts.run(for: 0) { [self] in
            // The last attempt may have succeeded since the check.
            if let store = opened.load() { return store }
            guard state.withLock({ !$0.isClosed }) else { throw closed }
            do {
                let store = opened.storeIfNil(try await openStore())
                state.withLock { $0.failure = nil }
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

/// The store, once it is open. Does the same as an `AtomicLazyReference`, which looks up its own type at each load: that took longer than
/// the rest of some lookups.
private final class AtomicStore: Sendable {
    private let address = Atomic<UInt>(0)

    deinit { Self.reference(address.load(ordering: .relaxed))?.release() }

    func load() -> DiskStore? { Self.reference(address.load(ordering: .acquiring))?.takeUnretainedValue() }

    /// Sets the store unless there is one. Returns the one that was set.
    func storeIfNil(_ store: DiskStore) -> DiskStore {
        let new = Unmanaged.passRetained(store)
        let (isSet, old) = address.compareExchange(
            expected: 0, desired: UInt(bitPattern: new.toOpaque()), ordering: .acquiringAndReleasing)
        guard !isSet, let first = Self.reference(old) else { return store }
        new.release()
        return first.takeUnretainedValue()
    }

    private static func reference(_ address: UInt) -> Unmanaged<DiskStore>? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged.fromOpaque($0) }
    }
}
