import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The internals of a ``DownloadCoordinator``: the queue, its rules, and the engine while a caller needs one.
///
/// Tasks hold the core, not the coordinator. So a coordinator can be released while its queue runs, and that stops the background run that
/// ``DownloadCoordinator/start()`` began.
///
/// ```text
/// run(), download(_:), start() ── callers ──▶ one CoordinatorEngine, in its own task ── turns ──▶ store
/// ```
///
/// The first caller starts the engine, later callers join it, and it ends when the last one leaves. An engine that is ending can't be
/// joined; the next caller waits until it has ended, and starts another one.
final class CoordinatorCore: Sendable {
    let store: any QueueStore
    let transport: any Transport
    let limits: DownloadCoordinator.Limits
    let configuration: DownloadCoordinator.Configuration
    let resolve: DownloadCoordinator.Resolver?
    let files: FileIO
    let timing: CoordinatorTiming
    let observers = QueueObservers()
    let knownTargets = KnownTargets()
    let bandwidth: Bandwidth<ContinuousClock>
    let connections: HostConnections
    /// Called at each step of each job, for tests that kill the process there.
    let onPhase: @Sendable (JobID, JobPhase) -> Void
    private let state = Lock(State())

    private struct State {
        var running: Running?
        /// The task of `start()`.
        var background: Task<Void, Never>?
        /// The task that `stop()` cancelled last.
        var stopping: Task<Void, Never>?
        var failure: (any Error)?
        var isClosed = false
    }

    private struct Running {
        let engine: CoordinatorEngine
        let task: Task<Void, any Error>
    }

    init(
        store: any QueueStore, transport: any Transport, limits: DownloadCoordinator.Limits,
        configuration: DownloadCoordinator.Configuration, resolve: DownloadCoordinator.Resolver?, files: FileIO,
        timing: CoordinatorTiming, onPhase: @escaping @Sendable (JobID, JobPhase) -> Void
    ) {
        self.store = store
        self.transport = transport
        self.limits = limits
        self.configuration = configuration
        self.resolve = resolve
        self.files = files
        self.timing = timing
        self.onPhase = onPhase
        // In a shared store, the limits of the claims leave room for all segments.
        let borrowsSegments = configuration.segments != nil && !store.isShared
        connections = HostConnections(limit: borrowsSegments ? limits.perHost : nil)
        bandwidth = Bandwidth(
            .init(total: configuration.maximumRate, perHost: configuration.maximumRatePerHost),
            clock: ContinuousClock())
    }

    /// If a store isn't shared, nobody else can take over its jobs. If their leases expired while this process was suspended, it would run
    /// the jobs twice.
    var lease: Duration { store.isShared ? configuration.lease : .seconds(100 * 365 * 86_400) }

    /// The limits of claims. See ``DownloadCoordinator/Segments``.
    var claimLimits: DownloadCoordinator.Limits {
        guard store.isShared, let segments = configuration.segments, let perHost = limits.perHost else { return limits }
        var limits = limits
        limits.perHost = max(1, perHost / segments.count)
        return limits
    }

    /// How downloads are divided into segments. A file that was begun in segments is continued the same way, even over one connection.
    var segments: DownloadCoordinator.Segments {
        guard var segments = configuration.segments, !configuration.decodesContent else { return .init(count: 1) }
        segments.count = min(segments.count, limits.perHost ?? .max, 10_000)
        return segments
    }

    /// The number of downloads that this process can run concurrently. A run creates a worker task for each.
    var places: Int { min(limits.total, 10_000) }

    /// The base directory for relative targets.
    var directory: URL { (configuration.directory ?? .currentDirectory()).absoluteURL }

