import ArgumentParser
import NativeMark

/// `sluice show`: the arguments.
struct ShowCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows Markdown in the terminal, as plain text, or as HTML.",
        discussion: """
            The flavour is CommonMark with tables, task lists, strikethrough, footnotes and bare links, and without HTML: a \
            tag is text. In place of a picture stand its description and address. Nothing in a document can control the \
            terminal, and nothing is fetched for it.

            EXAMPLES:
              sluice show README.md
              sluice show --width 60 --style dark.json notes.md
              sluice show --to html notes.md > notes.html
              curl -s https://example.com/notes.md | sluice show -

            A STYLE SHEET is JSON; every part may be missing:
              { "colors":  { "accent": { "light": "#0A5FFF", "dark": "#6FB1FF" } },
                "blocks":  { "heading1": { "color": "accent", "spacingAfter": "1em" } },
                "inlines": { "emphasis": { "italic": false, "color": "ansi:cyan" } } }

            ENVIRONMENT: NO_COLOR, TERM and COLORTERM say what colours there are, PAGER which program shows what is longer than \
            the screen (less by default; empty or cat: none).

            \(ExitStatus.help)
            """)

    /// What is written.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case terminal, text, html
    }

    @Argument(help: .init("A Markdown file in UTF-8, or - for standard input.", valueName: "file"))
    var file: String

    @Option(
        name: .customLong("to"),
        help: .init("What to write: terminal (colours where there are any), text or html.", valueName: "format"))
    var format = Format.terminal

    @Option(
        help: .init("The columns of a line. By default those of the terminal, at most 100; else 80.", valueName: "n"))
    var width: Int?

    @Option(help: .init("A style sheet in JSON, for the terminal.", valueName: "file"))
    var style: String?

    @Option(
        help: .init("What is behind the text: light or dark, for the colours of the style sheet.", valueName: "name"))
    var background = Background.dark

    @Flag(help: "Never start a pager.")
    var noPager = false

    /// What is behind the text of a terminal.
    enum Background: String, ExpressibleByArgument, CaseIterable {
        case light, dark
    }

    func run(_ console: Console) async throws -> ExitStatus {
        if let width, !(1...10_000).contains(width) {
            throw CommandFailure(
                .usage, "--width \(width): the columns must be between 1 and 10000; see 'sluice show --help'")
        }
        if style != nil, format != .terminal {
            throw CommandFailure(.usage, "--style is for --to terminal; leave it out, or use that")
        }
        return try await ShowRun(options: self, console: console).run()
    }
}
