internal import CSluiceFiles
internal import SluiceLock
internal import Synchronization

/// The lane that waits for descriptors: pipes, FIFOs, terminals, sockets, notifications.
///
/// One thread waits on behalf of all tasks, in epoll(7) or poll(2). It starts with the first wait and ends with the lane. Readiness is a
/// hint: another task or process may have taken the bytes. A task that finds no bytes waits again.
///
/// - Order: An event wakes all tasks that wait for that direction, in order of arrival.
/// - Failure: A ``FileError``: ``FileError/Code/unsupported`` for a descriptor that can't be waited for, such as a regular file's;
///   ``FileError/Code/invalidArgument`` for one that is closed. The kernel doesn't report that a descriptor was closed. Code that closes a
///   descriptor must end the waits for it first. If other code may close it, pass `watching`: the lane then polls the descriptor twice a
///   second.
/// - Teardown: Closing the lane ends all waits with ``FileError/Code/shutDown``.
final class ReadinessLane: Sendable {
    private let storage: ReadinessStorage
    private let lastID = Atomic<UInt64>(0)

    let completed = Atomic(0)

    init(_ system: SystemInterface, stackSize: Int, _ changes: StatisticsChanges) {
        storage = ReadinessStorage(system, stackSize: stackSize, changes)
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

// MARK: - State machine

/// The tasks that wait for descriptors, as a pure value: events in, actions out. It makes no system call and resumes no task.
///
/// ```text
/// a task waits to read 7                 .set(7, reading, isNew: true)
/// another task waits to write it         .set(7, reading + writing, isNew: false)
/// the kernel reports 7 as readable       the first task; .set(7, writing, isNew: false)
/// the second task is cancelled           the second task; .remove(7)
/// ```
///
/// A registration with the kernel is one-shot: it delivers one event and is then disarmed. It exists only while a task waits. Its token
/// contains the descriptor and a serial number, so an event that arrives after the descriptor was reused for another file doesn't wake any
/// task. An event wakes all tasks that wait for its direction. Those that find no bytes wait again.
package struct ReadinessStateMachine<Waiter> {
    package typealias WaiterID = UInt64

    package enum Change: Hashable, Sendable {
        /// Arms for one event. A new registration is added. An existing one is modified, which fails if the descriptor now belongs to
        /// another file.
        case set(ReadinessEntry, isNew: Bool)
        case remove(CInt)
    }

    private struct Entry {
        /// Its position in the order of arrival.
        var order: UInt64
        var readiness: Readiness
        var isWatching: Bool
        var waiter: Waiter
    }

    /// Each waiter is added and removed in constant time: thousands of tasks may wait for one descriptor.
    private struct Registration {
        let serial: UInt32
        private(set) var waiters: [WaiterID: Entry] = [:]
        /// The number of waiters for each direction, and the number with `watching`, whose descriptor other code may close.
        private var reading = 0
        private var writing = 0
        private(set) var watching = 0

        init(serial: UInt32) { self.serial = serial }

        var interest: Readiness {
            var interest: Readiness = []
            if reading > 0 { interest.insert(.reading) }
            if writing > 0 { interest.insert(.writing) }
            return interest
        }

        mutating func add(_ id: WaiterID, _ entry: Entry) {
            waiters[id] = entry
            count(entry, 1)
        }

        mutating func remove(_ id: WaiterID) -> Entry? {
            guard let entry = waiters.removeValue(forKey: id) else { return nil }
            count(entry, -1)
            return entry
        }

        private mutating func count(_ entry: Entry, _ change: Int) {
            if entry.readiness.contains(.reading) { reading += change }
            if entry.readiness.contains(.writing) { writing += change }
            if entry.isWatching { watching += change }
        }
    }

    private var registrations: [CInt: Registration] = [:]
    private var descriptors: [WaiterID: CInt] = [:]
    private var watching = 0
    private var lastSerial: UInt32 = 0
    private var lastOrder: UInt64 = 0

    package init() {}

    package var waiters: Int { descriptors.count }
    package var isEmpty: Bool { descriptors.isEmpty }
    package var isWatching: Bool { watching > 0 }

    // MARK: Events

    /// Adds a waiter. `watching` means that other code may close the descriptor in the meantime, which the kernel doesn't report.
    package mutating func wait(
        _ id: WaiterID, for descriptor: CInt, _ readiness: Readiness, watching: Bool, _ waiter: Waiter
    ) -> Change {
        let isNew = registrations[descriptor] == nil
        if isNew { registrations[descriptor] = Registration(serial: nextSerial()) }
        let old = descriptors.updateValue(descriptor, forKey: id)
        precondition(old == nil, "A waiter may be added only once.")
        lastOrder += 1
        registrations[descriptor]!.add(
            id, Entry(order: lastOrder, readiness: readiness, isWatching: watching, waiter: waiter))
        if watching { self.watching += 1 }
        return set(descriptor, isNew: isNew)
    }

    /// Ends a registration that the kernel refused to arm. Returns its waiters, which must receive the error.
    package mutating func refused(_ descriptor: CInt) -> [Waiter] {
        end(descriptor)
    }

    /// Replaces a registration whose descriptor was reused for another file. Returns its waiters except the newcomer, and a new
    /// registration for the newcomer.
    package mutating func replaced(_ descriptor: CInt, by newcomer: WaiterID) -> (stale: [Waiter], Change?) {
        guard let entry = remove(newcomer, descriptor) else { return (end(descriptor), nil) }
        let stale = end(descriptor)
        return (stale, wait(newcomer, for: descriptor, entry.readiness, watching: entry.isWatching, entry.waiter))
    }

    /// Handles an event. Returns the tasks that waited for it, in order of arrival.
    package mutating func ready(_ event: ReadinessEntry) -> (ready: [Waiter], Change?) {
        let descriptor = Self.descriptor(of: event.token)
        guard let registration = registrations[descriptor], registration.serial == Self.serial(of: event.token) else {
            return ([], nil)
        }
        // If the descriptor failed or hung up, tasks waiting for either direction learn the reason from their next call.
        let wakesAll = !event.readiness.isDisjoint(with: [.hungUp, .failed, .notOpen])
        let woken = registration.waiters.filter { wakesAll || !event.readiness.isDisjoint(with: $0.value.readiness) }
        for id in woken.keys { _ = remove(id, descriptor) }
        return (Self.inOrder(woken.values), keep(descriptor))
    }

    /// Removes a waiter. Returns `nil` if it has been woken already or isn't registered yet.
    package mutating func cancel(_ id: WaiterID) -> (Waiter, Change?)? {
        guard let descriptor = descriptors[id], let waiter = remove(id, descriptor)?.waiter else { return nil }
        if registrations[descriptor]?.waiters.isEmpty == true {
            registrations[descriptor] = nil
            return (waiter, .remove(descriptor))
        }
        // The registration stays armed for an event that no task waits for. If the event comes, it wakes no task and rearms correctly.
        return (waiter, nil)
    }

    package mutating func close() -> [Waiter] {
        let all = Self.inOrder(registrations.values.flatMap(\.waiters.values))
        registrations = [:]
        descriptors = [:]
        watching = 0
        return all
    }

    /// Returns the registrations of descriptors that other code may close. Rearming fails for the ones that were closed.
    package func checks() -> [ReadinessEntry] {
        registrations.compactMap { descriptor, registration in
            registration.watching > 0 ? entry(descriptor, registration) : nil
        }
    }

    package func isCurrent(_ entry: ReadinessEntry) -> Bool {
        registrations[entry.descriptor]?.serial == Self.serial(of: entry.token)
    }
}

// MARK: Machinery

extension ReadinessStateMachine {
    private mutating func nextSerial() -> UInt32 {
        lastSerial &+= 1
        return lastSerial
    }

    private func set(_ descriptor: CInt, isNew: Bool) -> Change {
        .set(entry(descriptor, registrations[descriptor]!), isNew: isNew)
    }

    private func entry(_ descriptor: CInt, _ registration: Registration) -> ReadinessEntry {
        ReadinessEntry(
            descriptor: descriptor, readiness: registration.interest,
            token: UInt64(UInt32(bitPattern: descriptor)) << 32 | UInt64(registration.serial))
    }

    private static func descriptor(of token: UInt64) -> CInt { CInt(truncatingIfNeeded: token >> 32) }
    private static func serial(of token: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: token) }

    private mutating func remove(_ id: WaiterID, _ descriptor: CInt) -> Entry? {
        guard let entry = registrations[descriptor]?.remove(id) else { return nil }
        descriptors[id] = nil
        if entry.isWatching { watching -= 1 }
        return entry
    }

    private static func inOrder(_ entries: some Collection<Entry>) -> [Waiter] {
        entries.sorted { $0.order < $1.order }.map(\.waiter)
    }

    private mutating func keep(_ descriptor: CInt) -> Change {
        if registrations[descriptor]?.waiters.isEmpty != false {
            registrations[descriptor] = nil
            return .remove(descriptor)
        }
        return set(descriptor, isNew: false)
    }

    private mutating func end(_ descriptor: CInt) -> [Waiter] {
        guard let registration = registrations.removeValue(forKey: descriptor) else { return [] }
        for id in registration.waiters.keys { descriptors[id] = nil }
        watching -= registration.watching
        return Self.inOrder(registration.waiters.values)
    }
}

// MARK: - Storage

/// The readiness lane's lock, poller and thread. Each event goes to the state machine under the lock. The system calls that the machine
/// requests are short, and are made under the lock too. Woken tasks are resumed after unlocking.
final class ReadinessStorage: Sendable {
    typealias Waiter = CheckedContinuation<ReadinessOutcome, Never>

