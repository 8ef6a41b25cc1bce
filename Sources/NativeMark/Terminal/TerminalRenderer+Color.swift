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
