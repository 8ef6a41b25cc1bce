import ArgumentParser
import NativeMark

/// The command line `sluice`, apart from the process around it.
///
///     let status = await SluiceProgram.run(["get", url], console: console)
package enum SluiceProgram {
    /// Parses the arguments, carries out the command, and returns how to exit.
    ///
    /// What a person asked to read (help, the version) goes to the console's output, every message to its error stream. Output
    /// that could not be written is a failure, too.
    ///
    /// The console's ``Interruption`` stops the command from its first step on.
    package static func run(_ arguments: [String], console: Console) async -> ExitStatus {
        let (status, wasInterrupted) = await console.interruption.guarding { await carryOut(arguments, console) }
        return await console.settle(status, wasInterrupted: wasInterrupted)
    }

    private static func carryOut(_ arguments: [String], _ console: Console) async -> ExitStatus {
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
            await console.report("interrupted")
            return .interrupted
        } catch  where SluiceCommand.exitCode(for: error) == .success {
            // `sluice help` and `sluice` alone run by throwing what they print.
            return await report(error, arguments, console)
        } catch {
            await console.report("\(error)")
            return .other
        }
    }

    /// What the argument parser throws: a help or version text that was asked for, or a mistake.
    private static func report(_ error: any Error, _ arguments: [String], _ console: Console) async -> ExitStatus {
        guard SluiceCommand.exitCode(for: error) != .success else {
            await console.write(SluiceCommand.fullMessage(for: error) + "\n", to: .output)
            return .success
        }
        let message = SluiceCommand.message(for: error).split(separator: "\n").joined(separator: " ")
        let named = SluiceCommand.configuration.subcommands.map { $0._commandName }
        let command = arguments.first(where: named.contains).map { "sluice \($0)" } ?? "sluice"
        await console.report("\(message); see '\(command) --help'")
        return .usage
    }
}

/// A command that writes to a console that it is given, and says itself how it ended.
protocol ConsoleCommand: AsyncParsableCommand {
    func run(_ console: Console) async throws -> ExitStatus
}

extension ConsoleCommand {
    /// Only ``SluiceProgram`` runs commands: it has the console.
    func run() async throws {
        throw CommandFailure(.other, "this command is run by SluiceProgram")
    }
}

/// The root of the commands.
struct SluiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "Downloads files, many at a time, and never leaves half a file under its name.",
        discussion: """
            Try it without a network:
              sluice demo

            Fetch three files at a time into a folder:
              sluice get -j 3 -d music https://example.com/a.mp3 https://example.com/b.mp3

            Read a Markdown file:
              sluice show README.md
            """,
        version: SluiceVersion.current,
        subcommands: [GetCommand.self, ShowCommand.self, DemoCommand.self])
}

/// The version that `sluice --version` prints.
enum SluiceVersion {
    static let current = "0.1.0"
}
