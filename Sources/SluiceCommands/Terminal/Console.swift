package import NativeMark
import SluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
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
        package var cell: CellSize

        package init(columns: Int, rows: Int, cell: CellSize = CellSize()) {
            self.columns = columns
            self.rows = rows
            self.cell = cell
        }
    }

    /// The pixels of one character of a terminal; the defaults are for those that do not tell.
    package struct CellSize: Sendable, Hashable {
        package var width = 8
        package var height = 16

        package init() {}
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
    /// The pictures that the output can show.
    package var outputImages = TerminalRenderer.ImageProtocol.none
    /// How much of a document's images is loaded, and how long they are waited for.
    var imageLimits = PictureLoader.Limits()
    /// Shows what is longer than the output's screen.
    package var pager: Pager?
    /// Where to keep what was fetched and can be fetched again; nil if there is no place for it.
    package var cacheFolder: URL?
    /// Keeps what is typed off the screen until the result is called; nil if nothing is typed on it.
    package var silenceInput: @Sendable () -> (@Sendable () -> Void)? = { nil }
    /// Writes a short text to a terminal now, from any thread: what leaves it in order when the process ends.
    package var emit: @Sendable (String, Stream) -> Void = { _, _ in }
    /// How the command is asked to stop.
    package var interruption = Interruption()
    let losses = ConsoleLosses()
    private let sink: @Sendable (String, Stream) async throws -> Void

    /// A console that hands what is written to `sink`, which throws what it could not write.
    package init(
        isTerminal: Bool = false, hasColor: Bool = false,
        size: @escaping @Sendable () -> Size = { Size(columns: 80, rows: 24) },
        sink: @escaping @Sendable (String, Stream) async throws -> Void
    ) {
        self.isTerminal = isTerminal
        self.hasColor = hasColor
        self.size = size
        self.sink = sink
    }

    /// Writes text as it is. A failure is noted, and the command ends with it: see ``ConsoleLosses``.
    ///
    /// - Cancellation: stops writing.
    package func write(_ text: String, to stream: Stream) async {
        // What follows a gap is of no use to a program that reads the output.
        if stream == .output, losses.isLost(stream) { return }
        do {
            try await sink(text, stream)
        } catch {
            losses.note(error, of: stream)
        }
    }

    /// Writes all of a short text, also when the task is cancelled.
    func writeWhole(_ text: String, to stream: Stream) async {
        await Task { await write(text, to: stream) }.value
    }

    /// Writes one line of message, also when the task is cancelled. It stays one line and moves no cursor, whatever is in it.
    package func report(_ message: String) async {
        await writeWhole(Self.line(message), to: .error)
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
    package static func standard(_ interruption: Interruption = Interruption()) -> Console {
        let files = FileIO.shared
        let environment = ProcessInfo.processInfo.environment
        let isTerminal = ProcessTerminal.isTerminal(Stream.error.rawValue) && environment["TERM"] != "dumb"
        var console = Console(
            isTerminal: isTerminal,
            hasColor: isTerminal && (environment["NO_COLOR"] ?? "").isEmpty,
            size: { ProcessTerminal.size(of: Stream.error.rawValue) ?? Size(columns: 80, rows: 24) },
            sink: { text, stream in
                let name = stream == .output ? "standard output" : "standard error"
                try await files.write(Data(text.utf8), descriptor: stream.rawValue, name: name)
            })
        console.interruption = interruption
        console.emit = { ProcessTerminal.emit($0, to: $1.rawValue) }
        console.cacheFolder = cacheFolder(environment: environment)
        let output = Stream.output.rawValue
        if ProcessTerminal.isTerminal(output) {
            console.outputSize = { ProcessTerminal.size(of: output) ?? Size(columns: 80, rows: 24) }
            console.outputColor = .detect(environment: environment, isTerminal: true)
            console.outputImages = .detect(environment: environment, isTerminal: true)
            console.silenceInput = { ProcessTerminal.silence(output) }
            console.pager = environment["TERM"] == "dumb" ? nil : Pager(environment: environment)
        }
        return console
    }

    /// The folder `sluice` in `XDG_CACHE_HOME`, or else in `.cache` at home (XDG Base Directory Specification: a relative path is
    /// as good as none).
    static func cacheFolder(environment: [String: String]) -> URL? {
        let caches = environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.cache" : nil }
        return (caches ?? home).map { URL(filePath: $0 + "/sluice", directoryHint: .isDirectory) }
    }
}
