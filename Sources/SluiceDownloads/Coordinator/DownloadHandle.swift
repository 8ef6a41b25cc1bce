#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
import SluiceConcurrency
import SluiceHTTP

/// A download that was enqueued, for waiting and watching.
public struct DownloadHandle: Sendable {
    /// What was asked for.
    public let request: DownloadRequest
    /// The download's number; after a conflict, the other one's.
    public let id: QueuedDownload.ID
    /// What the queue did with the request.
    public let outcome: Outcome
    let coordinator: DownloadCoordinator

    /// What the queue did with a request that was enqueued.
    public enum Outcome: Sendable, Hashable {
        /// It is a new download, or one that had ended and starts again.
        case added
        /// A download of the same URL to the same file waits or runs already.
        case joined
        /// The download is done already and stays so.
        case kept
        /// The queue did not take it: a download of this other URL, which waits or runs, writes the same file.
        case conflict(with: URL)
    }

    /// The job as it is when it has ended: done, failed or cancelled, as its ``QueuedDownload/state`` says.
    ///
    /// Waits for that, however long; somebody must run the queue.
    ///
    /// - Throws: `TransferError` for a request that was not taken in (its code is `alreadyQueued`);
    ///   ``QueueStoreError``, also when the job was forgotten meanwhile; `CancellationError` at once when the task is
    ///   cancelled, which has no effect on the job.
    public var result: QueuedDownload {
        get async throws {
            if case .conflict(let other) = outcome {
                throw TransferError.alreadyQueued(from: other, request)
            }
            return try await coordinator.observers.withPulse(of: id) { pulse in
                while true {
                    try Task.checkCancellation()
                    guard let job = try await coordinator.store.jobs([id]).first else {
                        throw QueueStoreError(
                            .removed, subject: request.url.redactedForDisplay,
                            message: "The download was removed from the queue.",
                            remedy: "Wait for the results of downloads before they are pruned.")
                    }
                    if job.state.isFinal { return job }
                    let limit = coordinator.store.isShared ? coordinator.timing.poll : nil
                    await pulse.wait(atMost: limit, sleep: coordinator.timing.sleep)
                }
            }
        }
    }

    /// What happens to the job in this process from now on, until it has ended, by whomever; at once if it has already, or
    /// if the request was not taken in.
    ///
    ///     for await event in handle.events() { show(event) }
    ///
    /// For one reader: each call begins anew. Other processes' work on the job is not seen here. Events that nobody takes
    /// stay in memory until the job ends or the sequence is dropped.
    public func events() -> some AsyncSequence<DownloadEvent, Never> & Sendable {
        JobEvents(handle: self)
    }

    /// Whether nothing more will be heard of the job: it has ended, is forgotten, or was never taken in.
    fileprivate var isOver: Bool {
        get async {
            if case .conflict = outcome { return true }
            guard let jobs = try? await coordinator.store.jobs([id]) else { return true }
            return jobs.first?.state.isFinal ?? true
        }
    }
}

/// The events of a job, from the moment at which the sequence is made.
private struct JobEvents: AsyncSequence, Sendable {
    typealias Failure = Never

    private let handle: DownloadHandle
    private let subscription: Subscription

    init(handle: DownloadHandle) {
        self.handle = handle
        subscription = Subscription(job: handle.id, observers: handle.coordinator.observers)
    }

    func makeAsyncIterator() -> Iterator { Iterator(handle: handle, subscription: subscription) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let handle: DownloadHandle
        fileprivate let subscription: Subscription
        /// Whether it is known that the end will be heard of: the job had not ended after listening began.
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
                if let event = queue.tryDequeue() { return event }
                if !isSure {
                    // What was heard before the answer is told first.
                    if await handle.isOver { return queue.tryDequeue() }
                    isSure = !coordinator.store.isShared
                }
                if isSure { return try? await queue.dequeue() }
                // Another process may end it, and nothing is heard of that here.
                await coordinator.observers.waitForChange(
                    atMost: coordinator.timing.poll, sleep: coordinator.timing.sleep)
            }
            return nil
        }
    }

    fileprivate final class Subscription: Sendable {
        let job: JobID
        let observers: QueueObservers
        let queue: AsyncQueue<DownloadEvent>

        init(job: JobID, observers: QueueObservers) {
            self.job = job
            self.observers = observers
            queue = observers.events(of: job)
        }

        deinit { observers.remove(queue, of: job) }
    }
}
