import SluiceLock

/// The closures that are called while the bodies of responses arrive.
final class ProgressObservers: Sendable {
    private struct State {
        var observers: [ResponseKey: [Int: @Sendable (ResourceProgress) -> Void]] = [:]
        var last = 0
    }

    private let state = Lock(State())

    func add(_ key: ResponseKey, _ observer: @escaping @Sendable (ResourceProgress) -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            state.observers[key, default: [:]][state.last] = observer
            return state.last
        }
    }

    /// Removes an observer. A call that has begun may still run.
    func remove(_ number: Int, _ key: ResponseKey) {
        // A closure must not be released under the lock.
        let removed = state.withLock { state in
            let removed = state.observers[key]?.removeValue(forKey: number)
            if state.observers[key]?.isEmpty ?? false { state.observers[key] = nil }
            return removed
        }
        _ = removed
    }

    /// The number of requests that are observed.
    var count: Int { state.withLock { $0.observers.count } }

    func report(_ key: ResponseKey, received: Int64, of total: Int64?) {
        let observers = state.withLock { state in
            state.observers.isEmpty ? [] : state.observers[key].map { Array($0.values) } ?? []
        }
        for observer in observers { observer(ResourceProgress(receivedBytes: received, totalBytes: total)) }
    }
}
