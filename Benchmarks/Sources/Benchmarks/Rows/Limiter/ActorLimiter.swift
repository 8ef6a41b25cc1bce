import DequeModule

/// A peer: a simple limiter, built from an actor with a line of continuations.
actor ActorLimiter {
    private var free: Int
    private var line: Deque<CheckedContinuation<Void, Never>> = []

    init(concurrency: Int) {
        free = concurrency
    }

    nonisolated func run<Result>(_ body: () async -> Result) async -> Result {
        await acquire()
        let result = await body()
        await release()
        return result
    }

    var waiting: Int { line.count }

    private func acquire() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { line.append($0) }
        }
    }

    private func release() {
        if let next = line.popFirst() { next.resume() } else { free += 1 }
    }
}
