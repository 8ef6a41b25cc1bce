package import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A program that shows long text a screen at a time: `$PAGER`, or less(1).
///
///     let isShown = await Pager(environment: environment)?.show(text) ?? false
///     if !isShown { await console.write(text, to: .output) }
///
/// The text is written as the pager takes it, and its end is waited for, without holding a thread: the process has one end of
/// a pipe, which closes with it.
package struct Pager: Sendable {
    /// The command line, for the shell.
    let command: String
    /// All of the pager's environment.
    let environment: [String: String]

    /// The pager that an environment names; nil if it wants none: `PAGER` is empty or `cat`.
    package init?(environment: [String: String]) {
        let named = environment["PAGER"]
        guard named != "", named != "cat" else { return nil }
        command = named ?? "less"
        // -F: not for what fits on the screen. -R: colours are shown. -X: the text stays on the screen.
        self.environment = environment.merging(environment["LESS"] == nil ? ["LESS": "FRX"] : [:]) { _, new in new }
    }

    /// Shows the text and returns when the pager has ended. False if there was none: nothing was shown then.
    ///
    /// - Cancellation: asks the pager to end (SIGTERM), and waits for that.
    package func show(_ text: String, using files: FileIO = .shared) async -> Bool {
        guard let child = ProcessTerminal.spawn(shell: command, environment: environment) else { return false }
        // A user who has seen enough quits, and nothing reads the rest (EPIPE).
        try? await files.write(Data(text.utf8), descriptor: child.input, name: "pager")
        ProcessTerminal.close(child.input)
        // Nothing is ever written there. It ends when the pager does.
        _ = try? await files.readToEnd(descriptor: child.life, name: "pager", limit: 1)
        ProcessTerminal.close(child.life)
        if Task.isCancelled { ProcessTerminal.terminate(child) }
        // 126 and 127: the shell found no such program, or one that cannot be run.
        return ![126, 127].contains(ProcessTerminal.reap(child))
    }
}
