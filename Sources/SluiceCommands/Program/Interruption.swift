import SluiceLock

/// Requests to stop a command, and what the command does about them.
///
///     let (result, wasInterrupted) = await interruption.guarding { await work() }
///
/// The first request cancels the work, which then ends cleanly. The second request ends the process immediately. A request that
/// comes before the work begins cancels it from its first step.
///
/// In a process the requests are signals: see ``ProcessSignals``.
package final class Interruption: Sendable {
    /// What a part of a command does when a request or a signal comes while it runs.
    ///
    /// The thread that waits for signals calls these closures, so they must be short, and wait for nothing but the terminal.
    struct Responses: Sendable {
        /// The first request came: tells the user.
        var stopping: @Sendable () -> Void = {}
        /// The process ends or is suspended now: leaves the terminal in order.
        var leaveTerminal: @Sendable () -> Void = {}
        /// The process was suspended and continues.
        var returnToTerminal: @Sendable () -> Void = {}
    }

    private struct State {
        var isRequested = false
        var cancel: (@Sendable () -> Void)?
        var responses: [(id: Int, responses: Responses)] = []
        var lastID = 0
        /// How many parts of the command leave Ctrl-C to another program.
        var yielding = 0
    }

    private let state = Lock(State())
    private let endProcess: @Sendable () -> Void

    /// - Parameter endProcess: Called on the second request, after the terminal is left in order. Doesn't return in a process.
    package init(endProcess: @escaping @Sendable () -> Void = { ProcessTerminal.exitAtOnce(.interrupted) }) {
        self.endProcess = endProcess
    }

    /// Whether there was a request.
    var isRequested: Bool { state.withLock { $0.isRequested } }

    // MARK: The command's side

    /// Runs `work`, cancelled by the first request, and returns its result and whether there was a request.
    func guarding<Result: Sendable>(
        _ work: @escaping @Sendable () async -> Result
    ) async -> (result: Result, wasInterrupted: Bool) {
        let task = Task { await work() }
        let wasRequested = state.withLock { state in
            state.cancel = { task.cancel() }
            return state.isRequested
        }
        if wasRequested { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return state.withLock { state in
            state.cancel = nil
            return (result, state.isRequested)
        }
    }

    /// Runs `work`, which responds to requests and signals like this. The latest part to begin is the first to be called.
    func responding<Value, Failure: Error>(
        _ responses: Responses, during work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let id = state.withLock { state in
            state.lastID += 1
            state.responses.append((state.lastID, responses))
            return state.lastID
        }
        defer { state.withLock { $0.responses.removeAll { $0.id == id } } }
        return try await work()
    }

    /// Runs `work` while Ctrl-C is for another program on the same terminal, such as a pager.
    func yieldingKeyboard<Value, Failure: Error>(
        during work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        state.withLock { $0.yielding += 1 }
        defer { state.withLock { $0.yielding -= 1 } }
        return try await work()
    }

    // MARK: The side that asks

    /// Asks the command to stop; the second time, ends the process.
    ///
    /// - Parameter isKeyboard: Whether this is Ctrl-C, which goes to every program on the terminal.
    package func request(isKeyboard: Bool = false) {
        enum Next { case ignore, end, stop(cancel: (@Sendable () -> Void)?, [Responses]) }
        let next: Next = state.withLock { state in
            if isKeyboard, state.yielding > 0 { return .ignore }
            if state.isRequested { return .end }
            state.isRequested = true
            return .stop(cancel: state.cancel, state.responses.reversed().map(\.responses))
        }
        switch next {
        case .ignore: break
        case .end:
            leaveTerminal()
            endProcess()
        case .stop(let cancel, let responses):
            for response in responses { response.stopping() }
            cancel?()
        }
    }

    /// Leaves the terminal in order, as the process ends or is suspended.
    package func leaveTerminal() {
        for response in responses { response.leaveTerminal() }
    }

    /// Takes the terminal back after a suspension.
    package func returnToTerminal() {
        for response in responses.reversed() { response.returnToTerminal() }
    }

    private var responses: [Responses] {
        state.withLock { $0.responses.reversed().map(\.responses) }
    }
}

/// The lines of the help that explain signals.
enum SignalHelp {
    static let text = """
        SIGNALS:
          SIGINT (Ctrl-C), SIGTERM, SIGHUP   stop cleanly, with status 7; a second one stops immediately
          SIGQUIT (Ctrl-\\)                   ends the program, with a core dump where the system writes one
          SIGTSTP (Ctrl-Z)                   suspends the program until SIGCONT
        Each leaves the terminal in order. What the parent process ignores, as nohup does SIGHUP, stays ignored.
        """
}
