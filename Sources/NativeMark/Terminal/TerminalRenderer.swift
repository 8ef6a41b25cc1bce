/// Renders Markdown for a terminal: text with escape sequences for colors, text attributes and hyperlinks.
///
///     let renderer = TerminalRenderer(width: 80, color: .detect(environment: environment, isTerminal: true))
///     print(renderer.render(Document("Hello *world*")))
///
/// No line is wider than ``width``, as ``TerminalText`` measures it. Lines break between words, and between Chinese, Japanese and Korean
/// characters, but not at no-break spaces. If nested blocks leave too little space for text, the innermost blocks lose their indents and
/// bars.
///
/// A document can't send control characters to the terminal. After entities are resolved, text, code, link targets and image descriptions
/// pass through ``TerminalText/sanitized(_:)`` or are percent-encoded. All escape sequences come from the renderer.
///
/// Styles are approximated:
///
/// | style | shown as |
/// |---|---|
/// | colors, backgrounds | escape sequences (SGR) in the colors that the terminal supports; translucent ones blended with black or white |
/// | weight, italic, underline, strikethrough | semibold and heavier: SGR 1; SGR 3, 4, 9 |
/// | font size, text style | larger than the document's: bold; smaller and not monospaced: faint |
/// | baseline | superscript and subscript digits |
/// | kerning, indents, padding | columns of half an em each |
/// | strikethrough without text attributes | `~~` around text that isn't code |
/// | headings of levels 1 and 2, in larger text | a line of `═` or `─` below, as wide as the text |
/// | other headings | `#` before the text, as many as the level |
/// | headings with a border below | only the border |
/// | spacing, line spacing | rows of one em each |
/// | border | box drawing characters |
/// | family, design and width of the font, line height, hyphenation, justified | not shown |
public struct TerminalRenderer: Sendable, Hashable {
    /// The maximum number of columns in a line. Values below 1 count as 1, and values above 10,000 as 10,000.
    public var width: Int
    /// The colors that the terminal supports. ``Color/none`` also disables text attributes.
    public var color: Color
    /// Whether links become terminal hyperlinks (OSC 8). A hyperlink's target must be absolute and at most 2,083 bytes long, which is VTE's
    /// limit. Other targets follow the text, as all targets do if this is `false`: `text <target>`. Targets within the document, such as
    /// `#install`, aren't shown.
    ///
    /// A hyperlink that wraps repeats its target on each line. All repetitions in a document together add at most 100 kB or the size of the
    /// text, whichever is larger. After that, only the first line of a link is a hyperlink.
    public var hyperlinks: Bool
    /// How to show images.
    public var images: ImageProtocol
    /// How to show lines of code that are wider than the available space.
    public var longCode: LongCode = .cut

    static let maximalWidth = 10_000

    /// Whether the output is for ``PlainText``. Leading borders become `>`, horizontal lines have at most 40 columns, and trailing borders
    /// and padding at the sides aren't drawn.
    var isPlain = false
    var isUnlimited = false

    /// Creates a renderer for a terminal of the given width. Widths below 1 become 1.
    public init(width: Int, color: Color = .none, hyperlinks: Bool = false, images: ImageProtocol = .none) {
        self.width = max(width, 1)
        self.color = color
        self.hyperlinks = hyperlinks
        self.images = images
    }

    /// How to show lines of code that are too wide.
    public enum LongCode: Sendable, Hashable, CaseIterable {
        /// Lines are cut and end with `…`.
        case cut
        /// Lines wrap.
        case wrap
    }

    /// Renders the text as lines for the terminal, without a final line feed.
    ///
    /// If ``images`` is ``ImageProtocol/kitty`` or ``ImageProtocol/iTerm2``, the closure `image` is called for each image, in order. It
    /// returns the image if it is loaded. If it returns `nil`, the alternative text is shown.
    ///
    /// An image that is alone in its paragraph takes up ``Image/columns`` and ``Image/rows``. Among text or other images, a small image
    /// such as a badge is shown in the line (``Image/columnsInLine``), and a large image below the paragraph. The same applies to tables.
    /// If a small image is wider than its table column, all small images of the table are replaced by their alternative text.
    public func render(_ text: StyledText, image: ((StyledText.Image) -> Image?)? = nil) -> String {
        var layout = TerminalLayout(text: text, renderer: self, imageData: image)
        return layout.render()
    }

