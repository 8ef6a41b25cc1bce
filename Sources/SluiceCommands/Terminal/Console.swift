package import NativeMark
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where a command writes, and what it may assume about it.
package struct Console: Sendable {
    /// The two streams of a process.
    package enum Stream: Int32, Sendable {
        /// What was asked for.
        case output = 1
        /// Messages and progress.
        case error = 2
    }

    /// Columns and rows of a terminal.
    package struct Size: Sendable, Hashable {
        package var columns: Int
        package var rows: Int

        package init(columns: Int, rows: Int) {
            self.columns = columns
            self.rows = rows
        }
    }

    /// Whether the error stream is a terminal that understands cursor movements.
    package var isTerminal: Bool
    /// Whether messages may be coloured.
    package var hasColor: Bool
    /// The terminal's size now; it changes when the user resizes the window.
    package var size: @Sendable () -> Size
    /// The terminal that the output goes to, if it is one.
    package var outputSize: @Sendable () -> Size? = { nil }
    /// The colours of the output.
    package var outputColor = TerminalRenderer.Color.none
    /// Shows what is longer than the output's screen.
    package var pager: Pager?
    private let sink: @Sendable (String, Stream) async -> Void

    /// A console that hands what is written to `sink`.
    package init(
        isTerminal: Bool = false, hasColor: Bool = false,
        size: @escaping @Sendable () -> Size = { Size(columns: 80, rows: 24) },
        sink: @escaping @Sendable (String, Stream) async -> Void
    ) {
        self.isTerminal = isTerminal
        self.hasColor = hasColor
        self.size = size
        self.sink = sink
    }

    /// Writes text as it is.
    package func write(_ text: String, to stream: Stream) async {
        await sink(text, stream)
    }

    /// Writes one line of message: whatever stands in it, it stays one line and moves no cursor.
    package func report(_ message: String) async {
        await write(Self.line(message), to: .error)
    }

    /// A message as a line, with the program's name.
    static func line(_ message: String) -> String {
        "sluice: \(TerminalText.sanitized(message))\n"
    }

    /// `text` in a colour or weight, where the console has them.
    func styled(_ text: String, _ style: TerminalStyle) -> String {
        hasColor ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// The few styles that messages use: parameters of SGR (ECMA-48, section 8.3.117).
enum TerminalStyle: String {
    case dim = "2"
    case green = "32"
    case cyan = "36"
}

extension Console {
    /// The console of this process: its standard output and standard error, written without blocking the pool.
    ///
    /// Colours follow the terminal, `TERM` and `NO_COLOR` (no-color.org).
    package static func standard() -> Console {
        let files = FileIO.shared
        let environment = ProcessInfo.processInfo.environment
        let isTerminal = ProcessTerminal.isTerminal(Stream.error.rawValue) && environment["TERM"] != "dumb"
        var console = Console(
            isTerminal: isTerminal,
            hasColor: isTerminal && (environment["NO_COLOR"] ?? "").isEmpty,
            size: { ProcessTerminal.size(of: Stream.error.rawValue) ?? Size(columns: 80, rows: 24) },
            sink: { text, stream in
                // Whoever reads may have gone (EPIPE): that is no reason to stop a download.
                let name = stream == .output ? "standard output" : "standard error"
                try? await files.write(Data(text.utf8), toDescriptor: stream.rawValue, name: name)
            })
        let output = Stream.output.rawValue
        if ProcessTerminal.isTerminal(output) {
            console.outputSize = { ProcessTerminal.size(of: output) ?? Size(columns: 80, rows: 24) }
            console.outputColor = .detect(environment: environment, isTerminal: true)
            console.pager = environment["TERM"] == "dumb" ? nil : Pager(environment: environment)
            console.pager?.takesInterrupts = true
        }
        return console
    }
}
