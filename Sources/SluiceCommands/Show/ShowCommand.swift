import ArgumentParser
import NativeMark
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct ShowCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows Markdown in the terminal, or writes it as text, HTML, PDF or a picture.",
        discussion: """
            The flavor is CommonMark with tables, task lists, strikethrough, footnotes and bare links, but without HTML: a tag is \
            shown as text. Code in fences is colored by its language. A document can't control the terminal. A text \
            that is longer than the screen opens in a pager.

            EXAMPLES:
              Show a document in lines of 60 columns, with a style sheet:
                sluice show --width 60 --style dark.json notes.md
              Write a page that looks like GitHub, with light and dark colors:
                sluice show --to html --style github notes.md > notes.html
              Print a document:
                sluice show --to pdf --style github notes.md -o notes.pdf
              Show the output of another program while it arrives:
                curl -s https://example.com/notes.md | sluice show -

            A PIPE is shown as it arrives, with --to terminal and text: each block when it ends, and on a terminal the last one \
            also as it grows. The text opens no pager and shows no images then. What is written stays, even if a link or footnote \
            that it refers to is defined later; pass a file if that matters. A text that ends within 25 ms is shown like a file. \
            The other formats wait for the end of the input.

            LINKS are hyperlinks if the terminal is known to support them. In a pager, that requires less 566 or later with -R. \
            Everywhere else, the address follows the text. FORCE_HYPERLINK=1 turns hyperlinks on, and FORCE_HYPERLINK=0 turns \
            them off.

            IMAGES are shown by kitty, Ghostty and Konsole (PNG only), and by iTerm2 and WezTerm (PNG, JPEG, GIF and WebP), but \
            not in tmux, in screen or in a pager. Everywhere else, an image is its description and address. Among text, images of \
            at most two rows are one row high, and others are below the paragraph. With --no-pager, the images of a text \
            that is longer than the screen follow below it. The text doesn't wait for images, and Ctrl-C stops waiting. Images \
            that can't be shown are reported in one line at the end and don't change the exit status. The limits are 100 images, \
            64 MiB in total, and for each image 16 MiB and 30 seconds.

            IMAGE FILES have paths that are absolute, or relative to the document's directory.

            IMAGES ON SERVERS are fetched only with --remote-images: the request tells the server that the document is being read. \
            Responses are kept in the cache that 'sluice cache --help' describes.

            HTML is a complete page with --style. Without it, HTML is a fragment to insert into a page, without <html> or styles. \
            The style sheet is in a <style> element, and the browser chooses the colors for light, dark and more contrast.

            PDF, PNG AND SVG need a build with --traits Cairo, and installed fonts. A PDF has pages of A4 paper, an outline of the \
            headings, and links. PNG and SVG are one long picture of 640 points, or of --width; with --paper, they have pages. \
            --page selects one, or -o names a directory for all of them. Images must be PNG files. The colors are light, or dark with \
            --background dark.

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
        case terminal, text, html, pdf, png, svg

        /// Whether the document is drawn, which needs the trait Cairo.
        var isDrawn: Bool { [.pdf, .png, .svg].contains(self) }
    }

    @Argument(help: .init("A Markdown file in UTF-8, or - for standard input.", valueName: "file"))
    var file: String

    @Option(
        name: .customLong("to"),
        help: .init("The output format. With terminal, the text has the colors of the terminal.", valueName: "format"))
    var format = Format.terminal

    @Option(
        help: .init(
            """
            Columns per line, 1 to 10000. For png and svg, points. (default: the terminal's columns, at most 100, or 80; for png and \
            svg, 640)
            """, valueName: "n"))
    var width: Int?

    @Option(
        help: .init(
            "A style sheet: \(StyleSheet.named.keys.sorted().joined(separator: ", ")), or a JSON file. (default: default)",
            valueName: "name|file"))
    var style: String?

    @Option(
        help: .init(
            "The background, which selects the colors of the style sheet. (default: dark, or light for pdf, png and svg)",
            valueName: "name"))
    var background: Background?

    @Option(
        name: .shortAndLong,
        help: .init(
            "Write to a file instead of the standard output; for png and svg with --paper, to a directory. For pdf, png and svg.",
            valueName: "path"))
    var output: String?

    @Option(
        help: .init(
            """
            The pages of pdf, png and svg: a3, a4, a5, letter, legal, or a size such as 150x200mm. (default: a4 for pdf, none for the \
            others)
            """,
            valueName: "size"))
    var paper: String?

    @Option(help: .init("The margin of pages and pictures, such as 20mm, 0.75in or 54pt.", valueName: "length"))
    var margin: String?

    @Option(help: .init("Draw only this page, from 1. For png and svg.", valueName: "n"))
    var page: Int?

    @Option(help: .init("Pixels per point of a PNG, such as 2 for sharp screens. (default: 1)", valueName: "factor"))
    var scale: Double?

    @Flag(help: "Show only the descriptions of images, without addresses and HTML elements.")
    var noImages = false

    @Flag(help: "Fetch images from the servers that the document names, if they can be shown or drawn.")
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
            throw CommandFailure(
                .usage, "--no-images and --remote-images can't be combined. Use only one. See 'sluice show --help'.")
        }
        try checkDrawing(console)
        return try await ShowRun(options: self, console: console).run()
    }
}

// MARK: - Options of drawing

extension ShowCommand {
    /// Whether a drawing has pages.
    var isPaged: Bool { format == .pdf || paper != nil || page != nil }

    private func checkDrawing(_ console: Console) throws {
        func fail(_ message: String) -> CommandFailure {
            CommandFailure(.usage, "\(message) See 'sluice show --help'.")
        }
        let given: [(name: String, isGiven: Bool)] = [
            ("--output", output != nil), ("--paper", paper != nil), ("--margin", margin != nil),
            ("--page", page != nil),
            ("--scale", scale != nil),
        ]
        guard format.isDrawn else {
            if let option = given.first(where: \.isGiven) {
                throw fail("\(option.name): This option is for --to pdf, png and svg.")
            }
            return
        }
        #if Cairo
        if format == .pdf, page != nil || scale != nil || width != nil {
            throw fail("--page, --scale and --width are for --to png and svg.")
        }
        if format == .svg, scale != nil { throw fail("--scale is for --to png. An SVG is sharp at all sizes.") }
        if let page, page < 1 { throw fail("--page \(page): Pages are numbered from 1.") }
        if let scale, !(0.1...20).contains(scale) { throw fail("--scale \(scale): The factor must be from 0.1 to 20.") }
        if isPaged, width != nil { throw fail("--width and --paper can't be combined. Use only one.") }
        if isPaged, format != .pdf, page == nil, output == nil {
            throw fail(
                "--paper: There is a picture for each page. Choose one with --page N, or name a directory with -o.")
        }
        if format != .svg, output == nil, console.outputSize() != nil {
            throw fail(
                "--to \(format.rawValue): The output is a terminal. Name a file with -o, or redirect the output with >."
            )
        }
        #else
        throw fail("--to \(format.rawValue): This sluice can't draw. Build it with --traits Cairo, or use --to html.")
        #endif
    }
}

// MARK: - One run

/// One run of `sluice show`: reads and renders the document, writes it or starts a pager, and then shows the images.
private struct ShowRun {
    let options: ShowCommand
    let console: Console

    /// The maximum size of a document in bytes. Several copies of it fit into memory.
    private static let largestDocument = 256 << 20
    private static let largestStyle = 1 << 20
    /// The default limit on columns: longer lines are hard to read.
    private static let comfortableWidth = 100

    func run() async throws -> ExitStatus {
        // The style comes first, so that a mistake in it is reported before the command waits for standard input.
        let style = try await self.style()
        let bytes: Data
        if let descriptor = streamedInput {
            let outcome = try await Self.reading { try await stream(descriptor, style).run() }
            switch outcome {
            case .shown(let status): return status
            case .read(let data): bytes = data
            }
        } else {
            bytes = try await Self.bytes(of: options.file, limit: Self.largestDocument)
        }
        if options.format == .html, options.style == nil, console.outputSize() == nil {
            // Another program reads the HTML, so it is written without building the document or a text.
            let renderer = HTMLRenderer(images: !options.noImages)
            if let pieces = Self.pieces(of: bytes, renderer) {
                for piece in pieces { await console.write(piece) }
                return .success
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        #if Cairo
        if options.format.isDrawn {
            let document = Document(text)
            return try await DrawDocument(options: options, console: console)
                .run(styled(document, style), title: title(of: document))
        }
        #endif
        let screen = screen(text, style)
        let shown = screen?.text ?? render(text, style)
        // Pagers don't pass on images.
        if let pager = pager(for: shown) {
            let passesLinks = console.outputHyperlinks ? await pager.passesHyperlinks() : true
            let paged = passesLinks ? shown : render(text, style, hyperlinks: false)
            if await console.interruption.yieldingKeyboard(during: { await pager.show(paged) }) {
                return Task.isCancelled ? .interrupted : .success
            }
        }
        await console.write(shown, to: .output)
        guard let screen, let size = console.outputSize() else { return .success }
        return await ShowImages(
            document: options.file, fetches: options.remoteImages, images: console.outputImages, cell: size.cell,
            console: console
        ).run(screen)
    }

    // MARK: Reading

    private func style() async throws -> StyleSheet {
        guard let path = options.style else { return .default }
        if let sheet = StyleSheet.named[path] { return sheet }
        let names = StyleSheet.named.keys.sorted().joined(separator: ", ")
        let text: String
        do {
            text = try await Self.read(path, limit: Self.largestStyle, prefix: "--style: ")
        } catch let failure as CommandFailure where failure.status == .localFile && !path.contains("/") {
            // Most likely, the name is mistyped.
            throw CommandFailure(
                .usage,
                "--style \(path): No built-in style sheet or readable file has this name. Pass the path of a JSON file, or "
                    + "one of: \(names).")
        }
        do {
            return try StyleSheet(json: text)
        } catch {
            throw CommandFailure(.usage, "--style: \(path): \(error)")
        }
    }

    /// Bytes that aren't UTF-8 become U+FFFD, as in a terminal.
    private static func read(_ name: String, limit: Int, prefix: String = "") async throws -> String {
        String(decoding: try await bytes(of: name, limit: limit, prefix: prefix), as: UTF8.self)
    }

    private static func bytes(of name: String, limit: Int, prefix: String = "") async throws -> Data {
        try await reading(prefix) { try await InputFile.read(name, limit: limit) }
    }

    private static func reading<Result: Sendable>(
        _ prefix: String = "", _ read: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await read()
        } catch let error as FileError {
            throw CommandFailure(.localFile, "\(prefix)\(error)")
        }
    }

    // MARK: Text that arrives

    /// The descriptor of an input that may stay open, if the format can be written block by block; otherwise `nil`. HTML isn't, because
    /// definitions at its end change links at its beginning.
    private var streamedInput: CInt? {
        guard options.format == .terminal || options.format == .text else { return nil }
        // /dev/fd/63 is how a shell passes <(program).
        let descriptor =
            ["-", "/dev/stdin"].contains(options.file)
            ? 0 : options.file.hasPrefix("/dev/fd/") ? CInt(options.file.dropFirst(8)) : nil
        return descriptor.flatMap { ProcessTerminal.isRegularFile($0) == false ? $0 : nil }
    }

    private func stream(_ descriptor: CInt, _ style: StyleSheet) -> ShowStream {
        // Typed text would be among what is drawn.
        let isDrawn =
            options.format == .terminal && console.canShowScreen && !ProcessTerminal.isTerminal(descriptor)
        return ShowStream(
            descriptor: descriptor, name: options.file == "-" ? "standard input" : options.file,
            limit: Self.largestDocument, console: console,
            screen: { (isDrawn ? console.outputSize() : nil, streamRenderer) },
            makeTerminal: {
                TerminalStream(renderer: $0, style: style, environment: environment, highlighter: .languages)
            })
    }

    /// Images aren't shown, because they would have to wait for the end of the text.
    private var streamRenderer: TerminalRenderer {
        options.format == .text
            ? PlainText.renderer(width: width, imageSources: !options.noImages)
            : renderer(options.noImages ? .alternativeText : .none)
    }

    // MARK: Writing

    /// Returns a document as HTML in pieces of about a megabyte; `nil` if the document isn't UTF-8.
    private static func pieces(of markdown: Data, _ renderer: HTMLRenderer) -> [Data]? {
        var pieces: [Data] = []
        let isRendered = markdown.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { renderer.render(markdown: $0) { pieces.append(Data($0)) } }
        }
        return isRendered ? pieces : nil
    }

    private func render(_ markdown: String, _ style: StyleSheet, hyperlinks: Bool = true) -> String {
        let document = Document(markdown)
        switch options.format {
        case .html:
            let renderer = HTMLRenderer(images: !options.noImages, style: options.style == nil ? nil : style)
            return renderer.style == nil
                ? renderer.render(document)
                : renderer.renderPage(document, title: title(of: document), highlighter: .languages)
        case .text:
            return ended(PlainText(styled(document, style), width: width, imageSources: !options.noImages).string)
        case .terminal, .pdf, .png, .svg:
            let renderer = renderer(options.noImages ? .alternativeText : .none, hyperlinks: hyperlinks)
            return ended(renderer.render(styled(document, style)))
        }
    }

    /// Returns the first heading, or the name of the file.
    private func title(of document: Document) -> String {
        let heading = document.nodes { if case .heading = $0.kind { true } else { false } }.first?.plainText
        return heading ?? String(options.file.split(separator: "/").last ?? "")
    }

    /// Returns the document with places for images; `nil` if the output can't show images.
    private func screen(_ markdown: String, _ style: StyleSheet) -> ImageScreen? {
        guard options.format == .terminal, !options.noImages, console.outputImages != .none,
            let size = console.outputSize()
        else { return nil }
        // Random, because all programs on this terminal share the numbers of images.
        return ImageScreen(
            text: styled(Document(markdown), style), renderer: renderer(console.outputImages), size: size,
            firstID: .random(in: 1 << 24...1 << 31))
    }

    private func styled(_ document: Document, _ style: StyleSheet) -> StyledText {
        StyledText(document, style: style, environment: environment, highlighter: .languages)
    }

    private var environment: StyleSheet.Environment {
        let background = options.background ?? (options.format.isDrawn ? .light : .dark)
        return StyleSheet.Environment(appearance: background == .dark ? .dark : .light)
    }

    private func renderer(
        _ images: TerminalRenderer.ImageProtocol, hyperlinks: Bool = true
    ) -> TerminalRenderer {
        var renderer = TerminalRenderer(
            width: width, color: console.outputColor, hyperlinks: hyperlinks && console.outputHyperlinks, images: images
        )
        // Wrap code, because code that is cut off couldn't be copied.
        renderer.longCode = .wrap
        return renderer
    }

    private func ended(_ text: String) -> String { text.isEmpty ? "" : text + "\n" }

    private var width: Int {
        options.width ?? console.outputSize().map { min($0.columns, Self.comfortableWidth) } ?? 80
    }

    /// Returns the pager if the output is a terminal that is too small for the text and the prompt after it; otherwise `nil`.
    private func pager(for shown: String) -> Pager? {
        guard !options.noPager, let size = console.outputSize() else { return nil }
        let rows = shown.utf8.count { $0 == UInt8(ascii: "\n") }
        return rows >= size.rows ? console.pager : nil
    }
}
