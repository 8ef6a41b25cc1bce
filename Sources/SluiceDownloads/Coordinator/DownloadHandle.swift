#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
import SluiceConcurrency
import SluiceHTTP
import SluiceLock

/// An enqueued download that you can wait for and observe.
public struct DownloadHandle: Sendable {
    /// The request.
    public let request: DownloadRequest
    /// The batch that the request was enqueued with.
    public let batch: String?
    /// The download's ID. After a conflict, it is the ID of the other download.
    public let id: QueuedDownload.ID
    /// What the queue did with the request.
    public let admission: Admission
    let coordinator: DownloadCoordinator
    let ended: JobOutcome

    /// What the queue did with an enqueued request. Later versions may add cases.
    public enum Admission: Sendable, Hashable {
        /// The queue added a download, or restarted an ended one.
        case added
        /// A download of the same URL to the same file is waiting or running.
        case joined
        /// The download is already done, and stays done.
        case kept
        /// The request wasn't added, because an unfinished download of this other URL writes the same file.
        case conflict(with: URL)
    }

    /// The downloaded file. Waits until the download has ended, so the queue must be running.
    ///
    ///     let song = try await downloads.enqueue(DownloadRequest(url, to: music)).file
    ///     play(song)
    ///
    /// For a relative request, the file is below the configuration's directory.
    ///
    /// - Throws: `CancellationError` if the request or the calling task is cancelled; otherwise the same errors as ``result``.
    public var file: URL {
        get async throws {
            let download = try await result
            guard download.state == .done else { throw CancellationError() }
            return download.request.resolved(in: coordinator.directory).target
        }
    }

    /// The download once it is done or cancelled. Waits until it has ended, so the queue must be running.
    ///
    ///     let download = try await handle.result
    ///     switch download.state {
    ///     case .done: print("\(download.fileSize ?? 0) bytes")
    ///     default: print("cancelled")                             // a failure throws
    ///     }
    ///
    /// If the request is cancelled and the download continues for other members, the result has the state
    /// ``QueuedDownload/State/cancelled``. If the download ended in this process and was then replaced, because the same request was
    /// enqueued again, the result still belongs to this handle's download.
    ///
    /// - Throws: `TransferError` if the download failed, without its cause if that happened in another process or an earlier one, and with
    ///   the code `alreadyQueued` if the request wasn't added; ``QueueStoreError``, for example if the download has been removed from the
    ///   queue; `CancellationError` if the calling task is cancelled, which doesn't affect the download.
    public var result: QueuedDownload {
        get async throws {
            if case .conflict(let other) = admission {
                throw TransferError.alreadyQueued(from: other, request)
            }
            var end: Condition?
            // Whichever task sees the end first removes the registration.
            defer { if end != nil { coordinator.observers.noteEnd(of: id) } }
            while true {
                try Task.checkCancellation()
                guard var job = try await coordinator.store.jobs([id]).first else {
                    // The same request was enqueued again, which replaces the ended download.
                    if let job = ended.job(of: request, batch: batch) { return try succeeded(job) }
                    throw QueueStoreError(
                        .removed, subject: request.url.redactedForDisplay,
                        message: "The download was removed from the queue.",
                        remedy: "Wait for the results of downloads before you prune the queue.")
                }
                if hasLeft(job) { job.state = .cancelled }
                if job.state.isFinal { return try succeeded(job) }
                if let end {
                    let limit = coordinator.store.isShared ? coordinator.timing.poll : nil
                    await coordinator.timing.wait(for: end, atMost: limit)
                }
                // The job may already have ended, so look again before waiting.
                end = coordinator.observers.nextEnd(of: id)
            }
        }
    }

    private func succeeded(_ job: QueuedDownload) throws -> QueuedDownload {
        guard job.state == .failed else { return job }
        throw ended.error(job.error) ?? TransferError(.unknown, url: request.url)
    }

    /// An asynchronous sequence of the events of the download in this process, from now until it has ended.
    ///
    ///     for await event in handle.events() { show(event) }
    ///
    /// If the request is cancelled and the download continues for other members, the last event says that it was cancelled.
    ///
    /// Each call returns a new sequence, for one reader. It doesn't contain the events of other processes, but it ends if another process
    /// ends the download. It ends immediately if the download has already ended or the request wasn't added. Events stay in memory until
    /// they are read or the sequence is released.
    public func events() -> some AsyncSequence<DownloadEvent, Never> & Sendable {
        JobEvents(handle: self)
    }

    /// An asynchronous sequence of the progress of the download, from now until it has ended; for a progress bar.
    ///
    ///     for await progress in handle.progress() {
    ///         bar.show(progress.fractionCompleted ?? 0)
    ///     }
    ///
    /// If a transfer is running, the first value is its current progress. A retry that can't resume starts again at 0. The last value of a
    /// completed download is the size of its file. For the rest, the sequence is like ``events()``. To show many downloads, use
    /// ``DownloadList``.
    public func progress() -> some AsyncSequence<DownloadProgress, Never> & Sendable {
        JobProgress(events: JobEvents(handle: self))
    }

