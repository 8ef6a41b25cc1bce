import ArgumentParser
import NativeMark

/// The `sluice` command line, without the process around it.
package enum SluiceProgram {
    /// Runs the command that the arguments name, and returns its exit status.
    ///
    /// Help and version texts go to the console's output, messages to its error stream. If the output can't be written, the command fails.
    /// The console's ``Interruption`` can stop the command from its first step.
    package static func run(_ arguments: [String], console: Console) async -> ExitStatus {
        let (status, wasInterrupted) = await console.interruption.guarding { await runCommand(arguments, console) }
        return await console.settle(status, wasInterrupted: wasInterrupted)
    }

    private static func runCommand(_ arguments: [String], _ console: Console) async -> ExitStatus {
        let command: any ParsableCommand
        do {
            command = try await SluiceCommand.asyncParseAsRoot(arguments)
        } catch {
            return await report(error, arguments, console)
        }
        do {
            if let command = command as? any ConsoleCommand { return try await command.run(console) }
            var command = command
            try command.run()
            return .success
        } catch let failure as CommandFailure {
            for line in failure.lines { await console.report(line) }
            return failure.status
        } catch is CancellationError {
            await console.report("Interrupted.")
            return .interrupted
        } catch  where SluiceCommand.exitCode(for: error) == .success {
            // `sluice help`, and `sluice` without arguments, throw the text that they print.
            return await report(error, arguments, console)
        } catch {
            await console.report("\(error)")
            return .other
        }
    }

    /// Prints the error, which is either the help or version text that the user asked for, or a mistake in the arguments.
    private static func report(_ error: any Error, _ arguments: [String], _ console: Console) async -> ExitStatus {
        guard SluiceCommand.exitCode(for: error) != .success else {
            await console.write(SluiceCommand.fullMessage(for: error) + "\n", to: .output)
            return .success
        }
        let message = SluiceCommand.message(for: error).split(separator: "\n").joined(separator: " ")
        // ArgumentParser ends some of its messages with a period or a question mark.
        let end = message.hasSuffix(".") || message.hasSuffix("?") ? "" : "."
        await console.report("\(message)\(end) See '\(commandName(in: arguments)) --help'.")
        return .usage
    }

    /// "sluice", "sluice get" or "sluice queue add": the command that the arguments name.
    private static func commandName(in arguments: [String]) -> String {
        var name = SluiceCommand._commandName
        var subcommands = SluiceCommand.configuration.subcommands
        for argument in arguments {
            guard let command = subcommands.first(where: { $0._commandName == argument }) else { continue }
            name += " \(argument)"
            subcommands = command.configuration.subcommands
        }
        return name
    }
}

struct SluiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "Downloads files concurrently, resumes them after an interruption, and shows Markdown.",
        discussion: """
            A file appears under its name only when it is complete.

            EXAMPLES:
              Try it without a network:
                sluice demo
              Download two files into a directory:
                sluice get -d music https://example.com/a.mp3 https://example.com/b.mp3
              Keep a queue that several programs share:
                sluice queue --help
              Read a Markdown file:
                sluice show README.md
            """,
        version: SluiceVersion.current,
        subcommands: [
            GetCommand.self, QueueCommand.self, CacheCommand.self, ShowCommand.self, DemoCommand.self,
        ])
}

enum SluiceVersion {
    static let current = "0.2.0"
}
