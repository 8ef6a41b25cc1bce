internal import CSluiceFiles
internal import Synchronization

/// The lane that waits for descriptors: pipes, FIFOs, terminals, sockets, notifications.
///
/// One thread waits for all tasks, in epoll(7) or poll(2). It starts with the first wait and ends with the lane. Readiness is a hint:
/// another task or process may have taken the bytes. A task that finds none waits again.
///
/// - Order: An event wakes all tasks that wait for that direction, in order of arrival.
/// - Failure: A ``FileError``: ``FileError/Code/unsupported`` for a descriptor that can't be waited for, such as a regular file's;
///   ``FileError/Code/invalidArgument`` for one that is closed. The kernel doesn't report that a descriptor was closed. Code that
///   closes a descriptor must end the waits for it first. If other code may close it, pass `watching`: the lane then checks the
///   descriptor twice a second.
/// - Teardown: Closing the lane ends all waits with ``FileError/Code/shutDown``.
final class ReadinessLane: Sendable {
    private let storage: ReadinessStorage
    private let lastID = Atomic<UInt64>(0)

    let completed = Atomic(0)

    init(_ kernel: Kernel, stackSize: Int, _ changes: StatisticsChanges) {
        storage = ReadinessStorage(kernel, stackSize: stackSize, changes)
    }

    deinit { close() }

    var threads: Int { storage.threads }

    var waiting: Int { storage.waiting }

    func wait(
        for descriptor: CInt, _ readiness: Readiness, watching: Bool, _ path: String
    ) async throws {
        try Task.checkCancellation()
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let storage = storage
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                storage.wait(id, for: descriptor, readiness, watching: watching, waiter)
                // The task may have been cancelled before the waiter was registered.
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
                remedy: "Read or write it directly, because only pipes, sockets and terminals can be waited for.")
        case .refused(let number): throw FileError(operation: "wait for", path: path, systemError: number)
        case .failed(let error): throw error
        }
    }

    func close() { storage.close() }

    func waitUntilClosed() async { await storage.waitUntilClosed() }
}
