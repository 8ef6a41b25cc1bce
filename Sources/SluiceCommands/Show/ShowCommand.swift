import ArgumentParser
import NativeMark

/// `sluice show`: the arguments.
struct ShowCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows Markdown in the terminal, as plain text, or as HTML.",
        discussion: """
            The flavour is CommonMark with tables, task lists, strikethrough, footnotes and bare links, and without HTML: a \
            tag is text. Nothing in a document can control the terminal.

            PICTURES that stand alone in a paragraph are shown where standard output is a terminal that can: kitty, Ghostty and \
            Konsole (PNG only), iTerm2 and WezTerm (PNG, JPEG, GIF, WebP); not within tmux or screen, and not in a pager \
            (with --no-pager, what is longer than the screen has its pictures at its end). Everywhere else a picture is its \
            description and address. The text never waits for them, and Ctrl-C stops waiting. What cannot be shown is told in \
            one line at the end, and changes no exit status.
              Files are read at paths that begin at the document's folder, or with a slash: regular files of at most 16 MiB, \
            100 pictures, 64 MiB in all.
              The network is used only with --remote-images, which tells the servers that a document names that somebody reads \
            it: http and https only, within the same limits and 30 seconds. What they send is kept, as long as they allow, in \
            sluice in $XDG_CACHE_HOME or ~/.cache (at most 256 MiB; you may remove it). Without a terminal that shows pictures, \
            nothing is read and nothing is fetched, whatever the options are.

            EXAMPLES:
              sluice show README.md
              sluice show --width 60 --style dark.json notes.md
              sluice show --to html notes.md > notes.html
              sluice show --remote-images README.md
              curl -s https://example.com/notes.md | sluice show -

            A STYLE SHEET is JSON; every part may be missing:
              { "colors":  { "accent": { "light": "#0A5FFF", "dark": "#6FB1FF" } },
                "blocks":  { "heading1": { "color": "accent", "spacingAfter": "1em" } },
                "inlines": { "emphasis": { "italic": false, "color": "ansi:cyan" } } }

            ENVIRONMENT: NO_COLOR, TERM and COLORTERM say what colours there are (NO_COLOR: no colours, pictures all the same); \
            TERM, TERM_PROGRAM, LC_TERMINAL, KITTY_WINDOW_ID and KONSOLE_VERSION what pictures; PAGER which program shows what is longer than \
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

    @Flag(help: "Show descriptions in place of pictures, and nothing else: no address, no element in HTML.")
    var noImages = false

    @Flag(help: "Fetch pictures from the servers that the document names, if the terminal shows pictures.")
    var remoteImages = false

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
        if noImages, remoteImages {
            throw CommandFailure(.usage, "--no-images and --remote-images exclude each other; leave one of them out")
        }
        return try await ShowRun(options: self, console: console).run()
    }
}