    fileprivate var currentProgress: DownloadProgress? {
        guard let (received, expected) = coordinator.core.current?.state.withLock({ $0.progress(of: id) }),
            received > 0 || expected != nil
        else { return nil }
        return DownloadProgress(receivedBytes: received, totalBytes: expected)
    }

    fileprivate var isOver: Bool {
        get async {
            if case .conflict = admission { return true }
            guard let job = try? await coordinator.store.jobs([id]).first else { return true }
            return job.state.isFinal || hasLeft(job)
        }
    }

    /// Whether the request was cancelled but the job continues for others.
    private func hasLeft(_ job: QueuedDownload) -> Bool {
        let mine = QueuedDownload.Member(user: request.user, batch: batch)
        return !job.members.contains { $0.user == mine.user && $0.batch == mine.batch }
    }
}

/// The events of a job from the creation of the sequence.
private struct JobEvents: AsyncSequence, Sendable {
    typealias Failure = Never

    fileprivate let handle: DownloadHandle
    private let subscription: Subscription

    init(handle: DownloadHandle) {
        self.handle = handle
        let member = QueuedDownload.Member(user: handle.request.user, batch: handle.batch)
        subscription = Subscription(job: handle.id, member: member, observers: handle.coordinator.observers)
    }

    func makeAsyncIterator() -> Iterator { Iterator(handle: handle, subscription: subscription) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let handle: DownloadHandle
        fileprivate let subscription: Subscription
        /// Whether the end is certain to arrive in the queue: the job hadn't ended when the subscription began, and no other process can
        /// end it.
        private var isSure = false

        fileprivate init(handle: DownloadHandle, subscription: Subscription) {
            self.handle = handle
            self.subscription = subscription
        }

        mutating func next() async -> DownloadEvent? { await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async -> DownloadEvent? {
            let queue = subscription.queue
            let coordinator = handle.coordinator
            while !Task.isCancelled {
                let change = coordinator.observers.changes.next
                if let event = queue.tryDequeue() { return event }
                if !isSure {
                    // Deliver events that arrived before the answer first.
                    if await handle.isOver { return queue.tryDequeue() }
                    isSure = !coordinator.store.isShared
                }
                if isSure { return try? await queue.dequeue() }
                // Another process may end the job, and we don't get its events.
                await coordinator.timing.wait(for: change, atMost: coordinator.timing.poll)
            }
            return nil
        }
    }

    fileprivate final class Subscription: Sendable {
        let job: JobID
        let observers: QueueObservers
        let queue: AsyncQueue<DownloadEvent>

        init(job: JobID, member: QueuedDownload.Member, observers: QueueObservers) {
            self.job = job
            self.observers = observers
            queue = observers.events(of: job, for: member)
        }

        deinit { observers.remove(queue, of: job) }
    }
}

// MARK: - Progress

/// How much of a download has arrived.
public struct DownloadProgress: Sendable, Hashable {
    /// The number of bytes that have arrived, including the bytes of earlier attempts.
    public var receivedBytes: Int64
    /// The size of the file in bytes, or `nil` if the server didn't announce it.
    public var totalBytes: Int64?

    /// Creates a value, for previews and tests.
    public init(receivedBytes: Int64, totalBytes: Int64? = nil) {
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }

    /// The fraction from 0 to 1, or `nil` if the size is unknown.
    public var fractionCompleted: Double? {
        totalBytes.map { $0 > 0 ? min(1, max(0, Double(receivedBytes) / Double($0))) : 1 }
    }
}

/// The progress that a job's events report.
private struct JobProgress: AsyncSequence, Sendable {
    typealias Failure = Never

    let events: JobEvents

    func makeAsyncIterator() -> Iterator { Iterator(handle: events.handle, events: events.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        let handle: DownloadHandle
        var events: JobEvents.Iterator
        private var progress: DownloadProgress?

        init(handle: DownloadHandle, events: JobEvents.Iterator) {
            self.handle = handle
            self.events = events
        }

        mutating func next() async -> DownloadProgress? { await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async -> DownloadProgress? {
            if progress == nil, let current = handle.currentProgress {
                progress = current
                return current
            }
            while let event = await events.next(isolation: actor) {
                switch event {
                case .responded(_, let total, let resumed):
                    progress = DownloadProgress(receivedBytes: resumed, totalBytes: total)
                case .received(_, let bytes):
                    progress = DownloadProgress(receivedBytes: bytes, totalBytes: progress?.totalBytes)
                case .finished(_, .done(let size)):
                    progress = DownloadProgress(receivedBytes: size, totalBytes: size)
                default: continue
                }
                return progress
            }
            return nil
        }
    }
}
