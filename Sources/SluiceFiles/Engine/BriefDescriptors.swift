internal import CSluiceFiles
internal import Synchronization

/// The descriptors that come back by themselves, for the time when there are no others.
///
/// A process has a limited number of descriptors (EMFILE), and so has the system (ENFILE). When they are used up, waiting for
/// one is right only where it certainly comes back:
///
///     a whole file that is read or written, a      *brief*: its job closes it without anybody's help, and opens nothing
///     folder that is synced                        else meanwhile, so that no two jobs wait for each other
///     a stream, a mapping, a FIFO                  closed when its owner likes, who may be waiting for this very file
///
/// An open that fails is tried again after each brief descriptor that was closed. When there is none, it is an error: whoever
/// holds the others has to close some.
final class BriefDescriptors: Sendable {
    private struct State {
        var descriptors: Set<CInt> = []
        /// Opens in progress whose descriptors will be brief.
        var opening = 0
        /// Those that have come back, and those that turned out not to be brief.
        var ended = 0
        var waiting = 0
    }

    private let storage = ConditionLock(State())
    /// Those that are open, and those whose close has not returned. Changed under the lock; read without it, to spare it
    /// those who close other descriptors.
    private let count = Atomic(0)
    /// Those of threads that must not wait, from before the open until after the close: microseconds. Without the lock.
    private let passing = Atomic(0)

    /// An open that has not said yet what it got is looked at again so many times, a millisecond apart. Nobody knows whether
    /// it got something or waits for the other side of a FIFO.
    private static var mostLooks: Int { 1000 }

    /// Opens, again after each brief descriptor that comes back, while there are no descriptors left.
    func opening(isBrief: Bool, _ open: () -> CInt) -> CInt {
        var looks = 0
        while true {
            let ended = storage.withLock { state in
                if isBrief { state.opening += 1 }
                return state.ended
            }
            let result = open()
            if isBrief {
                storage.withLock { state in
                    state.opening -= 1
                    guard result >= 0 else { return }
                    state.descriptors.insert(result)
                    count.add(1, ordering: .relaxed)
                }
            }
            guard result == -EMFILE || result == -ENFILE else { return result }
            switch waitForEnd(after: ended) {
            case .ended: looks = 0
            case .unknown where looks < Self.mostLooks:
                looks += 1
                usleep(1000)
            default: return result
            }
        }
    }

    /// Runs what opens and closes a descriptor without waiting for anything. It may find none, and then does without.
    func passing<R>(_ body: () -> R) -> R {
        passing.add(1, ordering: .sequentiallyConsistent)
        defer { passing.subtract(1, ordering: .sequentiallyConsistent) }
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
        let isWaitedFor = storage.withLock { state in
            count.subtract(1, ordering: .relaxed)
            state.ended += 1
            return state.waiting > 0
        }
        if isWaitedFor { storage.wakeAll() }
    }

    // MARK: Waiting

    private enum End { case ended, unknown, none }

    private func waitForEnd(after ended: Int) -> End {
        storage.withLock { $0.waiting += 1 }
        defer { storage.withLock { $0.waiting -= 1 } }
        return storage.wait { state in
            if state.ended != ended { return .ended }
            guard count.load(ordering: .relaxed) == 0 else { return nil }
            return state.opening > 0 || passing.load(ordering: .sequentiallyConsistent) > 0 ? .unknown : End.none
        }
    }
}
