import ArgumentParser
import NativeMark

struct ShowCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows Markdown in the terminal, or writes it as text or HTML.",
        discussion: """
            The flavor is CommonMark with tables, task lists, strikethrough, footnotes and bare links, but without HTML: a tag is \
            shown as text. Code in fences is colored by its language. A document can't control the terminal. A text \
            that is longer than the screen opens in a pager.

            EXAMPLES:
              Show a document in lines of 60 columns, with a style sheet:
                sluice show --width 60 --style dark.json notes.md
              Write a page that looks like GitHub, with light and dark colors:
                sluice show --to html --style github notes.md > notes.html
              Show the output of another program:
                curl -s https://example.com/notes.md | sluice show -

            LINKS are hyperlinks if the terminal is known to have them, and in a pager if it is less 566 or later with -R. \
            Everywhere else, the address follows the text. FORCE_HYPERLINK=0 and FORCE_HYPERLINK=1 decide otherwise.

            IMAGES are shown by kitty, Ghostty and Konsole (PNG only), and by iTerm2 and WezTerm (PNG, JPEG, GIF and WebP), but \
            not in tmux, in screen or in a pager. Everywhere else, an image is its description and address. Among text, images of \
            at most two rows are one row high, and others are below the paragraph. With --no-pager, the images of a text \
            that is longer than the screen follow below it. The text doesn't wait for images, and Ctrl-C stops waiting. Images \
            that can't be shown are reported in one line at the end and don't change the exit status. The limits are 100 images, \
            64 MiB in total, and for each image 16 MiB and 30 seconds.

            IMAGE FILES have paths that are absolute, or relative to the document's directory.

            IMAGES ON SERVERS are fetched only with --remote-images: the request tells the server that the document is being read. \
            Responses are kept in the cache that 'sluice cache --help' describes.

            HTML is a page with --style, and without it a fragment, without <html> and styles, to insert into a page. The style \
            sheet is in a <style> element, and the browser chooses the colors for light, dark and more contrast.

            A STYLE SHEET is one of \(StyleSheet.named.keys.sorted().joined(separator: ", ")), or JSON, whose parts are all optional:
              { "base":    "github",
                "colors":  { "accent": { "light": "#0A5FFF", "dark": "#6FB1FF" } },
                "blocks":  { "heading1": { "color": "accent", "spacingAfter": "1em" } },
                "inlines": { "emphasis": { "italic": false, "color": "ansi:cyan" } } }

            ENVIRONMENT:
              NO_COLOR, TERM, COLORTERM      the colors
              TERM, TERM_PROGRAM, LC_TERMINAL, KITTY_WINDOW_ID, KONSOLE_VERSION
                                             the images and hyperlinks of the terminal
              TERM_PROGRAM_VERSION, LC_TERMINAL_VERSION, VTE_VERSION, WT_SESSION
                                             the hyperlinks of the terminal
              FORCE_HYPERLINK                0: no hyperlinks, 1: hyperlinks
              PAGER                          the pager, or none if empty or cat
                                             (default: less)

            \(ExitStatus.help)
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case terminal, text, html
    }

    @Argument(help: .init("A Markdown file in UTF-8, or - for standard input.", valueName: "file"))
    var file: String

    @Option(
        name: .customLong("to"),
        help: .init("The output format. With terminal, the text has the colors of the terminal.", valueName: "format"))
    var format = Format.terminal

    @Option(
        help: .init("Columns per line, 1 to 10000. (default: the terminal's, at most 100, or 80)", valueName: "n"))
    var width: Int?

    @Option(
        help: .init(
            "A style sheet: \(StyleSheet.named.keys.sorted().joined(separator: ", ")), or a JSON file. (default: default)",
            valueName: "name|file"))
    var style: String?

    @Option(
        help: .init("The terminal's background, which selects the colors of the style sheet.", valueName: "name"))
    var background = Background.dark

    @Flag(help: "Show only the descriptions of images, without addresses and HTML elements.")
    var noImages = false

    @Flag(help: "Fetch images from the servers that the document names, if the terminal shows images.")
    var remoteImages = false

    @Flag(help: "Write a long text to the terminal instead of a pager.")
    var noPager = false

    enum Background: String, ExpressibleByArgument, CaseIterable {
        case light, dark
    }

    func run(_ console: Console) async throws -> ExitStatus {
        if let width, !(1...10_000).contains(width) {
            throw CommandFailure(
                .usage, "--width \(width): The width must be from 1 to 10000 columns. See 'sluice show --help'.")
        }
        if noImages, remoteImages {
            throw CommandFailure(.usage, "--no-images and --remote-images exclude each other. Pass one of them.")
        }
        return try await ShowRun(options: self, console: console).run()
    }
}
