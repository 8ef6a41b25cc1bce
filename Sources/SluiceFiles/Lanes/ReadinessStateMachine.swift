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

    private struct Registration {
        var serial: UInt32
        var waiters: [(id: WaiterID, readiness: Readiness, waiter: Waiter)]
        /// The number of waiters with `watching`, whose descriptor other code may close.
        var watching = 0

        var interest: Readiness { waiters.reduce(into: []) { $0.formUnion($1.readiness) } }
    }

    private var registrations: [CInt: Registration] = [:]
    private var descriptors: [WaiterID: CInt] = [:]
    private var watchers: Set<WaiterID> = []
    private var lastSerial: UInt32 = 0

    package init() {}

    package var waiters: Int { descriptors.count }
    package var isEmpty: Bool { descriptors.isEmpty }
    package var isWatching: Bool { !watchers.isEmpty }

    // MARK: Events

    /// Adds a waiter. `watching` means that other code may close the descriptor meanwhile, which the kernel doesn't report.
    package mutating func wait(
        _ id: WaiterID, for descriptor: CInt, _ readiness: Readiness, watching: Bool, _ waiter: Waiter
    ) -> Change {
        let isNew = registrations[descriptor] == nil
        if isNew { registrations[descriptor] = Registration(serial: nextSerial(), waiters: []) }
        registrations[descriptor]!.waiters.append((id, readiness, waiter))
        if watching {
            registrations[descriptor]!.watching += 1
            watchers.insert(id)
        }
        let old = descriptors.updateValue(descriptor, forKey: id)
        precondition(old == nil, "A waiter may be added only once.")
        return set(descriptor, isNew: isNew)
    }

    /// Ends a registration that the kernel refused to arm. Returns its waiters, which must receive the error.
    package mutating func refused(_ descriptor: CInt) -> [Waiter] {
        end(descriptor)
    }

    /// Replaces a registration after its number has become another file's. Returns its waiters except the newcomer, and a new
    /// registration for the newcomer.
    package mutating func replaced(_ descriptor: CInt, by newcomer: WaiterID) -> (stale: [Waiter], Change?) {
        guard let index = registrations[descriptor]?.waiters.firstIndex(where: { $0.id == newcomer }) else {
            return (end(descriptor), nil)
        }
        let entry = registrations[descriptor]!.waiters.remove(at: index)
        let isWatching = watchers.remove(newcomer) != nil
        if isWatching { registrations[descriptor]!.watching -= 1 }
        descriptors[newcomer] = nil
        let stale = end(descriptor)
        return (stale, wait(newcomer, for: descriptor, entry.readiness, watching: isWatching, entry.waiter))
    }

    /// Handles an event. Returns the tasks that waited for it, in order of arrival.
    package mutating func ready(_ event: ReadinessEntry) -> (ready: [Waiter], Change?) {
        let descriptor = Self.descriptor(of: event.token)
        guard let registration = registrations[descriptor], registration.serial == Self.serial(of: event.token) else {
            return ([], nil)
        }
        // Tasks that wait for either direction of a descriptor that failed or hung up learn the reason from their next call.
        let wakesAll = !event.readiness.isDisjoint(with: [.hungUp, .failed, .notOpen])
        let woken = registration.waiters.filter { wakesAll || !event.readiness.isDisjoint(with: $0.readiness) }
        var rest = registration
        rest.waiters.removeAll { entry in wakesAll || !event.readiness.isDisjoint(with: entry.readiness) }
        for entry in woken {
            descriptors[entry.id] = nil
            if watchers.remove(entry.id) != nil { rest.watching -= 1 }
        }
        return (woken.map(\.waiter), keep(rest, descriptor))
    }

    /// Removes a waiter. Returns `nil` if it has been woken already or isn't registered yet.
    package mutating func cancel(_ id: WaiterID) -> (Waiter, Change?)? {
        guard let descriptor = descriptors.removeValue(forKey: id), var rest = registrations[descriptor] else {
            return nil
        }
        let index = rest.waiters.firstIndex { $0.id == id }!
        let waiter = rest.waiters.remove(at: index).waiter
        if watchers.remove(id) != nil { rest.watching -= 1 }
        if rest.waiters.isEmpty {
            registrations[descriptor] = nil
            return (waiter, .remove(descriptor))
        }
        // The registration stays armed for too much. A superfluous event wakes no task and arms it correctly.
        registrations[descriptor] = rest
        return (waiter, nil)
    }

    package mutating func close() -> [Waiter] {
        let all = registrations.values.flatMap(\.waiters).sorted { $0.id < $1.id }.map(\.waiter)
        registrations = [:]
        descriptors = [:]
        watchers = []
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

    private mutating func keep(_ rest: Registration, _ descriptor: CInt) -> Change {
        if rest.waiters.isEmpty {
            registrations[descriptor] = nil
            return .remove(descriptor)
        }
        registrations[descriptor] = rest
        return set(descriptor, isNew: false)
    }

    private mutating func end(_ descriptor: CInt) -> [Waiter] {
        guard let registration = registrations.removeValue(forKey: descriptor) else { return [] }
        for entry in registration.waiters {
            descriptors[entry.id] = nil
            watchers.remove(entry.id)
        }
        return registration.waiters.map(\.waiter)
    }
}
