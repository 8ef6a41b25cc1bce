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
