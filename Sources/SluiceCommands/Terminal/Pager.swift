package import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A program that shows long text a screen at a time: `$PAGER`, or less(1).
///
/// Writing the text and waiting for the pager block no thread.
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

    /// Returns whether the pager passes hyperlinks on to the terminal: less(1) from version 566 with -R, or any pager if `FORCE_HYPERLINK`
    /// isn't empty.
    ///
    /// Runs `less --version`, because older versions show hyperlinks as escape sequences.
    package func passesHyperlinks(using files: FileIO = .shared) async -> Bool {
        guard (environment["FORCE_HYPERLINK"] ?? "").isEmpty else { return true }
        let words = command.split(separator: " ", maxSplits: 1)
        guard let program = words.first, program.split(separator: "/").last == "less",
            ([environment["LESS"] ?? ""] + words.dropFirst().map(String.init)).contains(where: { $0.contains("R") }),
            let child = ProcessTerminal.spawn(
                shell: "\(program) --version", environment: environment, capturesOutput: true)
        else { return false }
        ProcessTerminal.close(child.input)
        let output = try? await files.readToEnd(descriptor: child.life, name: "less", maximumSize: 1 << 16)
        ProcessTerminal.close(child.life)
        if Task.isCancelled { ProcessTerminal.terminate(child) }
        guard ProcessTerminal.reap(child) == 0, let output else { return false }
        // less 590 (GNU regular expressions)
        let version = String(decoding: output, as: UTF8.self).split(separator: " ").dropFirst().first
        return version.flatMap { Int($0.prefix { ("0"..."9").contains($0) }) } ?? 0 >= 566
    }

    /// Shows the text, and returns when the pager has ended. Returns `false`, without showing anything, if the pager can't be run.
    /// Cancellation sends SIGTERM to the pager and waits until it ends.
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
