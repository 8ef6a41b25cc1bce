extension TerminalRenderer {
    /// How images are shown.
    public enum ImageProtocol: Sendable, Hashable, CaseIterable {
        /// Alternative text, and where the image is.
        case none
        /// Alternative text alone.
        case alternativeText
        /// The protocol of kitty, for PNG.
        case kitty
        /// The protocol of iTerm2, for whatever the terminal can decode.
        case iTerm2

        /// Whether the terminal is sent images.
        var isProtocol: Bool { self == .kitty || self == .iTerm2 }

        /// What the environment says about the terminal.
        ///
        ///     let environment = ProcessInfo.processInfo.environment
        ///     let images = TerminalRenderer.ImageProtocol.detect(environment: environment, isTerminal: isatty(1) == 1)
        ///
        /// In this order:
        ///
        /// 1. Not a terminal, `TERM` empty, missing or `dumb`: none. Within tmux and screen (`TMUX`, `STY`, or a `TERM` of
        ///    theirs) none either: they do not pass images on.
        /// 2. `TERM` is `xterm-kitty` or `xterm-ghostty`: kitty.
        /// 3. `TERM_PROGRAM` is `iTerm.app` or `WezTerm`, or `LC_TERMINAL`, which also comes through ssh, is `iTerm2`: iTerm2.
        /// 4. `KITTY_WINDOW_ID`, or a `KONSOLE_VERSION` of 22.04 or later: kitty.
        ///
        /// `NO_COLOR` is about colours (no-color.org) and not about images.
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

    /// An image that was loaded, for ``render(_:image:)``.
    public struct Image: Sendable, Hashable {
        /// The bytes of the file.
        public var bytes: [UInt8]
        /// The columns that it is to take, less where there is less room.
        public var columns: Int
        /// The rows that it is to take.
        public var rows: Int
        /// What a terminal with kitty's protocol is to call it, so that it can be taken away (`a=d,d=I,i=…`): erasing text
        /// leaves images there. An image of the same name is replaced wherever it is shown.
        public var id: UInt32?

        /// An image and its place.
        public init(bytes: [UInt8], columns: Int, rows: Int, id: UInt32? = nil) {
            self.bytes = bytes
            self.columns = columns
            self.rows = rows
            self.id = id
        }
    }
}
