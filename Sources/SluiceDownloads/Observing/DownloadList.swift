public import Observation
import SluiceConcurrency
import SluiceFiles

/// The state of a download queue, for a user interface to observe.
///
///     struct QueueView: View {
///         let list: DownloadList
///
///         var body: some View {
///             ForEach(list.running) { song in
///                 ProgressView(song.download.request.name, value: song.fractionCompleted ?? 0)
///             }
///             Text("\(list.count(in: .waiting)) songs wait")
///         }
///     }
///
/// Create the list where you create the coordinator, and pass it to the views; see <doc:ShowTheQueueInAView>.
///
/// The list follows the queue until it is released, whether the queue runs or not. It owns the task that follows the queue, and the task
/// holds the list weakly. To change the queue, call the methods of the coordinator, such as `cancel` and `retry`.
///
/// **Observation.** Each property is tracked separately, and changes only when its value changes. So a view that shows ``waiting`` isn't
/// updated while bytes arrive. Properties change at most ten times a second, and changes by other processes appear within a second.
///
/// **Errors.** If the store fails, ``failure`` is set and the other properties keep their values. The list then retries every second. If
/// the queue can't run, for example because the disk is full, ``failure`` holds that error until the problem is over
/// (``DownloadCoordinator/failure``). Once the coordinator is closed, the list stops retrying.
@MainActor @Observable
public final class DownloadList {
    /// The running downloads with their progress, ordered by ID.
    public private(set) var running: [QueueSnapshot.Running] = []
    /// The first waiting downloads, in the order in which they start.
    public private(set) var waiting: [QueuedDownload] = []
    /// The first paused downloads, in the same order. They don't start until they are resumed.
    public private(set) var paused: [QueuedDownload] = []
    /// The most recently ended downloads, latest first.
    public private(set) var ended: [QueuedDownload] = []
    /// The downloads in ``ended`` that failed. ``count(in:)`` also counts earlier ones.
    public private(set) var failed: [QueuedDownload] = []
    /// The hosts in backoff, sorted by name: the server asked for a delay (`Retry-After`), or it can't be reached. No downloads from them
    /// start for now.
    ///
    /// A host can stay here after its `notBefore` until the queue changes again. So a view that shows the time should compare it with the
    /// clock.
    public private(set) var hosts: [QueueSnapshot.Host] = []
    /// The number of downloads in each state, in the whole queue.
    public private(set) var counts: [QueuedDownload.State: Int] = [:]
    /// The bytes, the rate and the time left.
    public private(set) var totals = Totals()
    /// Why the queue can't be read, or why it can't run; `nil` if it can. An alert can show its `localizedDescription`.
    public var failure: (any Error)? { readFailure ?? runFailure }

    private var readFailure: QueueStoreError?
    private var runFailure: (any Error)?

    @ObservationIgnored private var meter = TransferMeter()
    @ObservationIgnored private var following: Following?
    /// Ticks while downloads run, because without new bytes there are no new snapshots.
    @ObservationIgnored private var ticking: Following?
    @ObservationIgnored private let timing: ListTiming
    @ObservationIgnored private let currentRunFailure: @Sendable () -> (any Error)?

    /// Creates a list that follows the queue of a coordinator.
    ///
    /// - Parameters:
    ///   - downloads: The coordinator.
    ///   - count: The maximum number of downloads in ``running``, ``waiting``, ``paused`` and ``ended``. The counts include all
    ///     downloads.
    public convenience init(_ downloads: DownloadCoordinator, listing count: Int = 100) {
        self.init(downloads.snapshots(listing: count), timing: .system) { downloads.failure }
    }

    /// Creates a list that shows one snapshot and follows no queue, for previews and view tests.
    public init(showing snapshot: QueueSnapshot) {
        timing = .system
        currentRunFailure = { nil }
        show(snapshot)
    }

    init(
        _ snapshots: some AsyncSequence<QueueSnapshot, any Error> & Sendable, timing: ListTiming,
        runFailure: @escaping @Sendable () -> (any Error)? = { nil }
    ) {
        self.timing = timing
        currentRunFailure = runFailure
        let repeated = RepeatedSnapshots(snapshots: snapshots, sleep: timing.sleep)
        following = Following(repeated, for: self) { list, result in list.take(result) }
    }

    /// The number of downloads in a state, in the whole queue.
    public func count(in state: QueuedDownload.State) -> Int { counts[state] ?? 0 }

