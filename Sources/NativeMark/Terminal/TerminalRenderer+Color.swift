extension TerminalRenderer {
    /// The colours that a terminal knows.
    public enum Color: Sendable, Hashable, CaseIterable {
        /// Sixteen million (24 bits).
        case full
        /// The sixteen, a cube of 216, and 24 greys.
        case ansi256
        /// The sixteen that its owner chose.
        case ansi16
        /// None, and no weights either: for pipes and files.
        case none

        /// What the environment says about the terminal.
        ///
        ///     let environment = ProcessInfo.processInfo.environment
        ///     let color = TerminalRenderer.Color.detect(environment: environment, isTerminal: isatty(1) == 1)
        ///
        /// In this order:
        ///
        /// 1. Not a terminal, `NO_COLOR` that is not empty (no-color.org), `TERM` empty, missing or `dumb`: none.
        /// 2. `COLORTERM` is `truecolor` or `24bit`, or `TERM` ends in `-direct`: full.
        /// 3. `TERM` has `256color` in it: 256.
        /// 4. Otherwise 16.
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
