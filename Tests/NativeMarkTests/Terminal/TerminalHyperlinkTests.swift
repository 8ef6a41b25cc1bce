import Testing

@testable import NativeMark

@Suite struct `Hyperlinks of a terminal` {
    @Test func `have a target that isn't too long, before and after it is percent-encoded`() {
        func target(_ character: Character, count: Int) -> String? {
            LinkTarget.hyperlink("ab:" + String(repeating: character, count: count))
        }
        #expect(target("x", count: LinkTarget.longestHyperlink - 3) != nil)
        #expect(target("x", count: LinkTarget.longestHyperlink - 2) == nil)
        // Six bytes for two.
        #expect(target("é", count: 300) == "ab:" + String(repeating: "%C3%A9", count: 300))
        #expect(target("é", count: 400) == nil)
    }

    private static func detect(_ environment: [String: String], isTerminal: Bool = true) -> Bool {
        let usual = ["TERM": "xterm-256color"].merging(environment) { $1 }
        return TerminalRenderer.supportsHyperlinks(environment: usual, isTerminal: isTerminal)
    }

    @Test(arguments: [
        ["VTE_VERSION": "5001"], ["VTE_VERSION": "7600"], ["KONSOLE_VERSION": "201200"], ["KONSOLE_VERSION": "240800"],
        ["WT_SESSION": "f9e1a8b2"], ["KITTY_WINDOW_ID": "1"], ["TERM": "xterm-kitty"], ["TERM": "xterm-ghostty"],
        ["TERM": "alacritty"], ["TERM": "alacritty-direct"], ["TERM": "foot"], ["TERM": "foot-extra"],
        ["TERM": "contour"], ["TERM": "wezterm"], ["TERM": "rio"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.1.0"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.10"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "4.0"],
        ["TERM_PROGRAM": "WezTerm", "TERM_PROGRAM_VERSION": "20240203-110809-5046fc22"],
        ["TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1.72.0"],
        ["TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1.101.2"],
        ["TERM_PROGRAM": "ghostty"], ["TERM_PROGRAM": "Hyper"], ["TERM_PROGRAM": "mintty"], ["TERM_PROGRAM": "rio"],
        ["TERM_PROGRAM": "zed"], ["TERM_PROGRAM": "unheard of", "VTE_VERSION": "7600"],
        ["LC_TERMINAL": "iTerm2", "LC_TERMINAL_VERSION": "3.5.0"],
        ["TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4", "TERM": "tmux-256color", "TMUX": "/x,1,0"],
        ["TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.5a", "TERM": "screen-256color", "TMUX": "/x,1,0"],
        ["FORCE_HYPERLINK": "1", "TERM": "dumb", "NO_COLOR": "1"], ["FORCE_HYPERLINK": "true", "STY": "1.x"],
    ])
    func `a terminal with hyperlinks is detected from the environment`(environment: [String: String]) {
        #expect(Self.detect(environment))
    }

