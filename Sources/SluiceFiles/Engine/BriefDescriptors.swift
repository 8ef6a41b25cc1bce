internal import CSluiceFiles
internal import Synchronization

/// The descriptors that come back by themselves, for the time when there are no others.
///
/// A process has a limited number of descriptors (EMFILE), and so has the system (ENFILE). When they are used up, waiting for
/// one is right only where it certainly comes back:
///
/// ```text
/// a whole file that is read or written, a      *brief*: its job closes it without help, and opens nothing
/// directory that is synced                     else meanwhile, so that no two jobs wait for each other
/// a small file read by the inline lane         *passing*: closed by the thread that opened it, which waits for nothing
/// a stream, a mapping, a FIFO                  closed when its owner likes, which may be waiting for this very file
/// ```
///
/// An open that fails is tried again after each brief or passing descriptor that was closed. When there is none, it is an
/// error: whoever holds the others has to close some. An open in progress counts as the descriptor that it will be: no open
/// waits for another process's end of a FIFO (see `Kernel.openWithoutWaiting`).
final class BriefDescriptors: Sendable {
    private struct State {
        var descriptors: Set<CInt> = []
        /// Opens in progress whose descriptors will be brief.
        var opening = 0
    }

    private let storage = ConditionLock(State())
    /// Those that are open, and those whose close has not returned. Changed under the lock; read without it, to spare it
    /// those who close other descriptors.
    private let count = Atomic(0)

    // Without the lock, on threads that must not wait. Who gives a descriptor back counts it here and then looks for who waits;
    // who waits says so before it looks here. One of them sees the other.
    /// The lower half counts the passing ones that are open, the upper half all that have come back or turned out not to be brief.
    private let tally = Atomic<UInt64>(0)
    private let waiting = Atomic(0)

    private static var oneEnded: UInt64 { 1 << 32 }

    private func ended(_ tally: UInt64) -> UInt64 { tally >> 32 }
    private func passing(_ tally: UInt64) -> UInt64 { tally & (Self.oneEnded - 1) }

    // MARK: Opening and closing

    /// Opens, again after each descriptor that comes back, while there are none left.
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
        // Somebody may have counted on it.
        if result < 0 { wake() }
        return result
    }

    /// Runs what opens and closes a descriptor without waiting for anything. It may find none, and then does without.
    func passing<R>(_ body: () -> R) -> R {
        tally.wrappingAdd(1, ordering: .sequentiallyConsistent)
        defer {
            tally.wrappingAdd(Self.oneEnded - 1, ordering: .sequentiallyConsistent)
            wake()
        }
        return body()
    }

    /// Closes, and tells those who wait if it was a brief one.
    func closing(_ descriptor: CInt, _ close: () -> CInt) -> CInt {
        // Before the close: after it, the number may be another file's.
        let wasBrief = forget(descriptor)
        let result = close()
        if wasBrief { end() }
        return result
    }

    /// Says that a descriptor is not brief after all: a FIFO or device, which comes back when its other side likes.
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
        // Who has looked and does not sleep yet holds the lock.
        storage.withLock { _ in }
        storage.wakeAll()
    }

    /// Blocks until a descriptor has come back since `before`; false if none will.
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
