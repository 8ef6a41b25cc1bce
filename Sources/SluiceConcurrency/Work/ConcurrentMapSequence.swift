extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Transforms the elements concurrently, and returns a sequence of the results.
    ///
    ///     for try await image in links.concurrentMap(concurrency: 8, { try await network.download($0) }) {
    ///         show(image)
    ///     }
    ///
    /// See ``ConcurrentMapSequence``. To turn one array into another, use `concurrentMap` of `Sequence`. If there are no results, use
    /// `concurrentForEach(concurrency:_:)`.
    ///
    /// - Parameters:
    ///   - concurrency: The largest number of transforms that run concurrently. Choose it by the limiting resource, which is seldom the
    ///     processor.
    ///   - ordered: Whether the results come in the order of the elements. Otherwise, they come in the order in which the transforms end.
    ///   - transform: Called in a child task, outside any actor, for each element. Write `{ @MainActor in … }` to choose an actor.
    /// - Precondition: `concurrency` is at least 1.
    public func concurrentMap<Output: Sendable>(
        concurrency: Int, ordered: Bool = true, _ transform: @escaping @Sendable (Element) async throws -> Output
    ) -> ConcurrentMapSequence<Self, Output> {
        ConcurrentMapSequence(self, concurrency: concurrency, isOrdered: ordered, transform)
    }
}

/// A sequence of results, computed concurrently from the elements of a base sequence. See `concurrentMap(concurrency:ordered:_:)`.
///
///     let images = links.concurrentMap(concurrency: 8, ordered: false) { try await network.download($0) }
///     for try await image in images { show(image) }
///
/// **Reading ahead.** At most `concurrency` elements are in flight: taken from the base, with results that the loop hasn't received. A slow
/// loop therefore stops the work, and results don't accumulate. In an ordered sequence, results wait for the results before them: if one
/// transform takes long, up to `concurrency - 1` others finish, and then no more start.
///
/// **Errors.** An error of the transform or of the base ends the sequence. In an ordered sequence, the loop first receives the results of
/// all elements before it, exactly as if the elements were transformed one after the other. In an unordered sequence, it throws the error
/// that came first, after the results that came before it. In both, no more transforms start, the running ones are cancelled when the loop
/// reaches the error, and the error is thrown when they have ended.
///
/// **Cancellation.** If the loop's task is cancelled, the running transforms are cancelled, and the loop throws `CancellationError` when
/// they have ended, even if results are available or the base simply ends, as `AsyncStream` does. Otherwise incomplete results would look
/// complete.
///
/// **Early end.** If the loop ends with `break`, `return` or an error, the running transforms are cancelled when the iterator is destroyed.
/// Nothing waits for them to end, because an iterator can't. If something must not happen after the loop, such as a write to a file that
/// the caller deletes, use `concurrentForEach(concurrency:_:)`, which ends when all its calls have ended.
///
/// **Task.** Work starts when the loop requests the first result. An unstructured task then iterates the base and is the parent of the
/// transforms' tasks. It has the priority and the task-local values of the loop's task, and the iterator owns it. Each loop over the
/// sequence starts its own work.
///
/// **Cost.** O(1) for each element. Memory is O(concurrency), regardless of the length of the base.
public struct ConcurrentMapSequence<Base: AsyncSequence & Sendable, Output: Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable {
    /// The result of a transform.
    public typealias Element = Output
    /// An error of the transform or of the base, or a `CancellationError`.
    public typealias Failure = any Error

    private let base: Base
    private let concurrency: Int
    private let isOrdered: Bool
    private let transform: @Sendable (Base.Element) async throws -> Output

    init(
        _ base: Base, concurrency: Int, isOrdered: Bool,
        _ transform: @escaping @Sendable (Base.Element) async throws -> Output
    ) {
        precondition(concurrency >= 1, "The concurrency must be at least 1; it is \(concurrency).")
        self.base = base
        self.concurrency = concurrency
        self.isOrdered = isOrdered
        self.transform = transform
    }

    /// Creates an iterator. It starts no work before its first `next()`.
    public func makeAsyncIterator() -> Iterator {
        let state = ConcurrentMapState<Output>(concurrency: concurrency, isOrdered: isOrdered)
        return Iterator(loop: ConcurrentMapLoop(base, state, transform))
    }

    /// An iterator over the results of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        let loop: ConcurrentMapLoop<Base, Output>

        /// Waits for the next result, and returns it; returns `nil` at the end, and after an error.
        ///
        /// - Throws: The error of the transform or of the base, once; `CancellationError` if the task is cancelled before the end.
        public mutating func next() async throws -> Output? {
            try await loop.next()
        }

