import Foundation
import LoopbackOrigin
import NativeMark
import SluiceCommands
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `sluice show` {
    static let markdown = "# Songs\n\n*One*, **two**; see [all](https://example.com/all)\n\n- a\n- b\n"

    /// Runs the command on a file with this content, and returns what it wrote.
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

        // Several pieces, and the same in a terminal, where the HTML is one text.
        let long = String(repeating: "\(Self.markdown)\n> é[^1]\n\n", count: 12_000) + "[^1]: *note*\n"
        let pieces = try await show(long, ["--to", "html", "--no-images"])
        #expect(pieces.output == HTMLRenderer(images: false).render(Document(long)))
        let text = try await show(Self.markdown, ["--to", "html"]) { $0.outputSize = { .init(columns: 80, rows: 100) } }
        #expect(text.output == shown.output)
    }

    @Test func `writes text without escape sequences, and without colors if there is no terminal`() async throws {
        for arguments in [["--to", "text"], []] {
            let shown = try await show(Self.markdown, arguments)
            #expect(shown.status == .success)
            #expect(shown.output.contains("Songs") && shown.output.contains("https://example.com/all"))
            #expect(!shown.output.contains("\u{1B}") && shown.output.hasSuffix("\n"))
        }
    }

    @Test func `colors and hyperlinks depend on the terminal`() async throws {
        let colors = try await show { $0.outputColor = .full }
        #expect(colors.output.contains("\u{1B}[") && !colors.output.contains("\u{1B}]8;"))
        let both = try await show {
            $0.outputColor = .ansi16
            $0.outputHyperlinks = true
        }
        #expect(both.output.contains("\u{1B}]8;id=0;https://example.com/all\u{1B}\\"))
    }

    @Test(arguments: [20, 40, 80]) func `no line is wider than requested`(width: Int) async throws {
        let words = String(repeating: "words go on and on ", count: 30)
        let shown = try await show(words, ["--width", "\(width)"])
        #expect(shown.output.split(separator: "\n").allSatisfy { $0.count <= width })
        #expect(shown.output.split(separator: "\n").contains { $0.count > width - 6 })
    }

    @Test func `long lines of code continue on the next line`() async throws {
        let shown = try await show("```\n\(String(repeating: "x", count: 50))y\n```", ["--width", "40"])
        #expect(
            shown.output.filter { $0 == "x" }.count == 50 && shown.output.contains("y") && !shown.output.contains("…"))
    }

    @Test func `a document can't control the terminal`() async throws {
        let shown = try await show("a \u{1B}[31m `\u{9B}31m` &#27;]0;title&#7;", []) { $0.outputColor = .none }
        #expect(!shown.output.unicodeScalars.contains { $0.value < 32 && $0 != "\n" || (128..<160).contains($0.value) })
    }

    @Test func `applies a style sheet`() async throws {
        let sheet = #"{ "inlines": { "emphasis": { "bold": true, "italic": false } } }"#
        let plain = try await show("*One*", []) { $0.outputColor = .ansi16 }
        let styled = try await show("*One*", ["--style", "{dir}/s.json"], files: ["s.json": sheet]) {
            $0.outputColor = .ansi16
        }
        #expect(styled.status == .success && styled.output != plain.output)
    }

    @Test func `a built-in style sheet can be given by name`() async throws {
        let named = try await show("`a`", ["--style", "github"]) { $0.outputColor = .full }
        let plain = try await show("`a`", ["--style", "default"]) { $0.outputColor = .full }
        #expect(named.status == .success && plain.status == .success)
        // GitHub's background of code in dark mode.
        #expect(named.output.contains("48;2;21;27;35") && !plain.output.contains("48;2;21;27;35"))
    }

    @Test func `HTML with a style sheet is a page with the sheet's rules`() async throws {
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

    @Test func `text has the markers of the style sheet`() async throws {
        let sheet = #"{ "blocks": { "bulletList": { "marker": { "bullets": ["+"] } } } }"#
        let shown = try await show("- a", ["--to", "text", "--style", "{dir}/s.json"], files: ["s.json": sheet])
        #expect(shown.output == "+ a\n")
    }

    @Test(arguments: [
        (["--width", "0"], "", ExitStatus.usage, ["--width 0", "from 1 to"]),
        (["--to", "docx"], "", .usage, ["docx", "--to"]),
        (["--style", "{dir}/none.json"], "", .localFile, ["--style: ", "none.json", "ENOENT"]),
        (["--style", "{dir}/s.json"], "{", .usage, ["s.json", "isn't valid JSON", ". Look for"]),
        (["--style", "{dir}/s.json"], #"{ "blocks": { "heading9": {} } }"#, .usage, ["s.json", "heading9"]),
        (["--style", "githob"], "", .usage, ["--style githob", "default, ", "github", "JSON file"]),
    ])
    func `a mistake is reported in one line`(arguments: [String], sheet: String, status: ExitStatus, mentions: [String])
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

    /// What a pager received. It writes that to a file.
    private func page(_ text: String, by command: String) async throws -> (wasShown: Bool, read: String?) {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let file = directory.appending(path: "read")
            let environment = ["PAGER": "\(command) > '\(file.path)'", "PATH": "/usr/bin:/bin"]
            let wasShown = await Pager(environment: environment)!.show(text)
            return (wasShown, (try? await Data(asyncContentsOf: file)).map { String(decoding: $0, as: UTF8.self) })
        }
    }

    @Test func `a pager gets the whole text, or as much as it reads`() async throws {
        let text = String(repeating: "0123456789\n", count: 100_000)
        let all = try await page(text, by: "cat")
        #expect(all.wasShown && all.read == text)
        let some = try await page(text, by: "head -n 2")
        #expect(some.wasShown && some.read == "0123456789\n0123456789\n")
        #expect(try await page(text, by: "exit 3; true").wasShown)
    }

    /// Returns whether a pager of this version gets hyperlinks, if the terminal has them.
    private func pagedLinks(
        _ command: String, version: String, environment: [String: String] = [:]
    ) async throws -> Bool {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let program = directory.appending(path: "less")
            let script =
                "#!/bin/sh\ncase \"$1\" in --version) echo 'less \(version)';; *) cat > \(directory.path)/read;; esac\n"
            try await Data(script.utf8).asyncWrite(to: program)
            chmod(program.path, 0o700)
            _ = try await show {
                $0.outputSize = { .init(columns: 80, rows: 3) }
                $0.outputHyperlinks = true
                $0.pager = Pager(
                    environment: [
                        "PAGER": command.replacing("{less}", with: program.path), "PATH": "/usr/bin:/bin",
                    ].merging(environment) { $1 })
            }
            let read = try await Data(asyncContentsOf: directory.appending(path: "read"))
            let text = String(decoding: read, as: UTF8.self)
            #expect(text.contains("\u{1B}]8;") != text.contains("<https://example.com/all>"), "\(text)")
            return text.contains("\u{1B}]8;")
        }
    }

    @Test func `a pager gets hyperlinks only if it is a version of less that passes them on`() async throws {
        #expect(try await pagedLinks("{less}", version: "566 (GNU regular expressions)"))
        #expect(try await pagedLinks("{less} -R", version: "643", environment: ["LESS": "-i"]))
        #expect(try await !pagedLinks("{less}", version: "551 (POSIX regular expressions)"))
        #expect(try await !pagedLinks("{less}", version: "590", environment: ["LESS": "-i"]))
        #expect(try await !pagedLinks("{less}", version: ""))
        #expect(try await !pagedLinks("exec {less}", version: "590"))
        #expect(try await pagedLinks("exec {less}", version: "0", environment: ["FORCE_HYPERLINK": "1"]))
    }

    @Test func `a missing pager shows nothing`() async throws {
        #expect(try await !page("text", by: "no-such-pager").wasShown)
        #expect(Pager(environment: ["PAGER": ""]) == nil && Pager(environment: ["PAGER": "cat"]) == nil)
    }

    @Test func `a pager is used only if the text doesn't fit on the screen`() async throws {
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

@Suite(.timeLimit(.minutes(15))) struct `sluice show on a terminal` {
    private func run(
        _ markdown: String, _ arguments: [String] = [], on terminal: PseudoTerminal, in directory: URL,
        watching: @escaping @Sendable (Int32) async -> Void = { _ in }
    ) async throws -> (status: Int32, error: String) {
        let document = directory.appending(path: "notes.md")
        try await Data(markdown.utf8).asyncWrite(to: document)
        let environment = [
            "TERM": "xterm-kitty", "COLORTERM": "truecolor", "PATH": "/usr/bin:/bin", "PAGER": "cat",
            "XDG_CACHE_HOME": directory.appending(path: "caches").path,
        ]
        return try await terminal.run(
            try builtProgram("sluice"), ["show", document.path] + arguments, environment: environment,
            watching: watching)
    }

    @Test func `draws images in the cells that the terminal reports, and leaves the cursor below the text`()
        async throws
    {
        let loadedImage = TestImage.png(100, 60, rest: 5_000)
        let terminal = try PseudoTerminal(columns: 50, rows: 30, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await Data(loadedImage).asyncWrite(to: directory.appending(path: "a.png"))
            let ended = try await run("start\n\n![one](a.png)\n\nend", on: terminal, in: directory)
            #expect(ended.status == 0 && ended.error == "")
        }
        var screen = FakeTerminal(columns: 50, rows: 30)
        screen.write(terminal.output)
        #expect(screen.loadedImages.map(\.bytes) == [loadedImage] && screen.unknown == [])
        #expect(screen.loadedImages.first?.columns == 10 && screen.loadedImages.first?.rows == 3)
        #expect(screen.text.dropLast().last == "end" && screen.column == 0)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `an interruption while waiting for an image ends immediately, with the whole text`(signal: Int32) async throws
    {
        let held = Gate()
        let terminal = try PseudoTerminal(columns: 50, rows: 30, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { _ in
                await held.pass()
                return OriginResponse()
            } during: { origin in
                let ended = try await run(
                    "start\n\n![one](\(origin.url("/a.png")))\n\nend", ["--remote-images"], on: terminal, in: directory
                ) { process in
                    await held.arrivals(1)
                    kill(process, signal)
                }
                #expect(ended.status == 7, "\(ended.error)")
                #expect(ended.error == "sluice: Interrupted: 1 of 1 images aren't shown.\n")
                await held.open()
            }
        }
        var screen = FakeTerminal(columns: 50, rows: 30)
        screen.write(terminal.output + "prompt")
        #expect(screen.text.contains("end") && screen.text.last == "prompt" && screen.unknown == [])
        #expect(terminal.output.hasSuffix("\u{1B}[0m"))
    }

    @Test func `an interruption leaves no description without its image`() async throws {
        // Given two images: one has no room in the text and waits for the end, which the other delays
        let held = Gate()
        let terminal = try PseudoTerminal(columns: 50, rows: 14, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await Data(TestImage.png(100, 600)).asyncWrite(to: directory.appending(path: "tall.png"))
            try await Data(TestImage.png(10, 20)).asyncWrite(to: directory.appending(path: "low.png"))
            try await LoopbackOrigin.serve { _ in
                await held.pass()
                return OriginResponse()
            } during: { origin in
                let markdown = "![high](tall.png)\n\na\n\nb\n\nc\n\n![low](low.png)\n\n![one](\(origin.url("/a.png")))"
                let ended = try await run(markdown, ["--remote-images"], on: terminal, in: directory) { process in
                    await held.arrivals(1)
                    // Files are drawn in the order in which they come. When the low image is there, the high one may have come or not.
                    try? await terminal.output(containing: "\u{1B}_Ga=T")
                    kill(process, SIGINT)
                }
                #expect(ended.status == 7 && ended.error.contains("Interrupted"), "\(ended.error)")
                await held.open()
            }
        }
        #expect(terminal.output.split(separator: "high").count <= 2)
    }
}
