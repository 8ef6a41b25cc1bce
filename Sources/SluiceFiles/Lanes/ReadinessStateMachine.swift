/// Who waits for which descriptor, as a pure value: events in, actions out. It makes no system call and resumes nobody.
///
/// ```text
/// a task waits for 7 to be read          .set(7, reading, isNew: true)
/// another, to write it                   .set(7, reading + writing, isNew: false)
/// the kernel says that 7 can be read     the first task; .set(7, writing, isNew: false)
/// the second task is cancelled           the second task; .remove(7)
/// ```
///
/// A registration of the kernel's gives one event and is then at rest, and it exists only while somebody waits. Its token has
/// the descriptor and a serial number: an event that was on its way while the number became another file's finds nobody.
///
/// All who wait for a direction are woken by its event. Those who find nothing left wait again.
package struct ReadinessStateMachine<Waiter> {
    package typealias WaiterID = UInt64

    /// What the kernel is to be told.
    package enum Change: Hashable, Sendable {
        /// Arm, for one event. A new one is added, another modified, which fails if the descriptor is another file by now.
        case set(ReadinessEntry, isNew: Bool)
        case remove(CInt)
    }

    private struct Registration {
        var serial: UInt32
        var waiters: [(id: WaiterID, readiness: Readiness, waiter: Waiter)]
        /// How many of them wait for a descriptor that others may close.
        var watching = 0

        var interest: Readiness { waiters.reduce(into: []) { $0.formUnion($1.readiness) } }
    }

    private var registrations: [CInt: Registration] = [:]
    private var descriptors: [WaiterID: CInt] = [:]
    /// The waiters for descriptors that others may close.
    private var watchers: Set<WaiterID> = []
    private var lastSerial: UInt32 = 0

    package init() {}

    package var waiters: Int { descriptors.count }
    package var isEmpty: Bool { descriptors.isEmpty }
    /// Whether anyone waits for a descriptor that others may close.
    package var isWatching: Bool { !watchers.isEmpty }

    // MARK: Events

    /// A task waits.
    ///
    /// - Parameter watching: Whether others may close the descriptor meanwhile, which the kernel tells nobody.
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
        precondition(old == nil, "A waiter waits twice.")
        return set(descriptor, isNew: isNew)
    }

    /// The kernel refused to arm a registration: all who waited for it, to be told why.
    package mutating func refused(_ descriptor: CInt) -> [Waiter] {
        end(descriptor)
    }

    /// The registration that a newcomer joined is another file's: all but the newcomer, and a registration again.
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

    /// The kernel says that a descriptor is ready: who waited for that, in order of arrival.
    package mutating func ready(_ event: ReadinessEntry) -> (ready: [Waiter], Change?) {
        let descriptor = Self.descriptor(of: event.token)
        guard let registration = registrations[descriptor], registration.serial == Self.serial(of: event.token) else {
            return ([], nil)
        }
        // Whoever waits for either direction of what has failed or hung up learns how from its next call.
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

    /// A task no longer waits; nil if it does not wait any more, or not yet.
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
        // Armed for more than is wanted, it gives an event that wakes no task and arms it again.
        registrations[descriptor] = rest
        return (waiter, nil)
    }

    /// Nobody waits any more: all who did.
    package mutating func close() -> [Waiter] {
        let all = registrations.values.flatMap(\.waiters).sorted { $0.id < $1.id }.map(\.waiter)
        registrations = [:]
        descriptors = [:]
        watchers = []
        return all
    }

    /// The registrations of descriptors that others may close, armed again: the kernel refuses those that were closed.
    package func checks() -> [ReadinessEntry] {
        registrations.compactMap { descriptor, registration in
            registration.watching > 0 ? entry(descriptor, registration) : nil
        }
    }

    /// Whether a registration is still the one of this entry.
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
