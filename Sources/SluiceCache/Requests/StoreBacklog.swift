import SluiceConcurrency

/// The responses that are stored on disk behind their callers, who already have them.
///
/// ```text
/// request   ── exchange ── add ─▶ caller                    lookup of the same resource ── waits ─────▶ finds the row
/// backlog                    └── batch of all that wait ── transaction ─────────────────────┘
/// ```
///
/// While a batch is being stored, the next responses collect, so a busy cache stores up to a hundred with one transaction. The backlog is
/// bounded: if the disk is slower than the network, callers wait in ``add(_:)``. A resource has at most one response in the backlog.
final class StoreBacklog: Sendable {
    /// A response that is being stored.
    struct Pending: Sendable {
        let addition: DiskStore.Addition
        /// Called with the result, before lookups of the resource continue.
        let finish: @Sendable (Result<DiskStore.Stored, any Error>) -> Void

        fileprivate var key: ResourceKey { addition.key }
        fileprivate var bytes: Int { addition.response.body.count + ResourceCache.memoryOverhead }
    }

    /// The largest number of responses in the backlog, and the largest sum of their sizes. A single response may be larger.
    static let maximumCount = 1_000
    static let maximumBytes = 16 << 20
    private static let largestBatch = 100

    private struct State: Sendable {
        var waiting: [Pending] = []
        /// The resources with a response in the backlog, including those that are being stored.
        var keys: Set<ResourceKey> = []
        var bytes = 0
        /// How many responses were ever added, and how many of them have been stored or refused. They leave in the same order.
        var (addedCount, finishedCount) = (0, 0)
        var isWorking = false

        func hasRoom(for bytes: Int) -> Bool {
            keys.count < StoreBacklog.maximumCount && (self.bytes + bytes <= StoreBacklog.maximumBytes || keys.isEmpty)
        }
    }

    private let state = Monitor(State())
    private let store: @Sendable ([DiskStore.Addition]) async -> [Result<DiskStore.Stored, any Error>]

    init(_ store: @escaping @Sendable ([DiskStore.Addition]) async -> [Result<DiskStore.Stored, any Error>]) {
        self.store = store
    }

    /// Adds a response, and returns when there is room, even in a cancelled task. Returns false, and adds nothing, if the resource has a
    /// response in the backlog.
    func add(_ pending: Pending) async -> Bool {
        let added = await state.wait { state -> (isAdded: Bool, startsWork: Bool)? in
            guard !state.keys.contains(pending.key) else { return (false, false) }
            guard state.hasRoom(for: pending.bytes) else { return nil }
            state.keys.insert(pending.key)
            state.bytes += pending.bytes
            state.waiting.append(pending)
            state.addedCount += 1
            defer { state.isWorking = true }
            return (true, !state.isWorking)
        }
        if added.startsWork { Task { await work() } }
        return added.isAdded
    }

    /// Waits until no response of this resource is in the backlog, even in a cancelled task.
    func wait(for key: ResourceKey) async {
        await state.wait { !$0.keys.contains(key) }
    }

    func waitUnlessCancelled(for key: ResourceKey) async throws(CancellationError) {
        if state.withState({ !$0.keys.contains(key) }) { return }
        try await state.waitUnlessCancelled { !$0.keys.contains(key) }
    }

    /// Waits until all responses that are in the backlog now have been stored or refused, even in a cancelled task.
    func drain() async {
        let addedCount = state.withState { $0.addedCount }
        await state.wait { $0.finishedCount >= addedCount }
    }

    /// The same, but after `limit` the responses that still wait are refused, with a `CancellationError`. Only those that are being stored
    /// then are waited for.
    func drain(within limit: Duration, clock: any Clock<Duration>) async {
        // Unstructured, because a cancelled caller gives them the same time.
        let timer = Task {
            try await clock.sleep(for: limit)
            refuseWaiting()
        }
        await drain()
        timer.cancel()
    }

    private func refuseWaiting() {
        let refused = state.withState { state in
            let refused = state.waiting
            state.waiting = []
            return refused
        }
        finish(refused, refused.map { _ in .failure(CancellationError()) })
    }

    private func work() async {
        while let batch = takeBatch() {
            finish(batch, await store(batch.map(\.addition)))
        }
    }

    private func finish(_ batch: [Pending], _ results: [Result<DiskStore.Stored, any Error>]) {
        for (pending, result) in zip(batch, results) { pending.finish(result) }
        state.withState { state in
            for pending in batch {
                state.keys.remove(pending.key)
                state.bytes -= pending.bytes
            }
            state.finishedCount += batch.count
        }
    }

    /// Returns the next responses. A large one is alone.
    private func takeBatch() -> [Pending]? {
        state.withState { state in
            let isLarge = { (pending: Pending) in pending.bytes > DiskStore.largestInBatch }
            let count = state.waiting.prefix(Self.largestBatch).prefix { !isLarge($0) }.count
            let batch = Array(state.waiting.prefix(max(count, 1)))
            state.waiting.removeFirst(batch.count)
            state.isWorking = !batch.isEmpty
            return batch.isEmpty ? nil : batch
        }
    }
}
