import ArgumentParser
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The configuration file: options that each command gets before its arguments, if it has them.
///
/// ```text
/// # the downloads of this machine
/// limit-rate = 2M
/// proxy = http://proxy.example:8080
/// compressed
/// ```
///
/// Each line has the name of an option, without or with its hyphens, and its value after a space or an equals sign. Empty lines and lines
/// that begin with `#` are skipped.
struct ConfigurationFile: Sendable {
    /// An option in the file.
    struct Line: Sendable, Equatable {
        /// The option with its hyphens: `--limit-rate`.
        var option: String
        var value: String?
        var number: Int

        var arguments: [String] { [value.map { "\(option)=\($0)" } ?? option] }
    }

    /// The path, for messages.
    var path: String
    var lines: [Line]

    private static let maximumSize = 1 << 20

    /// Reads a file. Returns `nil` if there is none.
    ///
    /// - Throws: ``CommandFailure`` if it can't be read, or an option isn't one of `sluice`.
    static func read(_ file: URL, using files: FileIO = .shared) async throws -> ConfigurationFile? {
        let path = file.path(percentEncoded: false)
        do {
            let data = try await Data(asyncContentsOf: file, maximumSize: maximumSize, using: files)
            guard let text = String(validating: data, as: UTF8.self) else {
                throw CommandFailure(.usage, "\(path): The file isn't UTF-8 text. \(remedy)")
            }
            return try ConfigurationFile(text, path: path)
        } catch let error as FileError where [.notFound, .notDirectory].contains(error.code) {
            return nil
        } catch let error as FileError {
            throw CommandFailure(.localFile, "\(error) Or pass --no-config.")
        }
    }

    init(path: String, lines: [Line]) {
        self.path = path
        self.lines = lines
    }

    init(_ text: String, path: String) throws(CommandFailure) {
        self.path = path
        lines = []
        let known = CommandOptions.ofAllCommands
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let line = line.trimmingSpaces()
            if line.isEmpty || line.hasPrefix("#") { continue }
            let name = line.utf8.prefix { !" \t=".utf8.contains($0) }
            let rest = Substring(line.utf8[name.endIndex...]).trimmingSpaces()
            let value = rest.hasPrefix("=") ? rest.dropFirst().trimmingSpaces() : rest
            let option = "--" + Substring(name).drop { $0 == "-" }
            let place = "\(path):\(number)"
            guard let takesValue = known[option] else {
                throw CommandFailure(
                    .usage,
                    "\(place): No command has an option with this name. Use the long names in 'sluice get --help'.")
            }
            guard !value.utf8.contains(0) else {
                throw CommandFailure(.usage, "\(place): The value of \(option) has a zero byte. Remove it.")
            }
            let hasValue = !rest.isEmpty
            guard hasValue == takesValue else {
                let problem = takesValue ? "needs a value. Write it on the same line." : "takes no value. Leave it out."
                throw CommandFailure(.usage, "\(place): \(option) \(problem)")
            }
            lines.append(Line(option: option, value: hasValue ? String(value) : nil, number: number))
        }
    }

    static let remedy = "Correct it, or pass --no-config."

    // MARK: Use

    /// The option that ignores the file. It may come anywhere before `--`.
    static let ignoringOption = "--no-config"

    /// Returns the arguments with the file's options, after the name of the command and before its own arguments, which replace them.
    func applied(to arguments: [String]) -> (arguments: [String], lines: [Line]) {
        let command = CommandOptions(of: arguments)
        let used = lines.filter { command.options[$0.option] != nil }
        let inserted = used.flatMap(\.arguments)
        return (Array(arguments[..<command.depth]) + inserted + arguments[command.depth...], used)
    }

    /// Returns a message with the file's line in front if it is about an option that comes from the file.
    func naming(_ message: String, _ used: [Line], arguments: [String]) -> String {
        let shortNames = CommandOptions(of: arguments).shortNames
        let line = used.last { line in
            let names = [line.option, shortNames[line.option]].compactMap { $0 }
            let isReplaced = arguments.contains { argument in
                argument == line.option || argument.hasPrefix(line.option + "=")
                    || shortNames[line.option].map(argument.hasPrefix) ?? false
            }
            return !isReplaced
                && names.contains { message == $0 || message.hasPrefix("\($0) ") || message.hasPrefix("\($0):") }
        }
        return line.map { "\(path):\($0.number): \(message)" } ?? message
    }
}

// MARK: - The options of the commands

/// The long options of a command, from ArgumentParser's description of the commands.
struct CommandOptions {
    /// Whether each option takes a value.
    var options: [String: Bool] = [:]
    /// The short name of each option that has one.
    var shortNames: [String: String] = [:]
    /// The number of arguments that name the command: 2 for `queue work`.
    var depth = 0

    private struct Description: Decodable, Sendable {
        struct Argument: Decodable, Sendable {
            struct Name: Decodable, Sendable {
                var kind: String
                var name: String
            }

            var kind: String
            var names: [Name]?
        }

        var commandName: String
        var arguments: [Argument]?
        var subcommands: [Description]?

        var options: [String: Bool] {
            var found: [String: Bool] = [:]
            for argument in arguments ?? [] where ["option", "flag"].contains(argument.kind) {
                for name in argument.names ?? [] where name.kind == "long" {
                    found["--\(name.name)"] = argument.kind == "option"
                }
            }
            for name in ["--help", "--version", ConfigurationFile.ignoringOption] { found[name] = nil }
            return found
        }

        var shortNames: [String: String] {
            (arguments ?? []).reduce(into: [:]) { found, argument in
                let short = argument.names?.first { $0.kind == "short" }
                for name in argument.names ?? [] where name.kind == "long" {
                    if let short { found["--\(name.name)"] = "-\(short.name)" }
                }
            }
        }

        var allOptions: [String: Bool] {
            (subcommands ?? []).reduce(into: options) { found, next in found.merge(next.allOptions) { $0 || $1 } }
        }
    }

    private struct Tool: Decodable {
        var command: Description
    }

    // Describing all commands takes milliseconds.
    private static let root = try? JSONDecoder().decode(Tool.self, from: Data(SluiceCommand._dumpHelp().utf8)).command

    /// The options of all commands together.
    static let ofAllCommands: [String: Bool] = root?.allOptions ?? [:]

    /// Finds the command that the first arguments name.
    init(of arguments: [String]) {
        guard var command = Self.root else { return }
        for argument in arguments {
            guard let next = command.subcommands?.first(where: { $0.commandName == argument }) else { break }
            command = next
            depth += 1
        }
        options = command.options
        shortNames = command.shortNames
    }
}
