/// The tasks that wait for descriptors, as a pure value: events in, actions out. It makes no system call and resumes no task.
///
/// ```text
/// a task waits to read 7                 .set(7, reading, isNew: true)
/// another task waits to write it         .set(7, reading + writing, isNew: false)
/// the kernel reports 7 as readable       the first task; .set(7, writing, isNew: false)
/// the second task is cancelled           the second task; .remove(7)
/// ```
///
/// A registration with the kernel gives one event and is then disarmed. It exists only while a task waits. Its token contains the
/// descriptor and a serial number, so an event that arrives after the number became another file's wakes no task. An event wakes all
/// tasks that wait for its direction. Those that find no bytes wait again.
package struct ReadinessStateMachine<Waiter> {
    package typealias WaiterID = UInt64

    package enum Change: Hashable, Sendable {
        /// Arms for one event. A new registration is added. An existing one is modified; that fails if the number is another file's now.
        case set(ReadinessEntry, isNew: Bool)
        case remove(CInt)
    }

    private struct Entry {
        /// Its place in the order of arrival.
        var order: UInt64
        var readiness: Readiness
        var isWatching: Bool
        var waiter: Waiter
    }

    /// Each waiter is added and removed in constant time: thousands of tasks may wait for one descriptor.
    private struct Registration {
        let serial: UInt32
        private(set) var waiters: [WaiterID: Entry] = [:]
        /// The number of waiters for each direction, and of those with `watching`, whose descriptor other code may close.
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

    /// Adds a waiter. `watching` means that other code may close the descriptor meanwhile, which the kernel doesn't report.
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

    /// Replaces a registration after its number has become another file's. Returns its waiters except the newcomer, and a new
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
        // Tasks that wait for either direction of a descriptor that failed or hung up learn the reason from their next call.
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
        // The registration stays armed for too much. A superfluous event wakes no task and arms it correctly.
        return (waiter, nil)
    }

    package mutating func close() -> [Waiter] {
        let all = Self.inOrder(registrations.values.flatMap(\.waiters.values))
        registrations = [:]
        descriptors = [:]
        watching = 0
        return all
    }

    /// Returns the registrations of descriptors that other code may close. Arming them again fails for those that were closed.
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