    /// Applies a style sheet to a document and renders it as lines for the terminal, without a final line feed.
    public func render(
        _ document: Document, style: StyleSheet = .default, environment: StyleSheet.Environment = .init()
    ) -> String {
        render(StyledText(document, style: style, environment: environment))
    }
}

// MARK: - Colors

extension TerminalRenderer {
    /// The colors that a terminal supports.
    public enum Color: Sendable, Hashable, CaseIterable {
        /// 24-bit colors.
        case full
        /// The terminal's sixteen colors, a cube of 216 colors, and 24 grays.
        case ansi256
        /// The terminal's sixteen colors.
        case ansi16
        /// No colors and no text attributes, for pipes and files.
        case none

        /// Returns the colors that the environment variables indicate.
        ///
        ///     let environment = ProcessInfo.processInfo.environment
        ///     let color = TerminalRenderer.Color.detect(environment: environment, isTerminal: isatty(1) == 1)
        ///
        /// The first rule that applies determines the result:
        ///
        /// 1. Not a terminal, `NO_COLOR` isn't empty (no-color.org), or `TERM` is missing, empty or `dumb`: ``none``.
        /// 2. `COLORTERM` is `truecolor` or `24bit`, or `TERM` ends with `-direct`: ``full``.
        /// 3. `TERM` contains `256color`: ``ansi256``.
        /// 4. Otherwise: ``ansi16``.
        public static func detect(environment: [String: String], isTerminal: Bool) -> Color {
            let term = environment["TERM"] ?? ""
            guard isTerminal, (environment["NO_COLOR"] ?? "").isEmpty, !term.isEmpty, term != "dumb" else {
                return .none
            }
            if ["truecolor", "24bit"].contains(environment["COLORTERM"]) || term.hasSuffix("-direct") { return .full }
            return term.contains("256color") ? .ansi256 : .ansi16
        }
    }
}

// MARK: - Hyperlinks

