import SluiceCommands
import SluiceConcurrency

/// A console that records the output of a command.
final class RecordedConsole: Sendable {
    private let texts = Monitor<[Console.Stream: String]>([:])
    private let isTerminal: Bool

    init(isTerminal: Bool = false) {
        self.isTerminal = isTerminal
    }

    var console: Console {
        Console(isTerminal: isTerminal) { text, stream in
            self.texts.withState { $0[stream, default: ""] += text }
        }
    }

    var output: String { texts.state[.output, default: ""] }
    var error: String { texts.state[.error, default: ""] }
    var errorLines: [String] { error.split(separator: "\n").map(String.init) }

    /// Waits until `isReached` returns true for the output.
    func output(where isReached: @escaping @Sendable (String) -> Bool) async throws {
        try await texts.waitUnlessCancelled(where: { isReached($0[.output, default: ""]) })
    }

    /// Waits until the messages contain a text.
    func error(containing text: String) async throws {
        try await texts.waitUnlessCancelled(where: { $0[.error, default: ""].contains(text) })
    }
}
