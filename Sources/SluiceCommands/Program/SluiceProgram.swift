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

    private static func runCommand(_ given: [String], _ console: Console) async -> ExitStatus {
        var arguments = given
        let ignoring = arguments.prefix { $0 != "--" }.firstIndex(of: ConfigurationFile.ignoringOption)
        if let ignoring { arguments.remove(at: ignoring) }
        let file: ConfigurationFile?
        do {
            file = ignoring == nil ? try await configuration(for: arguments, console) : nil
        } catch let failure as CommandFailure {
            for line in failure.lines { await console.report(line) }
            return failure.status
        } catch {
            return .interrupted
        }
        let (all, used) = file?.applied(to: arguments) ?? (arguments, [])
        let command: any ParsableCommand
        do {
            command = try await SluiceCommand.asyncParseAsRoot(all)
        } catch {
            guard let file, let line = await faultyLine(of: file, used, arguments) else {
                return await report(error, arguments, console)
            }
            await console.report("\(file.path):\(line.number): \(message(of: error)) \(ConfigurationFile.remedy)")
            return .usage
        }
        do {
            if let command = command as? any ConsoleCommand { return try await command.run(console) }
            var command = command
            try command.run()
            return .success
        } catch let failure as CommandFailure {
            for line in failure.lines { await console.report(file?.naming(line, used, arguments: arguments) ?? line) }
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

    /// Returns the configuration file, unless the arguments ask for help or the like, which must work with any file.
    private static func configuration(
        for arguments: [String], _ console: Console
    ) async throws -> ConfigurationFile? {
        let asksForHelp = arguments.contains { argument in
            ["-h", "--help", "--version", "help"].contains(argument)
                || argument.hasPrefix("--generate-completion-script")
        }
        guard let file = console.configurationFile, !asksForHelp, !arguments.isEmpty else { return nil }
        return try await ConfigurationFile.read(file)
    }

    /// Returns the line of the file that ArgumentParser rejects; `nil` if it rejects the arguments even without the file.
    private static func faultyLine(
        of file: ConfigurationFile, _ used: [ConfigurationFile.Line], _ arguments: [String]
    ) async -> ConfigurationFile.Line? {
        func isValid(_ lines: [ConfigurationFile.Line]) async -> Bool {
            let arguments = ConfigurationFile(path: file.path, lines: lines).applied(to: arguments).arguments
            return (try? await SluiceCommand.asyncParseAsRoot(arguments)) != nil
        }
        guard await isValid([]) else { return nil }
        for line in used where await !isValid([line]) { return line }
        return nil
    }

    /// Prints the error, which is either the help or version text that the user asked for, or a mistake in the arguments.
    private static func report(_ error: any Error, _ arguments: [String], _ console: Console) async -> ExitStatus {
        guard SluiceCommand.exitCode(for: error) != .success else {
            await console.write(SluiceCommand.fullMessage(for: error) + "\n", to: .output)
            return .success
        }
        await console.report("\(message(of: error)) See '\(commandName(in: arguments)) --help'.")
        return .usage
    }

    private static func message(of error: any Error) -> String {
        let message = SluiceCommand.message(for: error).split(separator: "\n").joined(separator: " ")
        // ArgumentParser ends some of its messages with a period or a question mark.
        return message.hasSuffix(".") || message.hasSuffix("?") ? message : message + "."
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

            THE CONFIGURATION FILE is sluice/config in $XDG_CONFIG_HOME, or else in ~/.config. It has a long option in each line, \
            such as 'limit-rate = 2M' or 'compressed'. Each command gets those that it knows, before its arguments, so an argument \
            replaces the file's value. Options that can be repeated are added. Lines that begin with # are skipped.
            """,
        version: SluiceVersion.current,
        subcommands: [
            GetCommand.self, QueueCommand.self, VerifyCommand.self, CacheCommand.self, ShowCommand.self,
            DemoCommand.self,
        ])

    // SluiceProgram takes this option out of the arguments, wherever it is. The declaration is for the help and the completions.
    @Flag(help: "Ignore the configuration file. The option may also follow a command.")
    var noConfig = false
}

enum SluiceVersion {
    static let current = "0.2.0"
}
