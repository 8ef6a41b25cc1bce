internal import CSluiceFiles
internal import SluiceLock

/// The readiness lane's lock, poller and thread. Each event goes to the state machine under the lock. The system calls that the machine
/// requests are short and are made under the lock too. Woken tasks are resumed after the unlock.
final class ReadinessStorage: Sendable {
    typealias Waiter = CheckedContinuation<ReadinessOutcome, Never>

    private let kernel: Kernel
    private let stackSize: Int
    private let changes: StatisticsChanges
    private let state = Lock(State())

    private struct State {
        var machine = ReadinessStateMachine<Waiter>()
        /// Exists from the first wait until the thread ends.
        var poller: (any ReadinessPoller)?
        var threads = 0
        var isClosed = false
        /// Whether the thread sleeps without a time limit, and must be woken to check descriptors that other code may close.
        var sleepsForGood = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    private struct Woken {
        var waiters: [Waiter] = []
        var outcome = ReadinessOutcome.ready

        func resume() { for waiter in waiters { waiter.resume(returning: outcome) } }
    }

    init(_ kernel: Kernel, stackSize: Int, _ changes: StatisticsChanges) {
        self.kernel = kernel
        self.stackSize = stackSize
        self.changes = changes
    }

    var threads: Int { state.withLock { $0.threads } }
    var waiting: Int { state.withLock { $0.machine.waiters } }

    // MARK: Waiting

    func wait(_ id: UInt64, for descriptor: CInt, _ readiness: Readiness, watching: Bool, _ waiter: Waiter) {
        var startsThread = false
        let woken = state.withLock { state -> [Woken] in
            if state.isClosed { return [Woken(waiters: [waiter], outcome: .shutDown)] }
            if state.poller == nil {
                do throws(FileError) {
                    state.poller = try kernel.makePoller()
                } catch {
                    return [Woken(waiters: [waiter], outcome: .failed(error))]
                }
                state.threads += 1
                startsThread = true
            }
            let change = state.machine.wait(id, for: descriptor, readiness, watching: watching, waiter)
            let woken = apply(change, of: id, &state)
            if watching, state.sleepsForGood {
                state.sleepsForGood = false
                state.poller?.wake()
            }
            return woken
        }
        changes.changed()
        for group in woken { group.resume() }
        if startsThread { startThread() }
    }

    func cancel(_ id: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard let (waiter, change) = state.machine.cancel(id) else { return nil }
            if let change { apply(change, &state) }
            return waiter
        }
        guard let waiter else { return }
        changes.changed()
        waiter.resume(returning: .cancelled)
    }

    private func apply(
        _ change: ReadinessStateMachine<Waiter>.Change, of newcomer: UInt64, _ state: inout State
    ) -> [Woken] {
        guard case .set(let entry, let isNew) = change, let poller = state.poller else { return [] }
        let result = poller.set(entry, isNew: isNew)
        if result == 0 { return [] }
        if isNew || !Self.isAnotherFile(result) {
            return [Woken(waiters: state.machine.refused(entry.descriptor), outcome: .refused(-result))]
        }
        // The number was closed while other tasks waited for it. Now it's another file's, or not open.
        let (stale, next) = state.machine.replaced(entry.descriptor, by: newcomer)
        let told = Woken(waiters: stale, outcome: .refused(EBADF))
        guard let next else { return [told] }
        return [told] + apply(next, of: newcomer, &state)
    }

    /// Returns whether arming a registration again failed because its number is closed or is now another file's. That file has no
    /// registration, or can't have one.
    private static func isAnotherFile(_ result: CInt) -> Bool {
        [-ENOENT, -EBADF, -EPERM].contains(result)
    }

    /// Arms for the tasks that still wait, or removes a registration without waiters. Returns the tasks that must receive an error.
    @discardableResult
    private func apply(_ change: ReadinessStateMachine<Waiter>.Change, _ state: inout State) -> Woken {
        switch change {
        case .remove(let descriptor): state.poller?.remove(descriptor)
        case .set(let entry, let isNew):
            let result = state.poller?.set(entry, isNew: isNew) ?? 0
            if result < 0 {
                let error = !isNew && Self.isAnotherFile(result) ? EBADF : -result
                return Woken(waiters: state.machine.refused(entry.descriptor), outcome: .refused(error))
            }
        }
        return Woken()
    }

    // MARK: The thread

    private func startThread() {
        let result = kernel.calls.startThread(stackSize) { self.work() }
        if result == 0 { return }
        end(telling: .failed(DetachedThread.missing(for: "waiting descriptors", -result)))
    }

    private func work() {
        var lastCheck = ContinuousClock.now
        while let (poller, isWatching) = next() {
            var events: [ReadinessEntry] = []
            let result = poller.wait(milliseconds: isWatching ? Self.checkInterval : -1, &events)
            if result < 0, result != -EINTR {
                let error = FileError(operation: "wait for", path: "waiting descriptors", systemError: -result)
                return end(telling: .failed(error))
            }
            for event in events { wake(by: event) }
            if isWatching, ContinuousClock.now - lastCheck >= .milliseconds(Int(Self.checkInterval)) {
                check()
                lastCheck = .now
            }
        }
    }

    /// Returns the poller to wait in, or `nil` if the lane was closed. The thread then counts as ended.
    private func next() -> (any ReadinessPoller, isWatching: Bool)? {
        let next = state.withLock { state -> (any ReadinessPoller, Bool)? in
            guard !state.isClosed, let poller = state.poller else { return nil }
            state.sleepsForGood = !state.machine.isWatching
            return (poller, state.machine.isWatching)
        }
        if next == nil { end(telling: .shutDown) }
        return next
    }

    private func wake(by event: ReadinessEntry) {
        let (ready, refused) = state.withLock { state in
            let (ready, change) = state.machine.ready(event)
            return (ready, change.map { apply($0, &state) })
        }
        changes.changed()
        for waiter in ready { waiter.resume(returning: .ready) }
        refused?.resume()
    }

    /// The interval, in milliseconds, between two checks for descriptors that other code has closed.
    private static var checkInterval: CInt { 500 }

    /// Finds closed descriptors. Closing one wakes no task, but removes its registration, so arming it again fails.
    private func check() {
        for entry in state.withLock({ $0.machine.checks() }) {
            // One at a time, because other threads need the lock too.
            let woken = state.withLock { state -> Woken in
                guard state.machine.isCurrent(entry) else { return Woken() }
                return apply(.set(entry, isNew: false), &state)
            }
            changes.changed()
            woken.resume()
        }
    }

    // MARK: The end

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            state.poller?.wake()
            return state.machine.close()
        }
        changes.changed()
        Woken(waiters: waiters, outcome: .shutDown).resume()
    }

    /// Ends the thread, or handles one that didn't start. Closes the poller too; a later wait creates another one.
    private func end(telling outcome: ReadinessOutcome) {
        let (poller, waiters) = state.withLock { state in
            (state.poller.take(), state.machine.close())
        }
        poller?.close()
        Woken(waiters: waiters, outcome: outcome).resume()
        let waitingForEnd = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.threads -= 1
            guard state.isClosed, state.threads == 0 else { return [] }
            defer { state.waitingForEnd = [] }
            return state.waitingForEnd
        }
        changes.changed()
        for continuation in waitingForEnd { continuation.resume() }
    }

    func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.threads == 0 { return true }
                state.waitingForEnd.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}

enum ReadinessOutcome: Sendable {
    case ready
    case cancelled
    case shutDown
    /// This descriptor can't be waited for, with the error number.
    case refused(CInt)
    case failed(FileError)
}
