extension TerminalRenderer {
    /// The way to show images.
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
        /// 1. Not a terminal, or `TERM` is missing, empty or `dumb`: ``none``. The same within tmux and screen (`TMUX` or `STY` is set, or
        ///    `TERM` begins with `tmux` or `screen`), which don't pass images on.
        /// 2. `TERM` is `xterm-kitty` or `xterm-ghostty`: ``kitty``.
        /// 3. `TERM_PROGRAM` is `iTerm.app` or `WezTerm`, or `LC_TERMINAL`, which ssh passes on, is `iTerm2`: ``iTerm2``.
        /// 4. `KITTY_WINDOW_ID` is set, or `KONSOLE_VERSION` is 22.04 or later: ``kitty``.
        /// 5. Otherwise: ``none``.
        ///
        /// `NO_COLOR` applies only to colors (no-color.org).
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
        /// The width in columns at a height of one row, for an image among text or other images; `nil` if the image is too large for
        /// that. Without it, or if it is wider than a line, the image is shown in ``columns`` and ``rows`` below the text.
        public var columnsInLine: Int?
        /// The image's ID in kitty's protocol, for deleting it later (`a=d,d=I,i=…`), since erasing text doesn't erase images. A new image
        /// with the same ID replaces the old one everywhere.
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
