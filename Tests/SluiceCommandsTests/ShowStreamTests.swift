import Foundation
import NativeMark
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

/// `sluice show` with the read end of a pipe as its input.
@Suite(.timeLimit(.minutes(15))) struct `sluice show of a pipe` {
    /// Runs the command on a pipe. `write` gets a function that writes to it; the pipe is closed when it returns.
    private func show(
        _ arguments: [String] = [], prepare: (inout Console) -> Void = { _ in },
        _ write: @escaping @Sendable (RecordedConsole, (String) -> Void) async throws -> Void
    ) async throws -> (status: ExitStatus, console: RecordedConsole) {
        let pipe = Pipe()
        let recorded = RecordedConsole()
        var console = recorded.console
        prepare(&console)
        let input = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        let prepared = console
        async let status = SluiceProgram.run(["show", input] + arguments, console: prepared)
        let output = pipe.fileHandleForWriting
        do {
            try await write(recorded) { try? output.write(contentsOf: Data($0.utf8)) }
        } catch {
            try? output.close()
            throw error
        }
        try output.close()
        let result = await status
        withExtendedLifetime(pipe) {}
        return (result, recorded)
    }

    /// Each block must be in the output before the next one is written: the writer waits for it.
    @Test(arguments: ["terminal", "text"]) func `each block is written before the next one arrives`(format: String)
        async throws
    {
        let shown = try await show(["--to", format]) { console, write in
            for (block, text) in [
                ("one\n\n", "one\n"), ("## two\n", "two\n───\n"), ("- three\n- four\n\nfi", "• four\n"),
                ("ve\n\n", "five\n"),
                ("```\nsix\n```\n", "six\n"), ("| a |\n|-|\n| seven |\n\n", "seven"),
            ] {
                write(block)
                try await console.output { $0.hasSuffix(text) || $0.contains(text) }
            }
            write("[one]: /late\n\nlast")
        }
        #expect(shown.status == .success && shown.console.error == "")
        #expect(shown.console.output.hasSuffix("\n\nlast\n"))
        #expect(!shown.console.output.contains("\u{1B}"))
    }

    @Test func `on a terminal, the open block is drawn as it grows`() async throws {
        let shown = try await show {
            $0.outputSize = { .init(columns: 40, rows: 10) }
            $0.isScreen = true
        } _: { console, write in
            write("Hello **wor")
            try await console.output { $0 == "Hello **wor\n" }
            write("ld**")
            try await console.output { $0.hasSuffix("Hello world\n") }
        }
        var terminal = FakeTerminal(columns: 40, rows: 10)
        terminal.write(shown.console.output)
        #expect(shown.status == .success && terminal.text == ["Hello world", ""])
    }

    @Test func `a pager isn't used for a text that is shown as it arrives`() async throws {
        let shown = try await show {
            $0.outputSize = { .init(columns: 40, rows: 4) }
            $0.pager = Pager(environment: ["PAGER": "cat > /dev/null", "PATH": "/usr/bin:/bin"])
        } _: { console, write in
            write("1\n\n")
            try await console.output { $0.contains("1\n") }
            for number in 2...20 { write("\(number)\n\n") }
        }
        #expect(shown.console.output == (1...20).map { "\($0)\n" }.joined(separator: "\n"))
    }

    @Test func `HTML waits for the end, because of definitions`() async throws {
        let shown = try await show(["--to", "html"]) { _, write in
            write("[a]\n\n")
            write("[a]: /b\n")
        }
        #expect(shown.console.output == "<p><a href=\"/b\">a</a></p>\n")
    }

    @Test func `an empty input shows nothing`() async throws {
        let shown = try await show { _, _ in }
        #expect(shown.status == .success && shown.console.output == "" && shown.console.error == "")
    }

    @Test func `of an input beyond the limit, the blocks that have ended are shown, and not the open one`() async throws
    {
        let pipe = Pipe()
        let recorded = RecordedConsole()
        let stream = ShowStream(
            descriptor: pipe.fileHandleForReading.fileDescriptor, name: "input", limit: 40, console: recorded.console,
            screen: { (nil, TerminalRenderer(width: 40)) }, makeTerminal: { TerminalStream(renderer: $0) })
        let running = Task { try await stream.run() }
        let output = pipe.fileHandleForWriting
        try output.write(contentsOf: Data("one\n\n".utf8))
        try await recorded.output { $0 == "one\n" }
        try output.write(contentsOf: Data(String(repeating: "two ", count: 20).utf8))
        let error = await #expect(throws: FileError.self) { try await running.value }
        #expect(error?.code == .limitExceeded && recorded.output == "one\n")
        try output.close()
    }

    @Test func `without a reader of the output, the input isn't read to its end`() async throws {
        // The writer never ends by itself.
        let end = try await ChildProcess.sluice(
            #"while printf 'text\n\n'; do :; done | "$@" | head -n 3"#, ["show", "-"])
        #expect(end.status == 0 && end.output == "text\n\ntext\n" && end.error == "", "\(end)")
    }

    @Test func `an interruption ends a text that stays open`() async throws {
        // The shell reads nothing: it keeps the pipe open until it has seen the end.
        let pipe = Pipe()
        let terminal = try PseudoTerminal(columns: 40, rows: 10, cell: (10, 20))
        try pipe.fileHandleForWriting.write(contentsOf: Data("one\n\nopen *te".utf8))
        let ended = try await terminal.run(
            try builtProgram("sluice"), ["show", "-"],
            environment: ["TERM": "xterm-256color", "PATH": "/usr/bin:/bin"],
            input: pipe.fileHandleForReading
        ) { process in
            try? await terminal.output(containing: "open *te")
            kill(process, SIGINT)
        }
        try pipe.fileHandleForWriting.close()
        #expect(ended.status == 7, "\(ended.error)")
        var screen = FakeTerminal(columns: 40, rows: 10)
        screen.write(terminal.output.replacing("\r\n", with: "\n"))
        #expect(screen.text == ["one", "", "open *te", ""] && screen.unknown == [], "\(screen.text)")
    }
}
