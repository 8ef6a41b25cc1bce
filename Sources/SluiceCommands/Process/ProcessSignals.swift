#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The signals that `sluice` waits for, and what each does.
///
/// | signal | the first | the second |
/// |---|---|---|
/// | SIGINT (Ctrl-C), SIGTERM, SIGHUP | stops the command, which keeps what can be resumed and exits with 7 | exits with 7 immediately |
/// | SIGQUIT (Ctrl-\) | restores the terminal, then ends the process by this signal, with a core dump where the system writes one | |
/// | SIGTSTP (Ctrl-Z) | restores the terminal, then suspends the process; SIGCONT draws the progress again | |
///
/// A signal that the parent process ignores, as nohup(1) does with SIGHUP, stays ignored.
///
/// No handler does this. Every thread blocks the signals, so that they stay pending until the main thread takes one with sigwait(3).
/// This loses none, from the first line of the program on, and what it does needn't be safe in a handler (signal-safety(7)).
package struct ProcessSignals {
    private var waited: [Int32]
    private var set: sigset_t

    /// Blocks the signals for this thread and all that it starts. Call it before the process has another thread.
    package static func block() -> ProcessSignals {
        var set = sigset_t()
        sigemptyset(&set)
        let waited = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP].filter { !isIgnored($0) }
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

    /// Waits for signals on this thread for as long as the process lives, and passes them on.
    package func serve(_ interruption: Interruption) -> Never {
        var set = set
        while true {
            var number: Int32 = 0
            // With nothing to wait for, sigwait(3) would be an error.
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
            default: endingImmediately { interruption.request(isKeyboard: number == SIGINT) }
            }
        }
    }

    /// Runs `body`, during which a signal ends the process.
    ///
    /// What starts or cancels a task may need a thread, and Dispatch waits on this one for as long as the system has none.
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

    /// Does what the system does with a signal that no program waits for. Returns if the process continues.
    ///
    /// Swift's runtime has a handler for SIGQUIT, which takes seconds to print where each thread is.
    private static func takeDefault(_ number: Int32) {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        // To this thread, so that the signal is delivered before pthread_sigmask(3) returns (signal(7)).
        pthread_kill(pthread_self(), number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }
}
