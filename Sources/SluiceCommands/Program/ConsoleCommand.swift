import ArgumentParser
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A command that writes to a given console and returns its exit status.
protocol ConsoleCommand: AsyncParsableCommand {
    func run(_ console: Console) async throws -> ExitStatus
}

extension ConsoleCommand {
    /// Always throws, because only ``SluiceProgram`` has the console that a command needs.
    func run() async throws {
        throw CommandFailure(.other, "Only SluiceProgram can run this command.")
    }
}

// MARK: - Failures

/// The messages to print and the status to exit with.
struct CommandFailure: Error {
    var status: ExitStatus
    /// One line for each problem.
    var lines: [String]

    init(_ status: ExitStatus, _ lines: String...) {
        self.init(status, lines: lines)
    }

    init(_ status: ExitStatus, lines: [String]) {
        self.status = status
        self.lines = lines
    }
}

// MARK: - Input and output

enum InputFile {
    /// Reads a file, or standard input if the name is `-`.
    ///
    /// - Throws: `FileError`, for example if the input is longer than `limit` bytes; `CancellationError`.
    static func read(_ name: String, limit: Int, using files: FileIO = .shared) async throws -> Data {
        name == "-"
            ? try await files.readToEnd(descriptor: 0, name: "standard input", maximumSize: limit)
            : try await Data(asyncContentsOf: URL(filePath: name), maximumSize: limit, using: files)
    }
}

/// The JSON that commands print: one line per document, with sorted keys and ISO 8601 times.
enum CommandJSON {
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
}
