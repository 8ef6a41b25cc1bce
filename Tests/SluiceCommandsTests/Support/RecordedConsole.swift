import SluiceCommands
import Synchronization

/// Keeps what a command writes.
final class RecordedConsole: Sendable {
    private let texts = Mutex<[Console.Stream: String]>([:])
    private let isTerminal: Bool

    init(isTerminal: Bool = false) {
        self.isTerminal = isTerminal
    }

    var console: Console {
        Console(isTerminal: isTerminal) { text, stream in
            self.texts.withLock { $0[stream, default: ""] += text }
        }
    }

    var output: String { texts.withLock { $0[.output, default: ""] } }
    var error: String { texts.withLock { $0[.error, default: ""] } }
    var errorLines: [String] { error.split(separator: "\n").map(String.init) }
}
