extension TerminalRenderer {
    /// Returns whether the environment variables indicate a terminal with hyperlinks (OSC 8).
    ///
    ///     let environment = ProcessInfo.processInfo.environment
    ///     let hyperlinks = TerminalRenderer.supportsHyperlinks(environment: environment, isTerminal: isatty(1) == 1)
    ///
    /// A terminal can't be asked, and one without hyperlinks shows the text without its target. Therefore only known terminals have them.
    /// The first rule that applies determines the result:
    ///
    /// 1. `FORCE_HYPERLINK` isn't empty: the user's choice, no if it is 0. It also applies if the output isn't a terminal.
    /// 2. Not a terminal, or `TERM` is missing, empty, `dumb` or `linux`: no. The same if `NO_COLOR` isn't empty (no-color.org), because
    ///    without an underline, a hyperlink can't be told from other text.
    /// 3. GNU screen (`STY` is set): no. tmux (`TMUX` is set or `TERM_PROGRAM` is `tmux`): from version 3.4, which passes them on. Other
    ///    values of `TERM` that begin with `screen` or `tmux`: no.
    /// 4. `TERM_PROGRAM` is `Apple_Terminal`: no; `iTerm.app`: from version 3.1; `WezTerm`: from 20200620; `vscode`: from 1.72; `ghostty`,
    ///    `Hyper`, `mintty`, `rio` or `zed`: yes.
    /// 5. `LC_TERMINAL`, which ssh passes on, is `iTerm2`: from version 3.1.
    /// 6. `WT_SESSION` (Windows Terminal) or `KITTY_WINDOW_ID` is set: yes. `VTE_VERSION` is 5000 or later except 0.50.0, which crashes, or
    ///    `KONSOLE_VERSION` is 20.12 or later: yes.
    /// 7. `TERM` is `xterm-kitty`, `xterm-ghostty`, `alacritty`, `foot`, `contour`, `wezterm`, `mintty`, `rio` or `xterm-rio`, also with a
    ///    suffix such as `-direct`: yes.
    /// 8. Otherwise: no.
    ///
    /// Sources: the versions of supports-hyperlinks (github.com/chalk/supports-hyperlinks), which also defines `FORCE_HYPERLINK`; the list
    /// of terminals at github.com/Alhadis/OSC8-Adoption; the release notes of tmux 3.4 and Konsole 20.12.
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
