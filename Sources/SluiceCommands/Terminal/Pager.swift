package import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A program that shows long text a screen at a time: `$PAGER`, or less(1).
///
/// No thread is blocked while the text is written and while the pager runs.
package struct Pager: Sendable {
    let command: String
    let environment: [String: String]

    /// Creates the pager that `PAGER` names, by default less(1); `nil` if `PAGER` is empty or `cat`.
    package init?(environment: [String: String]) {
        let named = environment["PAGER"]
        guard named != "", named != "cat" else { return nil }
        command = named ?? "less"
        // -F: exit if the text fits on the screen. -R: show colors. -X: leave the text on the screen.
        self.environment = environment.merging(environment["LESS"] == nil ? ["LESS": "FRX"] : [:]) { _, new in new }
    }

    /// Returns when the pager has ended; `false`, without showing anything, if the pager can't be run. Cancellation asks the pager to end
    /// (SIGTERM) and waits for its end.
    package func show(_ text: String, using files: FileIO = .shared) async -> Bool {
        guard let child = ProcessTerminal.spawn(shell: command, environment: environment) else { return false }
        // Fails with EPIPE if the user quits the pager before the end of the text.
        try? await files.write(Data(text.utf8), descriptor: child.input, name: "pager")
        ProcessTerminal.close(child.input)
        // Nothing is written to this pipe. It ends when the pager does.
        _ = try? await files.readToEnd(descriptor: child.life, name: "pager", maximumSize: 1)
        ProcessTerminal.close(child.life)
        if Task.isCancelled { ProcessTerminal.terminate(child) }
        // The shell exits with 127 if it doesn't find the program, and with 126 if it can't run it.
        return ![126, 127].contains(ProcessTerminal.reap(child))
    }
}
