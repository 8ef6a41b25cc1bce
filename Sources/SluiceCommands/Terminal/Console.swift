package import NativeMark
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The output streams of a command and their capabilities.
package struct Console: Sendable {
    package enum Stream: Int32, Sendable {
        /// For results.
        case output = 1
        /// For messages and progress.
        case error = 2
    }

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

    /// The size of one character cell in pixels. The defaults are for terminals that don't report it.
    package struct CellSize: Sendable, Hashable {
        package var width = 8
        package var height = 16

        package init() {}
    }

    /// Whether the error stream is a terminal that supports cursor movement.
    package var isTerminal: Bool
    package var hasColor: Bool
    /// The current size of the error stream's terminal, which changes when the user resizes the window.
    package var size: @Sendable () -> Size
    /// The current size of the output's terminal; `nil` if the output isn't a terminal.
    package var outputSize: @Sendable () -> Size? = { nil }
    /// Whether the output is a terminal that supports cursor movement.
    package var canShowScreen: Bool { outputSize() != nil && isScreen }
    package var isScreen = false
    package var outputColor = TerminalRenderer.Color.none
    package var outputImages = TerminalRenderer.ImageProtocol.none
    package var outputHyperlinks = false
    var imageLimits = ImageLoader.Limits()
    /// The program that shows text that doesn't fit on the screen.
    package var pager: Pager?
    package var cacheDirectory: URL?
    /// The directory of the records of completed files; `nil` if there is none.
    package var stateDirectory: URL?
    /// The environment of the programs that the command starts.
    package var environment: [String: String] = [:]
    /// The configuration file; `nil` for none.
    package var configurationFile: URL?
    /// The user's home directory, for `--netrc`.
    package var homeDirectory: String?
    /// The limit of the cache in bytes.
    package var cacheLimit = CacheLocation.maximumDiskSize
    /// Stops the terminal from showing typed input until the returned closure is called; `nil` if there is no terminal.
    package var silenceInput: @Sendable () -> (@Sendable () -> Void)? = { nil }
    /// Makes typed keys readable one at a time, without showing them, until the returned closure is called; `nil` if there is no terminal.
    package var takeKeys: @Sendable () -> (@Sendable () -> Void)? = { nil }
    /// Returns typed bytes; empty at the end of the input.
    package var readKeys: @Sendable () async throws -> Data = { Data() }
    /// Writes a short text to a terminal immediately, from any thread. Used to restore the terminal when the process ends.
    package var emit: @Sendable (String, Stream) -> Void = { _, _ in }
    package var interruption = Interruption()
    let losses = ConsoleLosses()
    /// Writes bytes to the output.
    package var byteSink: @Sendable (Data) async throws -> Void = { _ in }
    private let sink: @Sendable (String, Stream) async throws -> Void

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

    /// Writes text unchanged, unless the task is cancelled. A failure affects the exit status of the command: see ``ConsoleLosses``.
    package func write(_ text: String, to stream: Stream) async {
        // A program that reads the output can't use the text after a gap.
        if stream == .output, losses.isLost(stream) { return }
        do {
            try await sink(text, stream)
        } catch {
            losses.note(error, of: stream)
        }
    }

    /// Writes a result that isn't text to the output, as ``write(_:to:)`` does.
    func write(_ bytes: Data) async {
        guard !losses.isLost(.output) else { return }
        do {
            try await byteSink(bytes)
        } catch {
            losses.note(error, of: .output)
        }
    }

    /// Writes a short text completely, even if the task is cancelled.
    func writeWhole(_ text: String, to stream: Stream) async {
        await Task { await write(text, to: stream) }.value
    }

    /// Writes a message as one line, even if the task is cancelled. Replaces control characters and removes secrets from URLs, because a
    /// message may repeat an argument or a library's text.
    package func report(_ message: String) async {
        await writeWhole(Self.line(message), to: .error)
    }

    static func line(_ message: String) -> String {
        "sluice: \(TerminalText.sanitized(Redaction().redacted(message)))\n"
    }

    func styled(_ text: String, _ style: TerminalStyle) -> String {
        hasColor ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// The styles of messages: parameters of SGR (ECMA-48, section 8.3.117).
enum TerminalStyle: String {
    case dim = "2"
    case green = "32"
    case cyan = "36"
}

// MARK: - The console of this process

extension Console {
    /// The console of this process. Its colors depend on the terminal, `TERM` and `NO_COLOR` (no-color.org).
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
        console.byteSink = {
            try await files.write($0, descriptor: Stream.output.rawValue, name: "standard output")
        }
        console.interruption = interruption
        console.emit = { ProcessTerminal.emit($0, to: $1.rawValue) }
        console.environment = environment
        console.cacheDirectory = cacheDirectory(environment: environment)
        console.stateDirectory = stateDirectory(environment: environment)
        console.configurationFile = configurationFile(environment: environment)
        console.homeDirectory = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let output = Stream.output.rawValue
        console.outputHyperlinks = TerminalRenderer.supportsHyperlinks(
            environment: environment, isTerminal: ProcessTerminal.isTerminal(output))
        if ProcessTerminal.isTerminal(output) {
            console.outputSize = { ProcessTerminal.size(of: output) ?? Size(columns: 80, rows: 24) }
            console.outputColor = .detect(environment: environment, isTerminal: true)
            console.outputImages = .detect(environment: environment, isTerminal: true)
            console.isScreen = environment["TERM"] != "dumb"
            console.silenceInput = { ProcessTerminal.silence(output) }
            if ProcessTerminal.isTerminal(0), environment["TERM"] != "dumb" {
                console.takeKeys = { ProcessTerminal.silence(0, byKey: true) }
                console.readKeys = { try await files.read(upToCount: 64, descriptor: 0, name: "standard input") }
            }
            console.pager = environment["TERM"] == "dumb" ? nil : Pager(environment: environment)
        }
        return console
    }

    /// Returns `sluice` in `XDG_CACHE_HOME`, or else in the home directory's `.cache` (on macOS, `Library/Caches`). Ignores a relative path
    /// (XDG Base Directory Specification).
    static func cacheDirectory(environment: [String: String]) -> URL? {
        #if os(macOS)
        let name = "/Library/Caches"
        #else
        let name = "/.cache"
        #endif
        let caches = environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + name : nil }
        return (caches ?? home).map { URL(filePath: $0 + "/sluice", directoryHint: .isDirectory) }
    }

    /// Returns `sluice` in `XDG_STATE_HOME`, or else in the home directory's `.local/state`. Ignores a relative path.
    static func stateDirectory(environment: [String: String]) -> URL? {
        let states = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.local/state" : nil }
        return (states ?? home).map { URL(filePath: $0 + "/sluice", directoryHint: .isDirectory) }
    }

    /// Returns `sluice/config` in `XDG_CONFIG_HOME`, or else in the home directory's `.config`. Ignores a relative path.
    static func configurationFile(environment: [String: String]) -> URL? {
        let named = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.config" : nil }
        return (named ?? home).map { URL(filePath: $0 + "/sluice/config", directoryHint: .notDirectory) }
    }
}

