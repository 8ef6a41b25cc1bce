internal import CSluiceFiles

/// The system calls of the readiness lane, replaceable one by one like those of ``SystemCalls``.
///
/// Only `waitForEvents` and `poll` block, and only the lane's own thread makes them. The others run on any thread.
package struct ReadinessCalls: Sendable {
    // MARK: Waiting for many

    package var makeQueue: @Sendable () -> CInt = { csluice_epoll_create() }
    package var setInterest: @Sendable (_ queue: CInt, _ entry: ReadinessEntry, _ isNew: Bool) -> CInt = {
        csluice_epoll_set($0, $1.descriptor, $1.readiness.rawValue, $1.token, $2 ? 0 : 1)
    }
    package var removeInterest: @Sendable (_ queue: CInt, _ descriptor: CInt) -> CInt = { csluice_epoll_remove($0, $1) }
    package var waitForEvents:
        @Sendable (_ queue: CInt, _ milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt = waitForEvents
    /// Keeps the entries that are ready, with what they are ready for. See poll(2).
    package var poll: @Sendable (_ milliseconds: CInt, _ entries: inout [ReadinessEntry]) -> CInt = poll

    /// Opens the two ends of the lane's wake-up, which may be one descriptor.
    package var makeWakeup: @Sendable (_ ends: inout (reading: CInt, writing: CInt)) -> CInt = makeWakeup
    package var signal: @Sendable (_ writing: CInt) -> CInt = { csluice_wakeup_signal($0) }
    package var clear: @Sendable (_ reading: CInt) -> CInt = { csluice_wakeup_clear($0) }

    // MARK: Without waiting

    package var read: @Sendable (_ descriptor: CInt, _ into: UnsafeMutableRawBufferPointer, _ manner: Manner) -> Int = {
        csluice_read_now($0, $1.baseAddress, $1.count, CInt($2.rawValue))
    }
    package var write: @Sendable (_ descriptor: CInt, _ from: UnsafeRawBufferPointer, _ manner: Manner) -> Int = {
        csluice_write_now($0, $1.baseAddress, $1.count, CInt($2.rawValue))
    }
    /// Returns the kind of file (S_IFMT), without asking a file server.
    package var kind: @Sendable (_ descriptor: CInt) -> CInt = { csluice_kind($0) }
    package var readiness: @Sendable (_ descriptor: CInt) -> CInt = { csluice_readiness_now($0) }
    package var canBeWaitedFor: @Sendable (_ descriptor: CInt) -> CInt = { csluice_can_be_waited_for($0) }
    package var flags: @Sendable (_ descriptor: CInt) -> CInt = { csluice_get_flags($0) }
    package var setFlags: @Sendable (_ descriptor: CInt, _ flags: CInt) -> CInt = { csluice_set_flags($0, $1) }
    /// Opens a descriptor's file a second time, as non-blocking.
    package var reopen: @Sendable (_ descriptor: CInt, _ flags: CInt) -> CInt = { csluice_reopen($0, $1) }

    package enum Manner: UInt32, Sendable {
        /// read(2) or write(2): the descriptor is non-blocking, or a thread may block on it.
        case plain
        /// recv(2) or send(2) with MSG_DONTWAIT.
        case socket
        /// preadv2(2) or pwritev2(2) with RWF_NOWAIT.
        case noWait
    }

    package static let system = ReadinessCalls()

    private static func waitForEvents(_ queue: CInt, _ milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt {
        withUnsafeTemporaryAllocation(of: csluice_event.self, capacity: 256) { found in
            let count = csluice_epoll_wait(queue, found.baseAddress, CInt(found.count), milliseconds)
            events = count > 0 ? found.prefix(Int(count)).map { ReadinessEntry($0) } : []
            return count
        }
    }

    private static func poll(_ milliseconds: CInt, _ entries: inout [ReadinessEntry]) -> CInt {
        var list = entries.map {
            csluice_event(token: $0.token, readiness: $0.readiness.rawValue, descriptor: $0.descriptor)
        }
        let count = csluice_poll_many(&list, CInt(list.count), milliseconds)
        entries = count > 0 ? list.lazy.filter { $0.readiness != 0 }.map { ReadinessEntry($0) } : []
        return count
    }

    private static func makeWakeup(_ ends: inout (reading: CInt, writing: CInt)) -> CInt {
        var found: [CInt] = [-1, -1]
        let result = csluice_wakeup_open(&found)
        ends = (found[0], found[1])
        return result
    }
}

package struct Readiness: OptionSet, Sendable, Hashable {
    package var rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }
    private init(_ bit: csluice_readiness) { self.init(rawValue: UInt32(bit.rawValue)) }

    package static let reading = Self(csluice_readable)
    package static let writing = Self(csluice_writable)
    package static let hungUp = Self(csluice_hung_up)
    /// The descriptor has failed, or the pipe that it writes to has no reader.
    package static let failed = Self(csluice_failed)
    package static let notOpen = Self(csluice_not_open)
    /// Requests every event instead of one.
    package static let repeatedly = Self(csluice_repeatedly)
}

/// A descriptor with the events that it is armed for, or an event with what the descriptor is ready for.
package struct ReadinessEntry: Sendable, Hashable {
    package var descriptor: CInt
    package var readiness: Readiness
    /// Identifies the registration: see ``ReadinessStateMachine``.
    package var token: UInt64

    package init(descriptor: CInt, readiness: Readiness, token: UInt64) {
        self.descriptor = descriptor
        self.readiness = readiness
        self.token = token
    }

    init(_ event: csluice_event) {
        self.init(descriptor: event.descriptor, readiness: Readiness(rawValue: event.readiness), token: event.token)
    }
}
