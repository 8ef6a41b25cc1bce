internal import CSluiceFiles
internal import SluiceLock
internal import Synchronization

/// A queue of change events with one watch in it. Whoever drops it without having come to its end has it closed on a lane.
final class Watch: Sendable {
    private let io: FileIO
    private let descriptor: CInt
    private let path: String
    private let machine = Lock(FileChangeMachine())
    private let isClosed = Atomic(false)
    private let isInUse = Atomic(false)

    init(_ descriptor: CInt, _ path: String, _ io: FileIO) {
        self.io = io
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        guard takeDescriptor() else { return }
        io.runDetached { [kernel = io.kernel, descriptor] in kernel.closeQuietly(descriptor) }
    }

    /// The next change, nil at the end. A failure, and cancellation, are the end.
    func next() async throws -> FileChange? {
        precondition(
            !isInUse.exchange(true, ordering: .acquiring), "The changes of a file are taken by one task at a time.")
        defer { isInUse.store(false, ordering: .releasing) }
        do {
            while true {
                if let change = machine.withLock({ $0.next() }) { return change }
                if isClosed.load(ordering: .relaxed) { return nil }
                if machine.withLock({ $0.isEnded }) { break }
                let isEmpty = try await io.run { [self] cancellation in try read(cancellation) }
                if isEmpty { try await io.waitUntilReady(descriptor, .reading, path) }
            }
        } catch {
            await close()
            throw error
        }
        await close()
        return nil
    }

    /// Reads until there is something to give, or nothing more to read: then it returns true.
    private func read(_ cancellation: borrowing Cancellation) throws -> Bool {
        let kernel = io.kernel
        return try withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: 8) { buffer in
            while true {
                try cancellation.check()
                let count = kernel.retrying { kernel.calls.read(descriptor, buffer) }
                if count == -Int(EAGAIN) {
                    return machine.withLock { machine in
                        machine.settle()
                        return !machine.isReady && !machine.isEnded
                    }
                }
                try kernel.check(count, "watch", path)
                let isReady = machine.withLock { machine in
                    machine.receive(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
                    return machine.isReady || machine.isEnded
                }
                if isReady { return false }
            }
        }
    }

    /// Room for some thousand events. Less than one is EINVAL.
    private static var bufferSize: Int { 64 << 10 }

    /// Removes the watch, also when the task is cancelled.
    private func close() async {
        guard takeDescriptor() else { return }
        try? await io.run(mustRun: true) { [kernel = io.kernel, descriptor] _ in kernel.closeQuietly(descriptor) }
    }

    private func takeDescriptor() -> Bool { !isClosed.exchange(true, ordering: .acquiringAndReleasing) }
}

extension Kernel {
    /// A queue with a watch of this path.
    func watch(_ path: String, _ kinds: FileChange.Kinds, followingLinks: Bool) throws(FileError) -> CInt {
        let queue = retrying { calls.watching.makeQueue() }
        do throws(FileError) {
            try check(queue, "watch", path)
        } catch {
            throw error.explained([
                ENOSYS: "Only Linux has change notification of this kind: look at the directory now and then.",
                EMFILE: "The user has as many watches as the system allows (fs.inotify.max_user_instances), or "
                    + "the process as many open files (ulimit -n).",
            ])
        }
        openCount.add(1, ordering: .relaxed)
        let mask = kinds.mask | (followingLinks ? 0 : UInt32(csluice_changed_not_following))
        let watch = path.withCString { path in retrying { calls.watching.addWatch(queue, path, mask) } }
        do throws(FileError) {
            try check(watch, "watch", path)
        } catch {
            closeQuietly(queue)
            if error.systemError != ENOSPC { throw error }
            // Not the device: the user's watches.
            throw FileError(
                code: .exhausted, operation: error.operation, path: error.subject, systemError: ENOSPC,
                remedy: "The user watches as many files as the system allows (fs.inotify.max_user_watches).")
        }
        return queue
    }
}

extension FileError {
    /// The same error with a remedy of its own for some error numbers.
    fileprivate func explained(_ remedies: [CInt: String]) -> FileError {
        var error = self
        error.remedy = remedies[systemError] ?? remedy
        return error
    }
}
