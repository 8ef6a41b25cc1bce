import Synchronization

/// Many tasks that all wait for the same thing.
struct Crowd: Sendable {
    /// Waits until released, and returns 1.
    let wait: @Sendable () async -> Int
    /// Returns the number of waiting tasks; nil if a release also resumes tasks that start to wait later.
    let count: (@Sendable () -> Int)?
    /// Resumes all waiting tasks, or the first one if each task then resumes the next.
    let release: @Sendable () -> Void

    init(
        wait: @escaping @Sendable () async -> Int, count: (@Sendable () -> Int)? = nil,
        release: @escaping @Sendable () -> Void
    ) {
        self.wait = wait
        self.count = count
        self.release = release
    }

    /// Raw continuations, resumed together: the lowest possible cost of waiting.
    static func allTogether() -> Crowd {
        let line = RawLine()
        return Crowd {
            await line.wait()
            return 1
        } count: {
            line.count
        } release: {
            line.resumeAll()
        }
    }

    /// The same as ``allTogether()``, for tasks with a cancellation handler.
    static func cancellable() -> Crowd {
        let line = RawLine()
        return Crowd {
            await withTaskCancellationHandler {
                await line.wait()
                return 1
            } onCancel: {
            }
        } count: {
            line.count
        } release: {
            line.resumeAll()
        }
    }

    /// Raw continuations; each task resumes the next.
    static func handingOver() -> Crowd {
        let line = RawLine()
        return Crowd {
            await line.wait()
            line.resumeNext()
            return 1
        } count: {
            line.count
        } release: {
            line.resumeNext()
        }
    }
}

/// Makes `count` tasks wait in a crowd, and measures the time from their release until they have ended. Repeats this until about `total`
/// tasks have waited.
func drain(_ count: Int, total: Int, _ make: () -> Crowd) async throws -> Sample {
    var sum = Sample(operations: 0, seconds: 0, processorSeconds: 0)
    while sum.operations < total {
        let crowd = make()
        try await suspended(count, in: crowd) { group in
            let sample = try await timed(count, expecting: count) {
                crowd.release()
                var sum = 0
                while let one = try await group.next() { sum += one }
                return sum
            }
            sum.operations += count
            sum.seconds += sample.seconds
            sum.processorSeconds += sample.processorSeconds
        }
    }
    return sum
}

/// Measures the memory of `count` tasks that wait in a crowd, including the tasks themselves; see `Unit.bytesEach`.
private func memory(of count: Int, _ make: () -> Crowd) async throws -> Sample {
    let crowd = make()
    let before = Memory.now.allocated
    if before == 0 { throw RowFailure.missing("a malloc that reports the allocated memory") }
    return try await timedBytes(count) {
        var bytes = 0
        try await suspended(count, in: crowd) { group in
            bytes = Memory.now.allocated - before
            crowd.release()
            var sum = 0
            while let one = try await group.next() { sum += one }
            try check(sum, count)
        }
        return bytes
    }
}

/// Returns a row that compares the memory of a waiting task with the memory of a task in a raw continuation.
func memoryRow(_ name: String, cancellable: Bool = false, _ make: @escaping (_ count: Int) -> Crowd) -> Row {
    let peer = cancellable ? "continuations with a cancellation handler" : "continuations"
    return Row(name, .bytesEach, against: peer) { stage, rounds in
        let count = stage.count(100_000, quick: 20_000)
        try await rounds(
            { try await memory(of: count) { make(count) } },
            { try await memory(of: count) { cancellable ? .cancellable() : .allTogether() } })
    }
}

private func timedBytes(_ count: Int, _ body: () async throws -> Int) async throws -> Sample {
    var bytes = 0
    var sample = try await timed(count, expecting: count) {
        bytes = try await body()
        return count
    }
    sample.bytes = bytes
    return sample
}

/// Calls `body` while `count` tasks wait.
private func suspended(
    _ count: Int, in crowd: Crowd, _ body: (inout ThrowingTaskGroup<Int, any Error>) async throws -> Void
) async throws {
    let arrivals = Arrivals()
    try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<count {
            group.addTask {
                arrivals.note()
                return await crowd.wait()
            }
        }
        await arrivals.wait(for: count)
        // The last tasks have arrived, but may not be in line yet.
        if let waiting = crowd.count { while waiting() < count { await Task.yield() } }
        try await Task.sleep(for: .microseconds(200))
        try await body(&group)
    }
}

/// Counts the tasks that have arrived.
final class Arrivals: Sendable {
    private let count = Atomic(0)

    func note() { count.add(1, ordering: .relaxed) }

    func wait(for wanted: Int) async {
        while count.load(ordering: .relaxed) < wanted { await Task.yield() }
    }
}

/// Continuations in order of arrival, behind a lock.
private final class RawLine: Sendable {
    private struct State {
        var line: [UnsafeContinuation<Void, Never>] = []
        var resumed = 0
    }
    private let state = Mutex(State())

    func wait() async {
        await withUnsafeContinuation { continuation in state.withLock { $0.line.append(continuation) } }
    }

    var count: Int { state.withLock { $0.line.count } }

    func resumeNext() {
        let next = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            guard state.resumed < state.line.count else { return nil }
            defer { state.resumed += 1 }
            return state.line[state.resumed]
        }
        next?.resume()
    }

    func resumeAll() {
        for continuation in state.withLock({ $0.line }) { continuation.resume() }
    }
}
