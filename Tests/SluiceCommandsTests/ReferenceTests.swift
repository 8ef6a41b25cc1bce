import Foundation
import SluiceCommands
import Testing

@Suite struct `The reference in docs` {
    /// Returns a section of docs/cli.md, from its heading to the next one of the same level.
    private func section(_ heading: String) throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
        let reference = try String(contentsOf: root.appending(path: "docs/cli.md"), encoding: .utf8)
        return try #require(reference.components(separatedBy: "\n## ").first { $0.hasPrefix(heading + "\n") })
    }

    @Test(arguments: [
        "get", "verify", "show", "demo", "queue add", "queue list", "queue watch", "queue serve", "queue work",
        "queue limit", "queue copy", "cache stats",
        "cache list", "cache verify", "cache trim", "cache remove",
    ])
    func `the reference has the options of the help, and no others`(command: String) async throws {
        try await compare(command, withSection: "sluice \(command)")
    }

    @Test(arguments: ["pause", "resume", "cancel", "retry", "remove"])
    func `the reference describes the commands that change a queue in one section`(command: String) async throws {
        let isWaitingOnly = ["pause", "cancel"].contains(command)
        try await compare(
            "queue \(command)", withSection: "sluice queue pause, resume, cancel, retry, remove",
            without: isWaitingOnly ? [] : ["--waiting"])
    }

    private func compare(_ command: String, withSection heading: String, without missing: Set<String> = []) async throws
    {
        // Given
        let console = RecordedConsole()
        let arguments = command.split(separator: " ").map(String.init) + ["--help"]
        #expect(await SluiceProgram.run(arguments, console: console.console) == .success)
        #expect(!console.output.contains("ByteCount("), "A default is shown as Swift code.")
        let help = try #require(console.output.components(separatedBy: "\nOPTIONS:\n").last)
        // When
        let options = help.matches(of: /^ {2}(?:-\w, )?(--[a-z0-9.-]+)/.anchorsMatchLineEndings()).map { String($0.1) }
        let described = try section(heading)
            .matches(of: /^\| (?:`-\w`, )?`(--[a-z0-9.-]+)/.anchorsMatchLineEndings()).map { String($0.1) }
        // Then
        #expect(Set(described).subtracting(missing) == Set(options).subtracting(["--help", "--version"]))
        #expect(!described.isEmpty)
    }

    @Test func `the reference has every exit status`() throws {
        let section = try section("Exit status")
        for status in ExitStatus.allCases { #expect(section.contains("\n| \(status.rawValue) | "), "\(status)") }
    }
}
