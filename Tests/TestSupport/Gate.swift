/// A place where tasks stop until the test lets them go, and where the test can wait until they have come.
///
///     let gate = Gate()
///     async let result = limiter.run { await gate.pass() }
///     await gate.arrivals(1)      // the body runs
///     await gate.open()
public actor Gate {
    private var isOpen = false
    private var arrived = 0
    private var stopped: [CheckedContinuation<Void, Never>] = []
    private var observers: [(wanted: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Creates a closed gate.
    public init() {}

    /// Stops until the gate is open, also in a cancelled task.
    public func pass() async {
        arrived += 1
        let ready = observers.filter { $0.wanted <= arrived }
        observers.removeAll { $0.wanted <= arrived }
        for observer in ready { observer.continuation.resume() }
        if !isOpen { await withCheckedContinuation { stopped.append($0) } }
    }

    /// Lets go all who have come and all who will.
    public func open() {
        isOpen = true
        let released = stopped
        stopped = []
        for task in released { task.resume() }
    }

    /// Waits until so many have come, counted from the start.
    public func arrivals(_ wanted: Int) async {
        if arrived < wanted { await withCheckedContinuation { observers.append((wanted, $0)) } }
    }
}
