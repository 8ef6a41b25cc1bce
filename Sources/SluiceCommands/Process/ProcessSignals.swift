#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The signals that `sluice` waits for.
///
/// | signal | the first | the second |
/// |---|---|---|
/// | SIGINT (Ctrl-C), SIGTERM, SIGHUP | stops the command, which keeps resumable files and exits with 7 | exits with 7 immediately |
/// | SIGQUIT (Ctrl-\) | restores the terminal, then ends the process by this signal, with a core dump if the system writes one | |
/// | SIGTSTP (Ctrl-Z) | restores the terminal, then suspends the process; SIGCONT draws the progress again | |
/// | SIGWINCH | draws a full screen again in the terminal's new size | the same |
///
/// A signal that the parent process ignores, as nohup(1) does with SIGHUP, stays ignored.
///
/// These actions don't run in signal handlers. All threads block the signals, which stay pending until the main thread takes one with
/// sigwait(3). No signal is lost, and the actions aren't restricted to async-signal-safe calls (signal-safety(7)).
package struct ProcessSignals {
    private var waited: [Int32]
    private var set: sigset_t

    /// Also blocks the signals for the threads that this thread starts. Call it before the process has another thread.
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

    /// Runs `body`. A signal that arrives meanwhile ends the process immediately.
    ///
    /// Starting or cancelling a task may need a new thread. If the system has none, Dispatch blocks this thread until it has.
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

    /// Returns if the process continues. The handler of Swift's runtime for SIGQUIT is replaced because it takes seconds to print the
    /// threads' backtraces.
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