extension TerminalRenderer {
    /// Returns whether the environment variables indicate a terminal with hyperlinks (OSC 8).
    ///
    ///     let environment = ProcessInfo.processInfo.environment
    ///     let hyperlinks = TerminalRenderer.supportsHyperlinks(environment: environment, isTerminal: isatty(1) == 1)
    ///
    /// There is no way to ask a terminal, and one that doesn't support hyperlinks would show the text without its target. So only terminals
    /// that are known to support them get hyperlinks. The first rule that applies determines the result:
    ///
    /// 1. `FORCE_HYPERLINK` isn't empty: no if it is 0, otherwise yes, even if the output isn't a terminal.
    /// 2. Not a terminal, or `TERM` is missing, empty, `dumb` or `linux`: no. Also no if `NO_COLOR` isn't empty (no-color.org), because
    ///    without an underline, a hyperlink looks like any other text.
    /// 3. GNU screen (`STY` is set): no. tmux (`TMUX` is set or `TERM_PROGRAM` is `tmux`): from version 3.4, which passes hyperlinks on.
    ///    Otherwise, `TERM` begins with `screen` or `tmux`: no.
    /// 4. `TERM_PROGRAM` is `Apple_Terminal`: no; `iTerm.app`: from version 3.1; `WezTerm`: from 20200620; `vscode`: from 1.72; `ghostty`,
    ///    `Hyper`, `mintty`, `rio` or `zed`: yes.
    /// 5. `LC_TERMINAL`, which ssh passes on, is `iTerm2`: from version 3.1.
    /// 6. `WT_SESSION` (Windows Terminal) or `KITTY_WINDOW_ID` is set: yes. `VTE_VERSION` is 0.50.1 or later (0.50.0 crashes), or
    ///    `KONSOLE_VERSION` is 20.12 or later: yes.
    /// 7. `TERM` is `xterm-kitty`, `xterm-ghostty`, `alacritty`, `foot`, `contour`, `wezterm`, `mintty`, `rio` or `xterm-rio`, with or
    ///    without a suffix such as `-direct`: yes.
    /// 8. Otherwise: no.
    ///
    /// Sources: supports-hyperlinks for the version numbers and `FORCE_HYPERLINK` (github.com/chalk/supports-hyperlinks), the list of
    /// terminals at github.com/Alhadis/OSC8-Adoption, and the release notes of tmux 3.4 and Konsole 20.12.
    public static func supportsHyperlinks(environment: [String: String], isTerminal: Bool) -> Bool {
        func value(_ name: String) -> String { environment[name] ?? "" }
        func isSet(_ name: String) -> Bool { !value(name).isEmpty }
        if isSet("FORCE_HYPERLINK") { return Int(value("FORCE_HYPERLINK")) != 0 }

        let term = value("TERM")
        guard isTerminal, !["", "dumb", "linux"].contains(term), !isSet("NO_COLOR") else { return false }
        if isSet("STY") { return false }
        let program = value("TERM_PROGRAM")
        let version = Version(value("TERM_PROGRAM_VERSION"))
        if isSet("TMUX") || program == "tmux" { return program == "tmux" && version >= Version("3.4") }
        if term.hasPrefix("screen") || term.hasPrefix("tmux") { return false }

        switch program {
        case "Apple_Terminal": return false
        case "iTerm.app": return version >= Version("3.1")
        case "WezTerm": return version >= Version("20200620")
        case "vscode": return version >= Version("1.72")
        case "ghostty", "Hyper", "mintty", "rio", "zed": return true
        default: break
        }
        if value("LC_TERMINAL") == "iTerm2" { return Version(value("LC_TERMINAL_VERSION")) >= Version("3.1") }
        if isSet("WT_SESSION") || isSet("KITTY_WINDOW_ID") { return true }
        // 0.50.1 is 5001, and 20.12.0 is 201200.
        let vte = value("VTE_VERSION")
        if let number = Int(vte), number > 5_000 { return true }
        if let number = Int(value("KONSOLE_VERSION")), number >= 201_200 { return true }
        return [
            "xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm", "mintty", "rio", "xterm-rio",
        ]
        .contains { term == $0 || term.hasPrefix($0 + "-") }
    }

    /// The numbers at the beginning of a version: 3 and 4 of `3.4a`, and 20240203 of `20240203-110809-5046fc22`.
    private struct Version {
        let numbers: [Int]

        init(_ text: String) {
            var numbers: [Int] = []
            for part in text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false) {
                guard let number = Int(part.prefix { ("0"..."9").contains($0) }) else { break }
                numbers.append(number)
            }
            self.numbers = numbers
        }

        static func >= (one: Version, other: Version) -> Bool {
            !one.numbers.lexicographicallyPrecedes(other.numbers)
        }
    }
}

// MARK: - Images

extension TerminalRenderer {
    /// How to show images.
    public enum ImageProtocol: Sendable, Hashable, CaseIterable {
        /// The alternative text, followed by the source.
        case none
        /// The alternative text only.
        case alternativeText
        /// kitty's graphics protocol, for PNG.
        case kitty
        /// iTerm2's protocol, for every format that the terminal can decode.
        case iTerm2

        var isProtocol: Bool { self == .kitty || self == .iTerm2 }

