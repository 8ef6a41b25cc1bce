internal import CSluiceFiles
internal import Synchronization

/// Descriptors that are certain to be closed soon, so that an open can wait for them when no descriptor is left.
///
/// A process has a limited number of descriptors (EMFILE), and so has the system (ENFILE). When they are used up, an open may wait for
/// one only if it's certain to be closed:
///
/// ```text
/// a whole file that is read or written, a      *brief*: its job closes it without help, and opens nothing
/// directory that is synced                     else meanwhile, so that no two jobs wait for each other
/// a small file read by the inline lane         *passing*: closed by the thread that opened it, which never waits
/// a stream, a mapping, a FIFO                  closed by its owner at any time, which may be waiting for this very open
/// ```
///
/// An open that fails is repeated each time a brief or passing descriptor is closed. If there is none, the open fails. An open in
/// progress counts like the descriptor that it will return, because no open waits for the other end of a FIFO (see
/// `Kernel.openWithoutWaiting`).
final class BriefDescriptors: Sendable {
    private struct State {
        var descriptors: Set<CInt> = []
        var opening = 0
    }

    private let storage = ConditionLock(State())
    /// The brief descriptors that are open or are being closed. Changed under the lock, but read without it, so that closing other
    /// descriptors doesn't need the lock.
    private let count = Atomic(0)

    // Used without the lock, on threads that must not wait. A thread that closes a descriptor changes `tally` and then reads
    // `waiting`; a thread that waits changes `waiting` and then reads `tally`. So at least one of them sees the other.
    /// The lower half counts the open passing descriptors, the upper half all that were closed or turned out not to be brief.
    private let tally = Atomic<UInt64>(0)
    private let waiting = Atomic(0)

    private static var oneEnded: UInt64 { 1 << 32 }

    private func ended(_ tally: UInt64) -> UInt64 { tally >> 32 }
    private func passing(_ tally: UInt64) -> UInt64 { tally & (Self.oneEnded - 1) }

    // MARK: Opening and closing

    /// Calls `open`. While no descriptor is left, calls it again each time one is closed.
    func opening(isBrief: Bool, _ open: () -> CInt) -> CInt {
        while true {
            let before = ended(tally.load(ordering: .sequentiallyConsistent))
            let result = isBrief ? openingBriefly(open) : open()
            guard result == -EMFILE || result == -ENFILE, waitForEnd(after: before) else { return result }
        }
    }

    private func openingBriefly(_ open: () -> CInt) -> CInt {
        storage.withLock { $0.opening += 1 }
        let result = open()
        storage.withLock { state in
            state.opening -= 1
            guard result >= 0 else { return }
            state.descriptors.insert(result)
            count.add(1, ordering: .relaxed)
        }
        // Another open may have waited for this one.
        if result < 0 { wake() }
        return result
    }

    /// Runs `body`, which opens and closes a descriptor without waiting. If `body` can't open one, it must not wait for one.
    func passing<R>(_ body: () -> R) -> R {
        tally.wrappingAdd(1, ordering: .sequentiallyConsistent)
        defer {
            tally.wrappingAdd(Self.oneEnded - 1, ordering: .sequentiallyConsistent)
            wake()
        }
        return body()
    }

    func closing(_ descriptor: CInt, _ close: () -> CInt) -> CInt {
        // Before the close: afterwards the number may be another file's.
        let wasBrief = forget(descriptor)
        let result = close()
        if wasBrief { end() }
        return result
    }

    /// Notes that a descriptor isn't brief: it's a FIFO or a device, which depends on another process.
    func keep(_ descriptor: CInt) {
        if forget(descriptor) { end() }
    }

    private func forget(_ descriptor: CInt) -> Bool {
        count.load(ordering: .relaxed) > 0 && storage.withLock { $0.descriptors.remove(descriptor) != nil }
    }

    private func end() {
        tally.wrappingAdd(Self.oneEnded, ordering: .sequentiallyConsistent)
        storage.withLock { _ in _ = count.subtract(1, ordering: .relaxed) }
        wake()
    }

    // MARK: Waiting

    private func wake() {
        guard waiting.load(ordering: .sequentiallyConsistent) > 0 else { return }
        // A thread that has checked the state but doesn't sleep yet holds the lock.
        storage.withLock { _ in }
        storage.wakeAll()
    }

    /// Blocks until a descriptor has been closed since `before`. Returns false if none will be.
    private func waitForEnd(after before: UInt64) -> Bool {
        waiting.add(1, ordering: .sequentiallyConsistent)
        defer { waiting.subtract(1, ordering: .sequentiallyConsistent) }
        return storage.wait { state in
            let now = tally.load(ordering: .sequentiallyConsistent)
            if ended(now) != before { return true }
            return count.load(ordering: .relaxed) > 0 || state.opening > 0 || passing(now) > 0 ? nil : false
        }
    }
}
