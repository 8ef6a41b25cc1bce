import SluiceConcurrency
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The state of a resource, for a user interface.
///
/// Later versions may add cases, so write `@unknown default` in a `switch`.
public enum ResourceState<Value: Sendable>: Sendable {
    /// The resource is being looked up, or its server hasn't responded yet.
    case waiting
    /// Bytes are arriving.
    case receiving(ResourceProgress)
    /// Bytes are arriving, and the beginning has been decoded: a progressive JPEG of lower quality, on Apple platforms.
    case arriving(Value, ResourceProgress)
    /// The resource is here. This is the last state.
    case ready(Value, from: CachedResponse.Source)
    /// The request failed, with a `TransferError` or the decoder's error. This is the last state.
    case failed(any Error)

    /// The value of ``ready(_:from:)``, or `nil`.
    public var value: Value? {
        if case .ready(let value, _) = self { value } else { nil }
    }

    /// The value that a view can show: that of ``ready(_:from:)`` or ``arriving(_:_:)``, or `nil`.
    public var visibleValue: Value? {
        switch self {
        case .ready(let value, _), .arriving(let value, _): value
        case .waiting, .receiving, .failed: nil
        }
    }

    /// The progress of ``receiving(_:)`` or ``arriving(_:_:)``, or `nil`.
    public var progress: ResourceProgress? {
        switch self {
        case .receiving(let progress), .arriving(_, let progress): progress
        case .waiting, .ready, .failed: nil
        }
    }

    /// The error of ``failed(_:)``, or `nil`.
    public var error: (any Error)? {
        if case .failed(let error) = self { error } else { nil }
    }
}

/// The bytes of a response that have arrived.
public struct ResourceProgress: Sendable, Hashable {
    /// The number of bytes of the body that have arrived.
    public var receivedBytes: Int64
    /// The length of the body, or `nil` if the server didn't announce it.
    public var totalBytes: Int64?

    /// Creates a progress value, for previews and tests.
    public init(receivedBytes: Int64, totalBytes: Int64?) {
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }

    /// The fraction from 0 to 1, or `nil` if the length is unknown.
    public var fractionCompleted: Double? {
        totalBytes.map { $0 > 0 ? min(1, Double(receivedBytes) / Double($0)) : 1 }
    }
}

// MARK: - Requests for states

extension ResourceCache {
    /// Returns the states of a resource while it is looked up and fetched, for a user interface. For images and other decoded values, see
    /// ``DecodedCache/states(of:)``.
    ///
    /// Each iteration of the sequence is one request, as with ``data(for:headerFields:)``.
    public func states(of url: URL) -> ResourceStates<Data> {
        ResourceStates(
            valueInMemory: { self.freshInMemory(url)?.body },
            load: {
                try self.checkOpen(for: url)
                let (answer, data) = try await self.dataAnswer(to: CacheRequest(TransportRequest(url)))
                return (data, answer.response.source)
            }, observers: progress, key: ResponseKey(TransportRequest(url)))
    }
}

extension DecodedCache {
    /// Returns the states of a resource while it is looked up, fetched and decoded, for a user interface.
    ///
    ///     for await state in images.states(of: url) { show(state) }
    ///
    /// In a view, use a `Latest` from SluiceConcurrency to follow the states. Its `value` is the newest one:
    /// `.task(id: url) { await image.follow(images.states(of: url)) }`.
    ///
    /// If the value is in memory, the first state is ``ResourceState/ready(_:from:)``. Each iteration of the sequence is one request, as
    /// with ``value(for:)``: when the view disappears, its task is cancelled, and so is the request, unless another caller is waiting for
    /// it.
    public func states(of url: URL) -> ResourceStates<Value> { states(of: url, size: nil) }

    func states(of url: URL, size: Int?) -> ResourceStates<Value> {
        ResourceStates(
            // Whether a file has changed isn't known without looking.
            valueInMemory: { url.isFileURL ? nil : self.valueInMemory(for: url, size: size) },
            load: { try await self.loaded(url, size) },
            observers: resources.progress, key: ResponseKey(TransportRequest(url)),
            partDecoder: { self.partDecoder(size) })
    }
}

// MARK: - The states of one request

/// The states of one resource, while it is looked up and fetched. See ``DecodedCache/states(of:)`` and ``ResourceCache/states(of:)``.
///
/// Each iteration is one request. The first state comes immediately: it is ``ResourceState/ready(_:from:)`` if the value is in memory. A
/// slow consumer skips states that have been replaced in the meantime, but always gets the last one. The sequence ends after the last
/// state.
///
/// - Cancellation: The sequence ends, and the request is cancelled. Releasing the iterator has the same effect.
public struct ResourceStates<Value: Sendable>: AsyncSequence, Sendable {
    /// The sequence doesn't throw, because an error is a state.
    public typealias Failure = Never

    let valueInMemory: @Sendable () -> Value?
    let load: @Sendable () async throws -> (Value, CachedResponse.Source)
    let observers: ProgressObservers
    let key: ResponseKey
    /// Returns a function that decodes the beginnings of one response, in order.
    var partDecoder: @Sendable () -> (@Sendable (Data) -> Value?)? = { nil }

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
            let arriving = states.partDecoder().map { ArrivingValue($0) { state.value = .arriving($0, $1) } }
            let observer = states.observers.add(states.key) { progress, body in
                // Parts that have been shown stay visible, with newer progress.
                state.update { state in
                    if case .arriving(let value, _) = state {
                        state = .arriving(value, progress)
                    } else {
                        state = .receiving(progress)
                    }
                }
                if let body { arriving?.note(body, progress) }
            }
            let last: ResourceState<Value>
            do {
                let (value, source) = try await states.load()
                last = .ready(value, from: source)
            } catch {
                last = .failed(error)
            }
            states.observers.remove(observer, states.key)
            await arriving?.end()
            if !Task.isCancelled { state.value = last }
            state.finish()
        }
    }

    deinit { task?.cancel() }
}

// MARK: - Progress

/// The closures to call while response bodies arrive.
final class ProgressObservers: Sendable {
    private struct State {
        var observers: [ResponseKey: [Int: @Sendable (ResourceProgress, Data?) -> Void]] = [:]
        var last = 0
    }

    private let state = Lock(State())

    /// Adds an observer. It also gets the bytes so far, unless the body is streaming. While it keeps them, the next bytes cost a copy.
    func add(_ key: ResponseKey, _ observer: @escaping @Sendable (ResourceProgress, Data?) -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            state.observers[key, default: [:]][state.last] = observer
            return state.last
        }
    }

    /// Removes an observer. A call that has already begun may still be running.
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

    func report(_ key: ResponseKey, received: Int64, of total: Int64?, _ body: Data?) {
        let observers = state.withLock { state in
            state.observers.isEmpty ? [] : state.observers[key].map { Array($0.values) } ?? []
        }
        for observer in observers { observer(ResourceProgress(receivedBytes: received, totalBytes: total), body) }
    }
}