    @Test(arguments: [
        [:], ["TERM": ""], ["TERM": "dumb", "VTE_VERSION": "7600"], ["TERM": "linux", "KITTY_WINDOW_ID": "1"],
        ["VTE_VERSION": "4601"], ["VTE_VERSION": "5000"], ["VTE_VERSION": "x"], ["VTE_VERSION": ""],
        ["KONSOLE_VERSION": "200803"], ["NO_COLOR": "1", "TERM": "xterm-kitty"],
        ["TERM_PROGRAM": "Apple_Terminal", "TERM_PROGRAM_VERSION": "455", "VTE_VERSION": "7600"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.0.15"], ["TERM_PROGRAM": "iTerm.app"],
        ["TERM_PROGRAM": "WezTerm", "TERM_PROGRAM_VERSION": "20200113-214446-bb6251f"],
        ["TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1.71.2"], ["TERM_PROGRAM": "unheard of"],
        ["LC_TERMINAL": "iTerm2", "LC_TERMINAL_VERSION": "3.0.9"], ["LC_TERMINAL": "iTerm2"],
        ["TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a", "TMUX": "/x,1,0"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.5", "TMUX": "/x,1,0"],
        ["STY": "1.x", "TERM": "screen.xterm-256color", "VTE_VERSION": "7600"],
        ["TERM": "screen", "VTE_VERSION": "7600"],
        ["TERM": "footnote"], ["FORCE_HYPERLINK": "0", "TERM": "xterm-kitty"],
        ["FORCE_HYPERLINK": "", "TERM": "xterm"],
    ])
    func `no other environment has hyperlinks`(environment: [String: String]) {
        #expect(!Self.detect(environment))
    }

    @Test func `a file has no hyperlinks unless forced`() {
        #expect(!Self.detect(["TERM": "xterm-kitty"], isTerminal: false))
        #expect(Self.detect(["FORCE_HYPERLINK": "1"], isTerminal: false))
    }

    @Test(arguments: ["https://a", "mailto:a@b", "a+b-c.9:d", "HTTP:x"])
    func `an absolute target becomes a hyperlink`(target: String) {
        let output = TerminalRenderer(width: 40, hyperlinks: true).render(Document("[a](\(target))"))
        #expect(output.hasPrefix("\u{1B}]8;id=0;\(target)\u{1B}\\a"))
    }

    @Test(arguments: ["docs/cli.md", "/a:b", "//a/b", "C:/a", "9a:b", "a_b:c", "?a:b", "x"])
    func `any other target is shown after the text`(target: String) {
        let output = TerminalRenderer(width: 40, hyperlinks: true).render(Document("[a](\(target)) ![b](\(target))"))
        #expect(output == "a <\(target)> b <\(target)>")
    }

    @Test func `a target within the document is left out`() {
        let document = Document("[a](#b)")
        #expect(TerminalRenderer(width: 40, hyperlinks: true).render(document) == "a")
        #expect(TerminalRenderer(width: 40).render(document) == "a" && PlainText(document).string == "a")
    }

    @Test func `a visible target is whole if it fits on a line, and is shown once`() {
        let renderer = TerminalRenderer(width: 20)
        #expect(renderer.render(Document("[b c](http://a-b.org/c-d)")) == "b c\n<http://a-b.org/c-d>")
        #expect(renderer.render(Document("https://a.b/\"x")) == "https://a.b/\"x")
        #expect(renderer.render(Document("![](https://a.b/c.png?d=e/f)")) == "c.png\n<https://a.b/c.png?d\n=e/f>")
    }

    @Test func `a link whose target has more than 2,083 bytes shows it as text`() {
        let renderer = TerminalRenderer(width: 4_000, hyperlinks: true)
        let longest = "https://a.b/" + String(repeating: "c", count: 2_071)
        #expect(renderer.render(Document("[d](\(longest))")) == "\u{1B}]8;id=0;\(longest)\u{1B}\\d\u{1B}]8;;\u{1B}\\")
        #expect(renderer.render(Document("[d](\(longest)c)")) == "d <\(longest)c>")
        #expect(renderer.render(Document("![d](\(longest)c)")) == "d <\(longest)c>")
        // The bytes of the hyperlink count, which are percent-encoded.
        let encoded = "https://a.b/" + String(repeating: "|", count: 691)
        #expect(renderer.render(Document("<\(encoded)>")) == encoded)
    }

    @Test func `targets repeated on further lines add at most as many bytes as the text has, or 100 kB`() {
        let target = "https://a.b/" + String(repeating: "c", count: 2_000)
        func count(_ lines: Int) -> Int {
            let text = String(repeating: "word ", count: lines)
            let output = TerminalRenderer(width: 5, hyperlinks: true).render(Document("[\(text)](\(target)) [e](f:g)"))
            #expect(output.contains("f:g"))
            return output.split(separator: target, omittingEmptySubsequences: false).count - 1
        }
        #expect(count(10) == 10)
        #expect(count(49) == 49)
        #expect(count(50) == 50)
        #expect(count(1_000) == 50)
        #expect(count(100_000) == 249)
    }

    @Test func `each line of a link has the same number, and each link a different one`() {
        let document = Document("[several words](ab:c) and [several more](ab:c)")
        let output = TerminalRenderer(width: 8, hyperlinks: true).render(document)
        let numbers = output.split(separator: "\n").map { line in
            line.split(separator: "\u{1B}]8;id=", omittingEmptySubsequences: false).dropFirst().map {
                String($0.prefix { $0 != ";" })
            }
        }
        #expect(numbers == [["0"], ["0"], [], ["1"], ["1"]] || numbers == [["0"], ["0"], ["1"], ["1"]], "\(numbers)")
        #expect(output.split(separator: "\n").allSatisfy { !$0.contains("id=") || $0.hasSuffix("\u{1B}]8;;\u{1B}\\") })
    }
}

@Suite struct `Links in a terminal` {
    private func render(_ markdown: String, hyperlinks: Bool = false, width: Int = 80) -> String {
        visible(TerminalRenderer(width: width, hyperlinks: hyperlinks).render(Document(markdown), style: .init()))
    }

    @Test(arguments: [
        ("[a](http://b)", "a <http://b>"), ("[a *b* c](d)", "a b c <d>"), ("<http://b>", "http://b"),
        ("<a@b.c>", "a@b.c"), ("http://b.org/ä", "http://b.org/ä"), ("www.b.org", "www.b.org"), ("[a]()", "a"),
        ("[a](b) [a](b)", "a <b> a <b>"), ("[a](b)[c](d)", "a <b>c <d>"), ("![a](b)", "a <b>"),
        ("![](x/b.png)", "b.png <x/b.png>"),
        ("[![a](b)](c)", "a <b> <c>"), ("[a\\\nb](c)", "a\nb <c>"),
        ("[bank.org](http://evil.org/bank.org)", "bank.org <http://evil.org/bank.org>"),
        ("[http://bank.org](http://bank.org.evil.org)", "http://bank.org <http://bank.org.evil.org>"),
    ])
    func `a link is followed by its target once, unless the text is the target`(_ markdown: String, _ output: String) {
        #expect(render(markdown) == output)
    }

    @Test func `a link is a hyperlink if the terminal has hyperlinks`() {
        #expect(render("x [a *b*](http://c) d", hyperlinks: true) == "x ⟦8;id=0;http://c⟧a b⟦8;;⟧ d")
        #expect(render("![a](ab:c)", hyperlinks: true) == "⟦8;id=0;ab:c⟧a⟦8;;⟧")
    }

    @Test func `a link over two lines is one hyperlink, which is closed at the end of each line`() {
        #expect(render("[aa bb](ab:c)", hyperlinks: true, width: 3) == "⟦8;id=0;ab:c⟧aa⟦8;;⟧\n⟦8;id=0;ab:c⟧bb⟦8;;⟧")
    }

    @Test func `adjacent links are two hyperlinks, even if their targets are the same`() {
        #expect(render("[a](ab:c)[b](ab:c)", hyperlinks: true) == "⟦8;id=0;ab:c⟧a⟦8;id=1;ab:c⟧b⟦8;;⟧")
    }
}
