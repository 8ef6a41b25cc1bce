#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The terminal of this process, as the system knows it. This module's only platform file.
package enum ProcessTerminal {
    /// Whether a descriptor is a terminal (isatty(3)).
    static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// The size of the terminal behind a descriptor (TIOCGWINSZ of ioctl_tty(2)); nil if it has none.
    static func size(of descriptor: Int32) -> Console.Size? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return Console.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Makes a write to a pipe without a reader fail with EPIPE instead of ending the process (signal(7)).
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Raises the limit of open files as far as the process may, and returns it; nil if there is none (getrlimit(2)).
    ///
    /// The usual soft limit of 1,024 is meant for programs that call select(2).
    static func allowOpenFiles() -> Int? {
        #if os(Linux)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        // Darwin refuses more than OPEN_MAX, which is 10,240.
        let wanted = min(limit.rlim_max, 10_240)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = wanted
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return limit.rlim_cur >= rlim_t(Int32.max) ? nil : Int(limit.rlim_cur)
    }

    /// Ends the process now: no handlers, no flushing.
    package static func exitAtOnce(_ status: ExitStatus) -> Never {
        _exit(status.rawValue)
    }

    /// Shows the cursor again, with the last write of the process.
    static func restore(_ descriptor: Int32) {
        let sequence = Array(TerminalSequence.showCursor.utf8)
        _ = write(descriptor, sequence, sequence.count)
    }
}

/// The control sequences that the progress bars use (ECMA-48, and DECTCEM of the VT220).
enum TerminalSequence {
    static let hideCursor = "\u{1B}[?25l"
    static let showCursor = "\u{1B}[?25h"
    static let eraseToEndOfLine = "\u{1B}[K"
    static let eraseBelow = "\u{1B}[J"

    static func up(_ lines: Int) -> String {
        lines > 0 ? "\u{1B}[\(lines)A" : ""
    }
}