        /// Returns the protocol that the environment variables indicate.
        ///
        /// The first rule that applies determines the result:
        ///
        /// 1. Not a terminal, or `TERM` is missing, empty or `dumb`: ``none``. Also ``none`` inside tmux and screen (`TMUX` or `STY` is
        ///    set, or `TERM` begins with `tmux` or `screen`), which don't pass images on.
        /// 2. `TERM` is `xterm-kitty` or `xterm-ghostty`: ``kitty``.
        /// 3. `TERM_PROGRAM` is `iTerm.app` or `WezTerm`, or `LC_TERMINAL`, which ssh passes on, is `iTerm2`: ``iTerm2``.
        /// 4. `KITTY_WINDOW_ID` is set, or `KONSOLE_VERSION` is 22.04 or later: ``kitty``.
        /// 5. Otherwise: ``none``.
        ///
        /// `NO_COLOR` has no effect, because it is about colors only (no-color.org).
        public static func detect(environment: [String: String], isTerminal: Bool) -> ImageProtocol {
            func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
            let term = environment["TERM"] ?? ""
            let isMultiplexer = isSet("TMUX") || isSet("STY") || term.hasPrefix("tmux") || term.hasPrefix("screen")
            guard isTerminal, !term.isEmpty, term != "dumb", !isMultiplexer else { return .none }
            if term == "xterm-kitty" || term == "xterm-ghostty" { return .kitty }
            if ["iTerm.app", "WezTerm"].contains(environment["TERM_PROGRAM"]) { return .iTerm2 }
            if environment["LC_TERMINAL"] == "iTerm2" { return .iTerm2 }
            let konsole = environment["KONSOLE_VERSION"].flatMap { Int($0) } ?? 0
            return isSet("KITTY_WINDOW_ID") || konsole >= 220_400 ? .kitty : .none
        }
    }

    /// A loaded image for ``render(_:image:)``.
    public struct Image: Sendable, Hashable {
        /// The contents of the image file.
        public var bytes: [UInt8]
        /// The width in columns. The renderer reduces it to the available width.
        public var columns: Int
        /// The height in rows, from 1 to 1,000.
        public var rows: Int
        /// The width in columns at a height of one row, for an image among text or other images, or `nil` if the image is too large for
        /// that. If it is `nil` or wider than a line, the image is shown below the text, in ``columns`` and ``rows``.
        public var columnsInLine: Int?
        /// The image's ID in kitty's protocol. Use it to delete the image later (`a=d,d=I,i=…`), because erasing text doesn't erase images.
        /// A new image with the same ID replaces the old one everywhere.
        public var id: UInt32?

        /// Creates an image with a size in cells.
        public init(bytes: [UInt8], columns: Int, rows: Int, columnsInLine: Int? = nil, id: UInt32? = nil) {
            self.bytes = bytes
            self.columns = columns
            self.rows = rows
            self.columnsInLine = columnsInLine
            self.id = id
        }
    }
}

// MARK: - Plain text

/// A document as unstyled text, for notifications, search indexes and pipes.
///
///     PlainText(document).string   // "Hello world <https://example.com>"
///
/// Lists keep their markers, lines of block quotes begin with `>`, and tables are aligned in columns. Link targets follow in angle
/// brackets, except for targets within the document. A large table that would be mostly spaces, because of a very long cell, becomes one
/// `name: value` line per cell. Headings and struck text are marked as in ``TerminalRenderer``. Control characters are replaced or removed
/// as in ``TerminalText/sanitized(_:)``.
public struct PlainText: Sendable, Hashable {
    /// The text, without a final line feed.
    public let string: String

    /// Creates the plain text of a styled document. Markers, spacing, indents and borders come from the style. Colors and text attributes
    /// are ignored.
    ///
    /// If `width` is `nil`, lines break only where the document has line breaks. If `imageSources` is `true`, an image's source follows its
    /// description.
    public init(_ text: StyledText, width: Int? = nil, imageSources: Bool = true) {
        string = Self.renderer(width: width, imageSources: imageSources).render(text)
    }

    /// Returns the renderer that plain text comes from, for a ``TerminalStream``.
    package static func renderer(width: Int?, imageSources: Bool = true) -> TerminalRenderer {
        var renderer = TerminalRenderer(width: width ?? unlimited, images: imageSources ? .none : .alternativeText)
        renderer.isPlain = true
        renderer.isUnlimited = width == nil
        return renderer
    }

    /// Creates the plain text of a document with the default style sheet.
    public init(_ document: Document, width: Int? = nil) {
        self.init(StyledText(document), width: width)
    }

    private static let unlimited = 1 << 40
}
