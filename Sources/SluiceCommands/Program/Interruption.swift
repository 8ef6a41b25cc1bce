import SluiceConcurrency
import SluiceLock

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Delivers stop requests to a running command.
///
///     let (result, wasInterrupted) = await interruption.guarding { await work() }
///
/// The first request cancels the work, which then ends cleanly. The second request ends the process immediately. A request that
/// arrives before the work begins cancels the work from its first step.
///
/// In the `sluice` process, the requests are signals: see ``ProcessSignals``.
package final class Interruption: Sendable {
    /// How a part of a command responds to stop requests and signals. The thread that waits for signals calls these closures, so they must
    /// be short and must not wait for anything but the terminal.
    struct Responses: Sendable {
        /// Tells the user that the command is stopping. Called on the first request.
        var stopping: @Sendable () -> Void = {}
        /// Restores the terminal. Called before the process ends or is suspended.
        var leaveTerminal: @Sendable () -> Void = {}
        /// Sets up the terminal again. Called when a suspended process continues.
        var returnToTerminal: @Sendable () -> Void = {}
        /// Called when the size of the terminal has changed.
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

    /// - Parameter endProcess: Called on the second request, after the terminal is restored. The default ends the process.
    package init(endProcess: @escaping @Sendable () -> Void = { ProcessTerminal.exitImmediately(.interrupted) }) {
        self.endProcess = endProcess
    }

    var isRequested: Bool { state.withLock { $0.isRequested } }

    // MARK: The command's side

    /// Runs `work` in a task that the first request cancels. Returns the result, and whether a request arrived.
    func guarding<Result: Sendable>(
        _ work: @escaping @Sendable () async -> Result
    ) async -> (result: Result, wasInterrupted: Bool) {
        // The work begins when a request can cancel it.
        let (condition, begin) = Condition.makeCondition()
        let task = Task {
            await condition.wait()
            return await work()
        }
        let wasRequested = state.withLock { state in
            state.cancel = { task.cancel() }
            return state.isRequested
        }
        if wasRequested { task.cancel() }
        begin.signal()
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

    /// Runs `work` and ignores Ctrl-C in the meantime, because another program on the terminal, such as a pager, handles it.
    func yieldingKeyboard<Value, Failure: Error>(
        during work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        state.withLock { $0.yielding += 1 }
        defer { state.withLock { $0.yielding -= 1 } }
        return try await work()
    }

    // MARK: The signal's side

    /// Asks the command to stop on the first call, and ends the process on the second. `isKeyboard` means that the request is Ctrl-C, which
    /// every program on the terminal receives.
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

// MARK: - Signals

/// The signals that `sluice` waits for.
///
/// | signal | first | second |
/// |---|---|---|
/// | SIGINT (Ctrl-C), SIGTERM, SIGHUP | stops the command, which keeps resumable files and exits with 7 | exits with 7 immediately |
/// | SIGQUIT (Ctrl-\) | restores the terminal, then ends the process by this signal, with a core dump if the system writes one | |
/// | SIGTSTP (Ctrl-Z) | restores the terminal, then suspends the process; SIGCONT redraws the progress | |
/// | SIGWINCH | redraws a full screen at the new size of the terminal | the same |
///
/// A signal that the parent process ignores, as nohup(1) does with SIGHUP, stays ignored.
///
/// These actions don't run in signal handlers. All threads block the signals, which stay pending until the main thread takes one with
/// sigwait(3). No signal is lost, and the actions aren't restricted to async-signal-safe calls (signal-safety(7)).
package struct ProcessSignals {
    private var waited: [Int32]
    private var set: sigset_t

    /// Blocks the signals for this thread and for the threads that it starts. Call it before the process has another thread.
    package static func block() -> ProcessSignals {
        var set = sigset_t()
        sigemptyset(&set)
        // By default this signal is ignored, and some systems discard an ignored signal even if it is blocked (sigaction(2)).
        signal(SIGWINCH) { _ in }
        let waited = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH].filter { !isIgnored($0) }
        for signal in waited { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        return ProcessSignals(waited: waited, set: set)
    }

    /// Whether the process was started with this signal ignored (signal(7)).
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
        let handler = action.__sigaction_u.__sa_handler
        #else
        let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    package func serve(_ interruption: Interruption) -> Never {
        var set = set
        while true {
            var number: Int32 = 0
            // sigwait(3) fails for an empty set.
            guard !waited.isEmpty, sigwait(&set, &number) == 0 else {
                pause()
                continue
            }
            switch number {
            case SIGQUIT:
                interruption.leaveTerminal()
                Self.takeDefault(number)
            case SIGTSTP:
                interruption.leaveTerminal()
                Self.takeDefault(number)
                interruption.returnToTerminal()
            case SIGWINCH: interruption.terminalWasResized()
            default: endingImmediately { interruption.request(isKeyboard: number == SIGINT) }
            }
        }
    }

    /// Runs `body`. A signal that arrives in the meantime ends the process immediately.
    ///
    /// Starting or cancelling a task may need a new thread. If the system has no thread left, Dispatch blocks this thread until there is
    /// one.
    package func endingImmediately(_ body: () -> Void) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGINT, SIGTERM, SIGHUP] where waited.contains(number) {
            sigaddset(&set, number)
            signal(number) { _ in _exit(ExitStatus.interrupted.rawValue) }
        }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        body()
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Restores the default action of a signal and raises the signal. Returns if the process continues.
    ///
    /// For SIGQUIT, this replaces the handler of the Swift runtime, which would spend seconds on printing the threads' backtraces.
    private static func takeDefault(_ number: Int32) {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        // Sent to this thread, the signal is delivered before pthread_sigmask(3) returns (signal(7)).
        pthread_kill(pthread_self(), number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        pthread_sigmask(SIG_BLOCK, &set, nil)
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
