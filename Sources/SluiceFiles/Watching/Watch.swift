internal import CSluiceFiles
internal import SluiceLock
internal import Synchronization

/// An inotify queue with one watch. If it is dropped before its end, it is closed on a lane.
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

    /// Waits for the next change. Returns `nil` at the end. An error or a cancellation ends the watch.
    func next() async throws -> FileChange? {
        precondition(
            !isInUse.exchange(true, ordering: .acquiring), "Only one task at a time may iterate over the changes.")
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

    /// Reads until a change is complete or nothing more can be read. Returns true if the caller must wait for more events.
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

    /// Room for several thousand events. A buffer that is too small for one event gets EINVAL.
    private static var bufferSize: Int { 64 << 10 }

    private func close() async {
        guard takeDescriptor() else { return }
        try? await io.run(mustRun: true) { [kernel = io.kernel, descriptor] _ in kernel.closeQuietly(descriptor) }
    }

    private func takeDescriptor() -> Bool { !isClosed.exchange(true, ordering: .acquiringAndReleasing) }
}

extension Kernel {
    func watch(_ path: String, _ kinds: FileChange.Kinds, followingLinks: Bool) throws(FileError) -> CInt {
        let queue = retrying { calls.watching.makeQueue() }
        do throws(FileError) {
            try check(queue, "watch", path)
        } catch {
            throw error.explained([
                ENOSYS: "List the directory at intervals, because only Linux has this kind of change notification.",
                EMFILE:
                    "Raise fs.inotify.max_user_instances or the limit on open files (ulimit -n), because the user or "
                    + "the process has reached it.",
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
            // ENOSPC is about the user's watches here, not about the device.
            throw FileError(
                code: .exhausted, operation: error.operation, path: error.subject, systemError: ENOSPC,
                remedy: "Raise fs.inotify.max_user_watches, because the user has reached this limit.")
        }
        return queue
    }
}

extension FileError {
    fileprivate func explained(_ remedies: [CInt: String]) -> FileError {
        var error = self
        error.remedy = remedies[systemError] ?? remedy
        return error
    }
}