enum StateHelp {
    static let place = "sluice in $XDG_STATE_HOME or ~/.local/state"
}

// MARK: - Failed writes

/// The failed writes to the streams of a ``Console``.
///
/// | the write | standard output | standard error |
/// |---|---|---|
/// | failed, for example on a full disk | a message, and status 3 (by ``ExitStatus/precedence``) | status 3 instead of 0 |
/// | had no reader (EPIPE) | ignored, as in `sluice show … \| head` | ignored |
/// | was cut short by an interruption | status 7 instead of 0 | |
///
/// After a failure, nothing more is written to standard output, so that the output never has a gap.
final class ConsoleLosses: Sendable {
    private struct State {
        var failures: [Console.Stream: any Error] = [:]
        var readerless: Set<Console.Stream> = []
        var isCutShort = false
    }

    private let state = Lock(State())

    /// Keeps the first failure of each stream.
    func note(_ error: any Error, of stream: Console.Stream) {
        state.withLock { state in
            switch error {
            case is CancellationError: state.isCutShort = true
            case let error as FileError where error.code == .cancelled: state.isCutShort = true
            case let error as FileError where error.code == .brokenPipe: state.readerless.insert(stream)
            default: if state.failures[stream] == nil { state.failures[stream] = error }
            }
        }
    }

    func isLost(_ stream: Console.Stream) -> Bool {
        state.withLock { $0.failures[stream] != nil || $0.readerless.contains(stream) }
    }

    func failure(of stream: Console.Stream) -> (any Error)? {
        state.withLock { $0.failures[stream] }
    }

    var isCutShort: Bool { state.withLock { $0.isCutShort } }
}

extension Console {
    /// Reports failed writes. Returns the status of the command, which a failed write can change.
    func settle(_ status: ExitStatus, wasInterrupted: Bool) async -> ExitStatus {
        if let error = losses.failure(of: .output) {
            await report("\(error)")
            return status == .interrupted ? status : .worst(of: [status, .localFile])
        }
        guard status == .success else { return status }
        if wasInterrupted, losses.isCutShort {
            await report("Interrupted.")
            return .interrupted
        }
        return losses.failure(of: .error) == nil ? .success : .localFile
    }
}
