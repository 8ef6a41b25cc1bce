import SluiceLock

/// Delivers requests to stop to a running command.
///
///     let (result, wasInterrupted) = await interruption.guarding { await work() }
///
/// The first request cancels the work, which then ends cleanly. The second request ends the process immediately. A request that
/// arrives before the work begins cancels the work from its first step.
///
/// In a process, requests are signals: see ``ProcessSignals``.
package final class Interruption: Sendable {
    /// The reactions of a part of a command to requests and signals. The thread that waits for signals calls these closures. They must be
    /// short and must not wait for anything but the terminal.
    struct Responses: Sendable {
        /// Tells the user that the command stops. Called for the first request.
        var stopping: @Sendable () -> Void = {}
        /// Restores the terminal. Called before the process ends or is suspended.
        var leaveTerminal: @Sendable () -> Void = {}
        /// Prepares the terminal again. Called when the process continues after it was suspended.
        var returnToTerminal: @Sendable () -> Void = {}
        /// The terminal has another size.
        var resized: @Sendable () -> Void = {}
    }

    private struct State {
        var isRequested = false
        var cancel: (@Sendable () -> Void)?
        var responses: [(id: Int, responses: Responses)] = []
        var lastID = 0
        var yielding = 0
    }

    private let state = Lock(State())
    private let endProcess: @Sendable () -> Void

    /// - Parameter endProcess: Called for the second request, after the terminal is restored. Doesn't return in a process.
    package init(endProcess: @escaping @Sendable () -> Void = { ProcessTerminal.exitImmediately(.interrupted) }) {
        self.endProcess = endProcess
    }

    var isRequested: Bool { state.withLock { $0.isRequested } }

    // MARK: The command's side

    /// Runs `work` in a task that the first request cancels, and returns its result and whether a request arrived.
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

    /// Runs `work` with responses to requests and signals. If calls are nested, the innermost responses are called first.
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

    /// Runs `work` and ignores Ctrl-C meanwhile, because another program on the terminal, such as a pager, handles it.
    func yieldingKeyboard<Value, Failure: Error>(
        during work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        state.withLock { $0.yielding += 1 }
        defer { state.withLock { $0.yielding -= 1 } }
        return try await work()
    }

    // MARK: The signal's side

    /// The first call asks the command to stop, and the second ends the process. With `isKeyboard`, the request is Ctrl-C, which every
    /// program on the terminal receives.
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

    package func leaveTerminal() {
        for response in responses { response.leaveTerminal() }
    }

    package func returnToTerminal() {
        for response in responses.reversed() { response.returnToTerminal() }
    }

    package func terminalWasResized() {
        for response in responses.reversed() { response.resized() }
    }

    private var responses: [Responses] {
        state.withLock { $0.responses.reversed().map(\.responses) }
    }
}

enum SignalHelp {
    static let text = """
        SIGNALS:
          SIGINT (Ctrl-C), SIGTERM, SIGHUP   stop cleanly, with status 7.
                                             A second signal stops immediately.
          SIGQUIT (Ctrl-\\)                   ends the program, with a core dump
          SIGTSTP (Ctrl-Z)                   suspends the program until SIGCONT
        Each restores the terminal. A signal that the parent process ignores, such as SIGHUP under nohup, stays ignored.
        """
}