        /// Waits for the next result in the isolation of `actor`; otherwise like `next()`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Output? {
            try await loop.next()
        }
    }
}

// MARK: - The state

/// The results that the loop hasn't received, and the number of elements that were taken from the base for them.
///
/// ```text
/// element    0  1  2  3  4  5
///            ✓  ✓  │  ✓  │           taken = 5, received = 2: with a concurrency of 3, no more are taken
///                  └ the loop waits for this result, if the sequence is ordered
/// ```
struct ConcurrentMapState<Output: Sendable>: Sendable {
    enum Event: Sendable {
        case result(Result<Output, any Error>)
        case end
    }

    private let concurrency: Int
    private let isOrdered: Bool
    private var taken = 0
    private var received = 0
    private var finished = 0
    /// Keyed by the position of the element if the sequence is ordered, otherwise by the order in which the transforms ended.
    private var results: [Int: Result<Output, any Error>] = [:]
    private var takesMore = true
    private var isAtEnd = false

    init(concurrency: Int, isOrdered: Bool) {
        self.concurrency = concurrency
        self.isOrdered = isOrdered
    }

    /// Whether the loop has received everything.
    var isComplete: Bool { isAtEnd && received == taken }

    // MARK: The loop

    /// The next result, or the end; `nil` if the loop must wait.
    mutating func receive() -> Event? {
        if let result = results.removeValue(forKey: received) {
            received += 1
            return .result(result)
        }
        return isComplete ? .end : nil
    }

    // MARK: The work

    /// Whether another element is taken from the base; `nil` if the work must wait for the loop.
    mutating func mayTake() -> Bool? {
        if !takesMore { return false }
        return taken - received < concurrency ? true : nil
    }

    /// Returns the position of an element that was taken from the base; `nil` if an error came in the meantime.
    mutating func take() -> Int? {
        guard takesMore else { return nil }
        defer { taken += 1 }
        return taken
    }

    mutating func finish(_ position: Int, _ result: Result<Output, any Error>) {
        results[isOrdered ? position : finished] = result
        finished += 1
        if case .failure = result { takesMore = false }
    }

    /// The base has ended, or failed after the elements that were taken.
    mutating func end(_ error: (any Error)? = nil) {
        if let error, let position = take() { finish(position, .failure(error)) }
        takesMore = false
        isAtEnd = true
    }
}

// MARK: - The loop

/// One loop's state, and the task that takes the elements and transforms them.
final class ConcurrentMapLoop<Base: AsyncSequence & Sendable, Output: Sendable> where Base.Element: Sendable {
    typealias Transform = @Sendable (Base.Element) async throws -> Output

    private let base: Base
    private let transform: Transform
    private let state: Monitor<ConcurrentMapState<Output>>
    private var work: Task<Void, Never>?
    private var hasEnded = false

    init(_ base: Base, _ state: ConcurrentMapState<Output>, _ transform: @escaping Transform) {
        self.base = base
        self.transform = transform
        self.state = Monitor(state)
    }

    deinit {
        work?.cancel()
    }

    func next() async throws -> Output? {
        if hasEnded { return nil }
        if work == nil { work = Self.start(base, state, transform) }
        do {
            if Task.isCancelled, !state.state.isComplete { throw CancellationError() }
            switch try await state.waitUnlessCancelled(claiming: { $0.receive() }) {
            case .result(let result): return try result.get()
            case .end: hasEnded = true
            }
        } catch {
            hasEnded = true
            work?.cancel()
            await work?.value
            throw error
        }
        await work?.value
        return nil
    }

    // MARK: The work

    private static func start(
        _ base: Base, _ state: Monitor<ConcurrentMapState<Output>>, _ transform: @escaping Transform
    ) -> Task<Void, Never> {
        Task {
            await withDiscardingTaskGroup { group in
                var iterator = base.makeAsyncIterator()
                do {
                    while try await state.waitUnlessCancelled(claiming: { $0.mayTake() }) {
                        guard let element = try await iterator.next(isolation: #isolation) else { break }
                        guard let position = state.withState({ $0.take() }) else { break }
                        group.addTask {
                            let result: Result<Output, any Error>
                            do { result = .success(try await transform(element)) } catch { result = .failure(error) }
                            state.withState { $0.finish(position, result) }
                        }
                    }
                    state.withState { $0.end() }
                } catch {
                    state.withState { $0.end(error) }
                }
            }
        }
    }
}
