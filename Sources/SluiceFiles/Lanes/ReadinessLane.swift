internal import CSluiceFiles
internal import Synchronization

/// The lane of descriptors that are waited for: pipes, FIFOs, terminals, sockets, notifications.
///
///     try await lane.wait(for: descriptor, .reading, watching: false, "/run/fifo")
///     // a read that does not block has something to read, or learns that there is nothing more
///
/// However many tasks wait, one thread does, in epoll(7) or poll(2). It starts with the first wait and ends with the lane.
/// Being ready is a hint: another task or process may have been faster. Whoever finds nothing waits again.
///
/// - Order: all who wait for a direction are woken together, in order of arrival.
/// - Cancellation: ends the wait immediately with `CancellationError`.
/// - Failure: a ``FileError``. A descriptor that cannot be waited for, such as a regular file's, is
///   ``FileError/Code/unsupported``; one that is closed is ``FileError/Code/invalidArgument``. The kernel tells nobody that
///   a descriptor was closed. Who closes one ends the waits for it first; where others may close it, `watching` says so, and
///   the lane looks after it twice in a second.
/// - Teardown: closing the lane ends all waits with ``FileError/Code/shutDown``.
final class ReadinessLane: Sendable {
    private let storage: ReadinessStorage
    private let lastID = Atomic<UInt64>(0)

    /// The operations that this lane has ended, well or not.
    let completed = Atomic(0)

    init(_ kernel: Kernel, stackSize: Int, _ changes: StatisticsChanges) {
        storage = ReadinessStorage(kernel, stackSize: stackSize, changes)
    }

    deinit { close() }

    /// The threads that exist: none or one.
    var threads: Int { storage.threads }

    /// The tasks that wait.
    var waiting: Int { storage.waiting }

    /// Waits until a descriptor is ready, or has failed or hung up.
    func wait(
        for descriptor: CInt, _ direction: SystemCalls.Direction, watching: Bool, _ path: String
    ) async throws {
        try Task.checkCancellation()
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let storage = storage
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                storage.wait(
                    id, for: descriptor, direction == .reading ? .reading : .writing, watching: watching, waiter)
                // The task may have been cancelled before the waiter was there to be found.
                if Task.isCancelled { storage.cancel(id) }
            }
        } onCancel: {
            storage.cancel(id)
        }
        switch outcome {
        case .ready: return
        case .cancelled: throw CancellationError()
        case .shutDown: throw FileError(code: .shutDown, operation: "wait for", path: path)
        case .refused(let number) where number == EPERM:
            throw FileError(
                code: .unsupported, operation: "wait for", path: path, systemError: number,
                remedy: "Only pipes, sockets, terminals and their like are waited for.")
        case .refused(let number): throw FileError(operation: "wait for", path: path, systemError: number)
        case .failed(let error): throw error
        }
    }

    /// Takes no more waits and ends those that there are, then the thread. Does not wait for that.
    func close() { storage.close() }

    /// Returns when a closed lane has no thread left.
    func waitUntilClosed() async { await storage.waitUntilClosed() }
}
