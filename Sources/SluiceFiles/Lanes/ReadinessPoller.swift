internal import CSluiceFiles
internal import SluiceLock
internal import Synchronization

/// Asks the kernel which of many descriptors are ready. `set` and `remove` may be called while another thread is in `wait`, and take
/// effect there.
protocol ReadinessPoller: Sendable {
    /// Arms a descriptor for one event. Returns 0 or minus the error number. If `isNew` is false, ENOENT and EBADF mean that its file
    /// was closed.
    func set(_ entry: ReadinessEntry, isNew: Bool) -> CInt

    func remove(_ descriptor: CInt)

    /// Blocks the thread until a descriptor is ready, `wake` is called or the timeout expires (-1: never). Returns minus the error number
    /// on failure.
    func wait(milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt

    /// Makes the current `wait` return or, if there is none, the next one.
    func wake()

    /// Closes the poller's own descriptors. No thread may be in `wait`.
    func close()
}

extension SystemInterface {
    /// Returns the best poller of this kernel: epoll(7), or poll(2) if the kernel has no epoll or a sandbox denies it.
    func makePoller() throws(FileError) -> any ReadinessPoller {
        var ends: (reading: CInt, writing: CInt) = (-1, -1)
        try check(retrying { calls.readiness.makeWakeup(&ends) }, "create a wake-up for", "waiting descriptors")
        openCount.add(ends.reading == ends.writing ? 1 : 2, ordering: .relaxed)
        let wakeup = Wakeup(reading: ends.reading, writing: ends.writing, system: self)
        let queue = retrying { calls.readiness.makeQueue() }
        if [-ENOSYS, -EPERM, -EACCES].contains(queue) { return PollPoller(wakeup, self) }
        do throws(FileError) {
            try check(queue, "create a queue for", "waiting descriptors")
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

struct Wakeup: Sendable {
    let reading: CInt
    let writing: CInt
    let system: SystemInterface

    /// The token of the wake-up's entry in both pollers. No registration has it, because descriptors aren't negative.
    static var token: UInt64 { .max }
    var entry: ReadinessEntry {
        ReadinessEntry(descriptor: reading, readiness: [.reading, .repeatedly], token: Self.token)
    }

    func signal() { _ = system.retrying { system.calls.readiness.signal(writing) } }

    /// Removes the wake-up from the events and clears it. The caller must then check what it was woken for.
    func take(from events: inout [ReadinessEntry]) {
        guard let index = events.firstIndex(where: { $0.token == Self.token }) else { return }
        events.remove(at: index)
        _ = system.calls.readiness.clear(reading)
    }

    func close() {
        system.closeQuietly(reading)
        if writing != reading { system.closeQuietly(writing) }
    }
}

// MARK: - epoll

/// Uses epoll(7). The cost of a wait doesn't depend on the number of descriptors.
struct EpollPoller: ReadinessPoller {
    private let queue: CInt
    private let wakeup: Wakeup
    private let system: SystemInterface
    private var calls: ReadinessCalls { system.calls.readiness }

    init(_ queue: CInt, _ wakeup: Wakeup, _ system: SystemInterface) throws(FileError) {
        self.queue = queue
        self.wakeup = wakeup
        self.system = system
        try system.check(
            system.retrying { system.calls.readiness.setInterest(queue, wakeup.entry, true) }, "wait for", "wake-up")
    }

    func set(_ entry: ReadinessEntry, isNew: Bool) -> CInt {
        let result = system.retrying { calls.setInterest(queue, entry, isNew) }
        // The descriptor was closed while a duplicate was open, so its registration remained. Now the file has this descriptor again:
        // dup2(2).
        if isNew, result == -EEXIST { return system.retrying { calls.setInterest(queue, entry, false) } }
        return result
    }

    func remove(_ descriptor: CInt) { _ = system.retrying { calls.removeInterest(queue, descriptor) } }

    func wait(milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt {
        let result = calls.waitForEvents(queue, milliseconds, &events)
        if result < 0 { return result }
        wakeup.take(from: &events)
        return 0
    }

    func wake() { wakeup.signal() }

    func close() {
        system.closeQuietly(queue)
        wakeup.close()
    }
}

// MARK: - poll

/// Uses poll(2), which every system has. The cost of a wait is proportional to the number of descriptors.
final class PollPoller: ReadinessPoller {
    private let entries = Lock<[CInt: ReadinessEntry]>([:])
    private let wakeup: Wakeup
    private let system: SystemInterface
    private var calls: ReadinessCalls { system.calls.readiness }

    init(_ wakeup: Wakeup, _ system: SystemInterface) {
        self.wakeup = wakeup
        self.system = system
    }

    func set(_ entry: ReadinessEntry, isNew: Bool) -> CInt {
        // poll(2) reports a number that isn't open as ready, but only in the next wait. This check reports it immediately.
        let flags = system.retrying { calls.flags(entry.descriptor) }
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
            // One event for each registration, as with epoll. The lane rearms it for tasks that are still waiting.
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