    /// The engine, if the queue is running.
    var current: CoordinatorEngine? { state.withLock { $0.running?.engine } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: Callers

    /// Runs the queue until the caller's downloads have ended, its task is cancelled, or the coordinator is closed.
    ///
    /// - Throws: The error that ended the engine.
    @concurrent func run(_ caller: RunCaller) async throws {
        guard let running = try await join(caller) else { return }
        await running.engine.learnBatches()
        _ = try? await caller.over.waitUnlessCancelled()
        switch running.engine.leave(caller) {
        case .othersStay(isComplete: true): return
        case .othersStay(isComplete: false):
            if let condition = await running.engine.stopUnwanted(isLeaving: true) { _ = await condition.wait() }
            return
        case .last: running.task.cancel()
        case .ending: break
        }
        do {
            try await running.task.value
        } catch is CancellationError where Task.isCancelled || isClosed {
            // The engine was cancelled while it opened the store.
        }
    }

    /// Returns `nil` if the task is cancelled while it waits for an engine to end.
    private func join(_ caller: RunCaller) async throws -> Running? {
        while true {
            let (running, isClosed) = state.withLock { state -> (Running?, Bool) in
                if state.running == nil, !state.isClosed {
                    let engine = CoordinatorEngine(core: self)
                    state.running = Running(engine: engine, task: Task { try await self.work(engine) })
                }
                return (state.running, state.isClosed)
            }
            guard !isClosed, let running else { throw QueueStoreError.closed("queue") }
            if running.engine.add(caller) { return running }
            _ = await running.task.result
            if Task.isCancelled { return nil }
        }
    }

    private func work(_ engine: CoordinatorEngine) async throws {
        let result = await Result {
            let worker = try await store.attach()
            let result = await Result { try await engine.work(as: worker) }
            let detached = await Result { try await store.detach(worker) }
            if case .failure(let error as TransferError) = result { await engine.report(error, of: worker) }
            // The error that ended the engine matters more than one that follows from it.
            try result.get()
            try detached.get()
        }
        state.withLock { $0.running = nil }
        engine.noteEnd()
        observers.changes.note()
        try result.get()
    }

    // MARK: In the background

    var failure: (any Error)? { state.withLock { $0.failure } }

    func start() {
        state.withLock { state in
            if state.isClosed {
                state.failure = QueueStoreError.closed("queue")
            } else if state.background == nil {
                state.background = Task { await keepRunning() }
            }
        }
        observers.changes.note()
    }

    func stop() async {
        let task = state.withLock { state in
            if let background = state.background { (state.background, state.stopping) = (nil, background) }
            return state.stopping
        }
        task?.cancel()
        await task?.value
        setFailure(nil)
    }

    /// The coordinator has been released.
    func abandon() { state.withLock { $0.background }?.cancel() }

    func close() async throws {
        let (running, background) = state.withLock { state in
            state.isClosed = true
            return (state.running, state.background)
        }
        background?.cancel()
        running?.task.cancel()
        _ = await running?.task.result
        await background?.value
        try await store.close()
    }

    /// Keeps the queue running. After a failure, restarts it with a backoff that grows from a second to a minute.
    private func keepRunning() async {
        var pause = Duration.seconds(1)
        while !Task.isCancelled {
            let began = timing.now()
            do {
                let caller = RunCaller(until: .whenCancelled) { [self] event in
                    if case .finished(_, let outcome) = event, outcome.isSuccess { setFailure(nil) }
                } onWarning: { [self] error in
                    setFailure(error)
                }
                return try await run(caller)
            } catch {
                guard !Task.isCancelled, !isClosed else { return }
                setFailure(error)
                if timing.now() - began > 60_000 { pause = .seconds(1) }
                try? await timing.clock.sleep(for: pause)
                pause = min(pause * 2, .seconds(60))
            }
        }
    }

    private func setFailure(_ error: (any Error)?) {
        let hasChanged = state.withLock { state in
            // Usually there is no failure to clear.
            guard state.failure != nil || error != nil else { return false }
            state.failure = error
            return true
        }
        if hasChanged { observers.changes.note() }
    }

    /// Called when the store has responded, which ends a failure of the store. A failure of this worker ends when there is nothing left to
    /// do, or when the next download succeeds.
    func clearFailure(isEmpty: Bool) {
        guard let failure, isEmpty || failure is QueueStoreError else { return }
        setFailure(nil)
    }

    // MARK: Files

    func checkWriting(in directory: URL) async throws {
        // Unstructured, because a cancellation between the two steps would leave the probe file behind.
        try await Task { try await probeWriting(in: directory) }.value
    }

    private func probeWriting(in directory: URL) async throws {
        let probe = directory.appending(path: ".sluice-\(UInt64.random(in: 0 ... .max))", directoryHint: .notDirectory)
        do {
            try await Data().asyncWrite(to: probe, options: .init(durability: .none, existing: .fail), using: files)
            try await files.remove(probe)
        } catch let error as FileError {
            throw error.with(operation: "create a file in", path: directory.path(percentEncoded: false))
        }
    }
}

/// One caller of the engine: what it wants, and how to notify it.
final class RunCaller: Sendable {
    let end: DownloadCoordinator.RunEnd
    /// Whether the caller is waiting for a list. The list's downloads fail instead of waiting for long, and the caller filters its own
    /// events.
    let isAwaited: Bool
    let onEvent: @Sendable (DownloadEvent) -> Void
    let onWarning: @Sendable (QueueStoreError) -> Void
    /// Signalled when the caller's downloads have ended, or the engine has.
    let over: Condition
    let signal: Signal

    init(
        until end: DownloadCoordinator.RunEnd, isAwaited: Bool = false,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void,
        onWarning: @escaping @Sendable (QueueStoreError) -> Void
    ) {
        self.end = end
        self.isAwaited = isAwaited
        self.onEvent = onEvent
        self.onWarning = onWarning
        (over, signal) = Condition.makeCondition()
    }

    /// The batch that the caller wants; `nil` if it wants all jobs.
    var batch: String? { if case .whenBatchIsEmpty(let name) = end { name } else { nil } }
}

extension DownloadEvent.Outcome {
    fileprivate var isSuccess: Bool {
        switch self {
        case .done, .skipped: true
        case .failed, .cancelled: false
        }
    }
}
