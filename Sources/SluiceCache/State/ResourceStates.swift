import SluiceConcurrency

/// The states of one resource, while it is looked up and fetched. See ``DecodedCache/states(of:)`` and ``ResourceCache/states(of:)``.
///
/// Each iteration is one request. The first state comes immediately: it is ``ResourceState/ready(_:from:)`` if the value is in memory. A
/// slow consumer skips states that were replaced meanwhile, and gets the last one. The sequence ends after the last state.
///
/// - Cancellation: The sequence ends, and the request is cancelled. Releasing the iterator has the same effect.
public struct ResourceStates<Value: Sendable>: AsyncSequence, Sendable {
    /// The sequence doesn't throw: an error is a state.
    public typealias Failure = Never

    let valueInMemory: @Sendable () -> Value?
    let load: @Sendable () async throws -> (Value, CachedResponse.Source)
    let observers: ProgressObservers
    let key: ResponseKey

    /// Starts a request.
    public func makeAsyncIterator() -> Iterator { Iterator(request: StateRequest(self)) }

    /// An iterator over the states of one request.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let request: StateRequest<Value>
        private var states: CurrentValue<ResourceState<Value>>.Values.Iterator

        fileprivate init(request: StateRequest<Value>) {
            self.request = request
            states = request.state.values.makeAsyncIterator()
        }

        /// Waits for a newer state, and returns it. Returns `nil` after the last state, or if the task is cancelled.
        public mutating func next() async -> ResourceState<Value>? { await states.next() }

        /// Waits for a newer state in the isolation of `actor`; otherwise like ``next()``.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ResourceState<Value>? {
            await states.next(isolation: actor)
        }
    }
}

/// Owns the task of a request.
private final class StateRequest<Value: Sendable>: Sendable {
    let state: CurrentValue<ResourceState<Value>>
    private let task: Task<Void, Never>?

    init(_ states: ResourceStates<Value>) {
        if let value = states.valueInMemory() {
            state = CurrentValue(.ready(value, from: .memory))
            state.finish()
            task = nil
            return
        }
        let state = CurrentValue<ResourceState<Value>>(.waiting)
        self.state = state
        task = Task {
            let observer = states.observers.add(states.key) { state.value = .receiving($0) }
            let last: ResourceState<Value>
            do {
                let (value, source) = try await states.load()
                last = .ready(value, from: source)
            } catch {
                last = .failed(error)
            }
            states.observers.remove(observer, states.key)
            if !Task.isCancelled { state.value = last }
            state.finish()
        }
    }

    deinit { task?.cancel() }
}
