/// A gate at which tasks stop until the test opens it. The test can wait until tasks have arrived.
///
///     let gate = Gate()
///     async let result = limiter.run { await gate.pass() }
///     await gate.arrivals(1)      // the body runs
///     await gate.open()
public actor Gate {
    private struct Observer {
        var number: Int
        var wanted: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private var isOpen = false
    private var arrived = 0
    private var stopped: [CheckedContinuation<Void, Never>] = []
    private var observers: [Observer] = []
    private var numbers = 0

    /// Creates a closed gate.
    public init() {}

    /// Waits until the gate is open, even in a cancelled task.
    public func pass() async {
        arrived += 1
        release { $0.wanted <= arrived }
        if !isOpen { await withCheckedContinuation { stopped.append($0) } }
    }

    /// Opens the gate for all waiting and later tasks.
    public func open() {
        isOpen = true
        let released = stopped
        stopped = []
        for task in released { task.resume() }
    }

    /// Waits until this many tasks have arrived since the gate was created.
    ///
    /// Returns early in a cancelled task, because a test's time limit cancels its task and then waits for it to end.
    public func arrivals(_ wanted: Int) async {
        guard arrived < wanted else { return }
        numbers += 1
        let number = numbers
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume()
                } else {
                    observers.append(Observer(number: number, wanted: wanted, continuation: continuation))
                }
            }
        } onCancel: {
            Task { await self.dismiss(number) }
        }
    }

    private func dismiss(_ number: Int) {
        release { $0.number == number }
    }

    private func release(where isReleased: (Observer) -> Bool) {
        let released = observers.filter(isReleased)
        observers.removeAll(where: isReleased)
        for observer in released { observer.continuation.resume() }
    }
}
