internal import CSluiceFiles
internal import SluiceLock
internal import Synchronization

/// What asks the kernel which of many descriptors are ready.
///
/// `set` and `remove` may be called while another thread is in `wait`, which then takes them into account.
protocol ReadinessPoller: Sendable {
    /// Arms a descriptor for one event. Returns 0 or minus the error number: ENOENT and EBADF of one that is not new say
    /// that its file was closed.
    func set(_ entry: ReadinessEntry, isNew: Bool) -> CInt

    func remove(_ descriptor: CInt)

    /// Blocks the thread until something is ready, `wake` is called or the time is over (-1: never). Returns minus the error
    /// number if the kernel will not wait.
    func wait(milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt

    /// Lets `wait` return, or the next one if there is none.
    func wake()

    /// Closes its own descriptors. Nobody is in `wait`.
    func close()
}

extension Kernel {
    /// The best that this kernel has: epoll(7), or poll(2) where there is none or a sandbox denies it.
    func makePoller() throws(FileError) -> any ReadinessPoller {
        var ends: (reading: CInt, writing: CInt) = (-1, -1)
        try check(retrying { calls.readiness.makeWakeup(&ends) }, "open a wake-up for", "descriptors to wait for")
        openCount.add(ends.reading == ends.writing ? 1 : 2, ordering: .relaxed)
        let wakeup = Wakeup(reading: ends.reading, writing: ends.writing, kernel: self)
        let queue = retrying { calls.readiness.makeQueue() }
        if [-ENOSYS, -EPERM, -EACCES].contains(queue) { return PollPoller(wakeup, self) }
        do throws(FileError) {
            try check(queue, "open a queue for", "descriptors to wait for")
            openCount.add(1, ordering: .relaxed)
            do throws(FileError) {
                return try EpollPoller(queue, wakeup, self)
            } catch {
                closeQuietly(queue)
                throw error
            }
        } catch {
            wakeup.close()
            throw error
        }
    }
}

/// What wakes the lane's thread.
struct Wakeup: Sendable {
    let reading: CInt
    let writing: CInt
    let kernel: Kernel

    /// Of the entry that stands for the wake-up, in both pollers. No registration has it: descriptors are not negative.
    static var token: UInt64 { .max }
    var entry: ReadinessEntry {
        ReadinessEntry(descriptor: reading, readiness: [.reading, .repeatedly], token: Self.token)
    }

    func signal() { _ = kernel.retrying { kernel.calls.readiness.signal(writing) } }

    /// Whatever it was signalled for is looked at next.
    func take(from events: inout [ReadinessEntry]) {
        guard let index = events.firstIndex(where: { $0.token == Self.token }) else { return }
        events.remove(at: index)
        _ = kernel.calls.readiness.clear(reading)
    }

    func close() {
        kernel.closeQuietly(reading)
        if writing != reading { kernel.closeQuietly(writing) }
    }
}

// MARK: - epoll

/// epoll(7): the cost of a wait does not grow with the number of descriptors.
struct EpollPoller: ReadinessPoller {
    private let queue: CInt
    private let wakeup: Wakeup
    private let kernel: Kernel
    private var calls: ReadinessCalls { kernel.calls.readiness }

    init(_ queue: CInt, _ wakeup: Wakeup, _ kernel: Kernel) throws(FileError) {
        self.queue = queue
        self.wakeup = wakeup
        self.kernel = kernel
        try kernel.check(
            kernel.retrying { kernel.calls.readiness.setInterest(queue, wakeup.entry, true) }, "wait for", "a wake-up")
    }

    func set(_ entry: ReadinessEntry, isNew: Bool) -> CInt {
        let result = kernel.retrying { calls.setInterest(queue, entry, isNew) }
        // Left behind by a descriptor that its owner closed while a copy of it lives on, and came back to: dup2(2).
        if isNew, result == -EEXIST { return kernel.retrying { calls.setInterest(queue, entry, false) } }
        return result
    }

    func remove(_ descriptor: CInt) { _ = kernel.retrying { calls.removeInterest(queue, descriptor) } }

    func wait(milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt {
        let result = calls.waitForEvents(queue, milliseconds, &events)
        if result < 0 { return result }
        wakeup.take(from: &events)
        return 0
    }

    func wake() { wakeup.signal() }

    func close() {
        kernel.closeQuietly(queue)
        wakeup.close()
    }
}

// MARK: - poll

/// poll(2): on every system. Each wait costs time in proportion to the number of descriptors.
final class PollPoller: ReadinessPoller {
    private let entries = Lock<[CInt: ReadinessEntry]>([:])
    private let wakeup: Wakeup
    private let kernel: Kernel
    private var calls: ReadinessCalls { kernel.calls.readiness }

    init(_ wakeup: Wakeup, _ kernel: Kernel) {
        self.wakeup = wakeup
        self.kernel = kernel
    }

    func set(_ entry: ReadinessEntry, isNew: Bool) -> CInt {
        // poll(2) says of a number that is not open that it is ready; this says it immediately.
        let flags = kernel.retrying { calls.flags(entry.descriptor) }
        if flags < 0 { return flags }
        entries.withLock { $0[entry.descriptor] = entry }
        wakeup.signal()
        return 0
    }

    func remove(_ descriptor: CInt) {
        _ = entries.withLock { $0.removeValue(forKey: descriptor) }
        wakeup.signal()
    }

    func wait(milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt {
        var found = entries.withLock { Array($0.values) } + [wakeup.entry]
        let result = calls.poll(milliseconds, &found)
        if result < 0 { return result }
        wakeup.take(from: &found)
        entries.withLock { entries in
            // One event each, as of epoll. Its handler arms again for the tasks that still wait.
            for event in found where entries[event.descriptor]?.token == event.token {
                entries[event.descriptor] = nil
            }
        }
        events = found
        return 0
    }

    func wake() { wakeup.signal() }
    func close() { wakeup.close() }
}