    /// The number of downloads that wait or run. Paused downloads aren't counted.
    public var openCount: Int { count(in: .waiting).addingClamped(count(in: .running)) }

    private func take(_ result: Result<QueueSnapshot, QueueStoreError>) {
        switch result {
        case .success(let snapshot):
            show(snapshot)
            set(\.readFailure, to: nil)
            tickWhileRunning()
        case .failure(let error):
            set(\.readFailure, to: error)
        }
        // Errors can't be compared, but their descriptions contain everything a view shows.
        let failure = currentRunFailure()
        if failure.map({ "\($0)" }) != runFailure.map({ "\($0)" }) { runFailure = failure }
    }

    private func show(_ snapshot: QueueSnapshot) {
        set(\.running, to: snapshot.running)
        set(\.waiting, to: snapshot.waiting)
        set(\.paused, to: snapshot.paused)
        if set(\.ended, to: snapshot.ended) { set(\.failed, to: snapshot.failed) }
        set(\.hosts, to: snapshot.hosts)
        set(\.counts, to: snapshot.counts)
        meter.note(snapshot, at: timing.now())
        set(\.totals, to: meter.totals)
    }

    private func tickWhileRunning() {
        if running.isEmpty {
            ticking = nil
        } else if ticking == nil {
            ticking = Following(Ticks(sleep: timing.sleep), for: self) { list, _ in
                list.meter.advance(to: list.timing.now())
                list.set(\.totals, to: list.meter.totals)
            }
        }
    }

    /// Assigns a value only if it differs. Otherwise the views that read the property would be updated, unless this version of the
    /// `@Observable` macro compares, too.
    @discardableResult
    private func set<Value: Equatable>(
        _ property: ReferenceWritableKeyPath<DownloadList, Value>, to value: Value
    ) -> Bool {
        guard self[keyPath: property] != value else { return false }
        self[keyPath: property] = value
        return true
    }
}

// MARK: - Totals

extension DownloadList {
    /// The bytes of the running downloads, the rate at which they arrive, and the time left.
    ///
    ///     func describe(_ totals: DownloadList.Totals) -> String {
    ///         guard let rate = totals.bytesPerSecond, let left = totals.timeLeft else { return "" }
    ///         return "\(rate / 1000) kB/s, \(left.components.seconds) s left"
    ///     }
    public struct Totals: Sendable, Hashable {
        /// The number of received bytes of the running downloads, including the bytes of resumed partial files.
        public var receivedBytes: Int64
        /// The size of the running downloads in bytes; `nil` if a size is unknown, or if no download runs.
        public var totalBytes: Int64?
        /// The rate at which bytes arrive in this process, as a moving average: a byte that arrived three seconds ago counts about a third.
        /// `nil` if no download runs.
        public var bytesPerSecond: Int64?
        /// The estimated time until no download waits or runs, in whole seconds, at the current rate.
        ///
        /// A download of unknown size is assumed to have the mean of the known sizes. `nil` if no size or no rate is known, or while no
        /// bytes arrive.
        public var timeLeft: Duration?

        /// Creates totals for previews and tests. By default, no downloads run.
        public init(
            receivedBytes: Int64 = 0, totalBytes: Int64? = nil, bytesPerSecond: Int64? = nil,
            timeLeft: Duration? = nil
        ) {
            self.receivedBytes = receivedBytes
            self.totalBytes = totalBytes
            self.bytesPerSecond = bytesPerSecond
            self.timeLeft = timeLeft
        }

        /// The received fraction of the running downloads, from 0 to 1, if their size is known.
        public var fractionCompleted: Double? {
            guard let totalBytes else { return nil }
            return totalBytes > 0 ? max(0, min(1, Double(receivedBytes) / Double(totalBytes))) : 1
        }
    }
}

// MARK: - Following the queue

/// The snapshots of a queue as results. After an error, the iteration starts over a second later.
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

/// A sequence with an element every second, until the task is cancelled.
private struct Ticks: AsyncSequence, Sendable {
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

/// The clock of a list, which tests replace.
struct ListTiming: Sendable {
    var now: @Sendable () -> ContinuousClock.Instant
    var sleep: @Sendable (Duration) async throws -> Void

    static let system = ListTiming(now: { .now }, sleep: { try await Task.sleep(for: $0) })
}
