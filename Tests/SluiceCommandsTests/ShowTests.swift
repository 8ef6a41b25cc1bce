import Foundation
import NativeMark
import SluiceCommands
import SluiceFiles
import Testing

@Suite(.timeLimit(.minutes(15))) struct `sluice show` {
    static let markdown = "# Songs\n\n*One*, **two**; see [all](https://example.com/all)\n\n- a\n- b\n"

    /// Runs it on a file with this content, and returns what it wrote.
    private func show(
        _ markdown: String = markdown, _ arguments: [String] = [], files: [String: String] = [:],
        _ prepare: (inout Console) -> Void = { _ in }
    ) async throws -> (status: ExitStatus, output: String, error: String) {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let file = directory.appending(path: "notes.md")
            try await Data(markdown.utf8).asyncWrite(to: file)
            for (name, text) in files { try await Data(text.utf8).asyncWrite(to: directory.appending(path: name)) }
            let recorded = RecordedConsole()
            var console = recorded.console
            prepare(&console)
            let arguments = arguments.map { $0.replacing("{dir}", with: directory.path) }
            let status = await SluiceProgram.run(["show", file.path] + arguments, console: console)
            return (status, recorded.output, recorded.error)
        }
    }

    @Test func `writes HTML`() async throws {
        let shown = try await show(Self.markdown, ["--to", "html"])
        #expect(shown.status == .success && shown.error == "")
        #expect(shown.output == HTMLRenderer().render(Document(Self.markdown)))
        #expect(shown.output.contains("<em>One</em>, <strong>two</strong>"))
    }

    @Test func `writes text without any escape, and no colors where there is no terminal`() async throws {
        for arguments in [["--to", "text"], []] {
            let shown = try await show(Self.markdown, arguments)
            #expect(shown.status == .success)
            #expect(shown.output.contains("Songs") && shown.output.contains("https://example.com/all"))
            #expect(!shown.output.contains("\u{1B}") && shown.output.hasSuffix("\n"))
        }
    }

    @Test func `colors and hyperlinks follow the terminal`() async throws {
        let few = try await show { $0.outputColor = .ansi16 }
        #expect(few.output.contains("\u{1B}[") && !few.output.contains("\u{1B}]8;"))
        let all = try await show { $0.outputColor = .full }
        #expect(all.output.contains("\u{1B}]8;"))
    }

    @Test(arguments: [20, 40, 80]) func `no line is wider than asked for`(width: Int) async throws {
        let words = String(repeating: "words go on and on ", count: 30)
        let shown = try await show(words, ["--width", "\(width)"])
        #expect(shown.output.split(separator: "\n").allSatisfy { $0.count <= width })
        #expect(shown.output.split(separator: "\n").contains { $0.count > width - 6 })
    }

    @Test func `a document cannot control the terminal`() async throws {
        let shown = try await show("a \u{1B}[31m `\u{9B}31m` &#27;]0;title&#7;", []) { $0.outputColor = .none }
        #expect(!shown.output.unicodeScalars.contains { $0.value < 32 && $0 != "\n" || (128..<160).contains($0.value) })
    }

    @Test func `a style sheet is used`() async throws {
        let sheet = #"{ "inlines": { "emphasis": { "bold": true, "italic": false } } }"#
        let plain = try await show("*One*", []) { $0.outputColor = .ansi16 }
        let styled = try await show("*One*", ["--style", "{dir}/s.json"], files: ["s.json": sheet]) {
            $0.outputColor = .ansi16
        }
        #expect(styled.status == .success && styled.output != plain.output)
    }

    @Test func `a style sheet of the library has a name`() async throws {
        let named = try await show("`a`", ["--style", "github"]) { $0.outputColor = .full }
        let plain = try await show("`a`", ["--style", "default"]) { $0.outputColor = .full }
        #expect(named.status == .success && plain.status == .success)
        // The background of code on GitHub, in the dark.
        #expect(named.output.contains("48;2;21;27;35") && !plain.output.contains("48;2;21;27;35"))
    }

    @Test func `HTML with a style sheet is a page with its rules`() async throws {
        let sheet = #"{ "inlines": { "emphasis": { "fontFamily": "A</style><script>" } } }"#
        let shown = try await show(
            "# a < b\n\n*c*", ["--to", "html", "--style", "{dir}/s.json"], files: ["s.json": sheet])
        #expect(shown.status == .success)
        #expect(shown.output.hasPrefix("<!DOCTYPE html>\n") && shown.output.hasSuffix("</html>\n"))
        #expect(shown.output.contains("<title>a &lt; b</title>") && !shown.output.contains("<script"))
        #expect(shown.output.contains(".nativemark em {"))
        let untitled = try await show("a", ["--to", "html", "--style", "github"])
        #expect(untitled.output.contains("<title>notes.md</title>"))
    }

    @Test func `text has the markers of a style sheet`() async throws {
        let sheet = #"{ "blocks": { "bulletList": { "marker": { "bullets": ["+"] } } } }"#
        let shown = try await show("- a", ["--to", "text", "--style", "{dir}/s.json"], files: ["s.json": sheet])
        #expect(shown.output == "+ a\n")
    }

    @Test(arguments: [
        (["--width", "0"], "", ExitStatus.usage, ["--width 0", "from 1 to"]),
        (["--to", "pdf"], "", .usage, ["pdf", "--to"]),
        (["--style", "{dir}/none.json"], "", .localFile, ["--style: ", "none.json", "ENOENT"]),
        (["--style", "{dir}/s.json"], "{", .usage, ["s.json", "isn't valid JSON", ". Look for"]),
        (["--style", "{dir}/s.json"], #"{ "blocks": { "heading9": {} } }"#, .usage, ["s.json", "heading9"]),
        (["--style", "githob"], "", .usage, ["--style githob", "default, ", "github", "JSON file"]),
    ])
    func `mistakes are told in one line`(arguments: [String], sheet: String, status: ExitStatus, mentions: [String])
        async throws
    {
        let shown = try await show("x", arguments, files: ["s.json": sheet])
        #expect(shown.status == status && shown.output == "")
        #expect(shown.error.split(separator: "\n").count == 1)
        #expect(!shown.error.contains(".."))
        for text in mentions { #expect(shown.error.contains(text), "\(shown.error)") }
    }

    @Test func `a missing file and a directory are different errors`() async throws {
        let recorded = RecordedConsole()
        #expect(await SluiceProgram.run(["show", "/no/such.md"], console: recorded.console) == .localFile)
        #expect(recorded.error.contains("/no/such.md"))
        #expect(await SluiceProgram.run(["show", "/"], console: recorded.console) == .localFile)
    }

    // MARK: The pager

    /// What a pager got that writes to a file.
    private func page(_ text: String, by command: String) async throws -> (wasShown: Bool, read: String?) {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let file = directory.appending(path: "read")
            let environment = ["PAGER": "\(command) > '\(file.path)'", "PATH": "/usr/bin:/bin"]
            let wasShown = await Pager(environment: environment)!.show(text)
            return (wasShown, (try? await Data(asyncContentsOf: file)).map { String(decoding: $0, as: UTF8.self) })
        }
    }

    @Test func `a pager gets all, or as much as it wants`() async throws {
        let text = String(repeating: "0123456789\n", count: 100_000)
        let all = try await page(text, by: "cat")
        #expect(all.wasShown && all.read == text)
        let some = try await page(text, by: "head -n 2")
        #expect(some.wasShown && some.read == "0123456789\n0123456789\n")
        #expect(try await page(text, by: "exit 3; true").wasShown)
    }

    @Test func `a pager that is not there shows nothing`() async throws {
        #expect(try await !page("text", by: "no-such-pager").wasShown)
        #expect(Pager(environment: ["PAGER": ""]) == nil && Pager(environment: ["PAGER": "cat"]) == nil)
    }

    @Test func `a pager is for what the screen does not hold`() async throws {
        for (rows, isPaged) in [(5, true), (100, false)] {
            let shown = try await show(Self.markdown, []) {
                $0.outputSize = { .init(columns: 80, rows: rows) }
                $0.pager = Pager(environment: ["PAGER": "cat > /dev/null", "PATH": "/usr/bin:/bin"])
            }
            #expect(shown.output.isEmpty == isPaged)
            let never = try await show(Self.markdown, ["--no-pager"]) {
                $0.outputSize = { .init(columns: 80, rows: rows) }
                $0.pager = Pager(environment: ["PAGER": "cat > /dev/null", "PATH": "/usr/bin:/bin"])
            }
            #expect(!never.output.isEmpty)
        }
    }
}