    private let system: SystemInterface
    private let stackSize: Int
    private let changes: StatisticsChanges
    private let state = Lock(State())

    private struct State {
        var machine = ReadinessStateMachine<Waiter>()
        /// Exists from the first wait until the thread ends.
        var poller: (any ReadinessPoller)?
        var threads = 0
        var isClosed = false
        /// Whether the thread sleeps without a timeout, and must be woken to check descriptors that other code may close.
        var sleepsForGood = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    private struct Woken {
        var waiters: [Waiter] = []
        var outcome = ReadinessOutcome.ready

        func resume() { for waiter in waiters { waiter.resume(returning: outcome) } }
    }

    init(_ system: SystemInterface, stackSize: Int, _ changes: StatisticsChanges) {
        self.system = system
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
                    state.poller = try system.makePoller()
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
        // The descriptor was closed while other tasks waited for it. Now it belongs to another file, or isn't open.
        let (stale, next) = state.machine.replaced(entry.descriptor, by: newcomer)
        let told = Woken(waiters: stale, outcome: .refused(EBADF))
        guard let next else { return [told] }
        return [told] + apply(next, of: newcomer, &state)
    }

    /// Returns whether rearming failed because the descriptor was closed or now belongs to another file, which has no registration or can't
    /// have one.
    private static func isAnotherFile(_ result: CInt) -> Bool {
        [-ENOENT, -EBADF, -EPERM].contains(result)
    }

    /// Rearms for the tasks that are still waiting, or removes a registration without waiters. Returns the tasks that must receive an
    /// error.
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
        let result = system.calls.startThread(stackSize) { self.work() }
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

    /// The interval, in milliseconds, between checks for descriptors that other code has closed.
    private static var checkInterval: CInt { 500 }

    /// Finds closed descriptors. Closing one wakes no task, but removes its registration, so rearming it fails.
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
    /// The descriptor can't be waited for, for the reason given by the error number.
    case refused(CInt)
    case failed(FileError)
}
