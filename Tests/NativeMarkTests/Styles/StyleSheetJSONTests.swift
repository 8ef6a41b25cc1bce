@testable import NativeMark
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct `Style sheets in JSON` {
    @Test func `a written sheet is read back unchanged`() throws {
        #expect(try StyleSheet(json: StyleSheet.default.json) == .default)
        #expect(try StyleSheet(json: StyleSheet().json) == StyleSheet())
        #expect(try StyleSheet(json: full.json) == full)
        let coded = try JSONDecoder().decode(StyleSheet.self, from: JSONEncoder().encode(full))
        #expect(coded == full)
    }

    @Test func `a line height that isn't a number is left out, and has no effect before or after`() throws {
        let sheet = StyleSheet().setting(block: [.paragraph: [.lineHeight(.infinity), .alignment(.center)]])
        for sheet in [sheet, try StyleSheet(json: sheet.json)] {
            let style = StyledText(Document("a"), style: sheet).blocks.last!.style
            #expect(style.lineHeight == nil && style.alignment == .center)
            #expect(try !css(of: sheet).withoutStrings.contains("line-height: 0"))
        }
    }

    @Test func `a sheet extends the default unless it names another base`() throws {
        #expect(try StyleSheet(json: "{}") == .default)
        #expect(try StyleSheet(json: #"{"base": "empty"}"#) == StyleSheet())
        let own = try StyleSheet(json: #"{"inlines": {"emphasis": {"color": "accent"}}}"#)
        #expect(own == .default.setting(inline: [.emphasis: [.color(.accent)]]))
    }

    @Test func `the example in the documentation gives the documented sheet`() throws {
        let sheet = try StyleSheet(
            json: """
                {
                  "base": "default",
                  "colors": { "accent": { "light": "#0A5FFF", "dark": "#6FB1FF" } },
                  "blocks": {
                    "heading1": { "textStyle": "largeTitle", "color": "accent", "spacingAfter": "0.5em" },
                    "orderedList": { "marker": { "numbers": ["decimal", "lowercaseLetters"] } },
                    "codeBlock": { "border": { "edges": ["leading"], "color": "border" }, "padding": "1em" }
                  },
                  "inlines": { "emphasis": { "color": "ansi:cyan", "italic": false } }
                }
                """)
        #expect(
            sheet
                == StyleSheet.default
                .setting(colors: [.accent: .init(light: .rgb(0x0A5FFF), dark: .rgb(0x6FB1FF))])
                .setting(block: [
                    .heading(level: 1): [.textStyle(.largeTitle), .color(.accent), .spacingAfter(.em(0.5))],
                    .list(.ordered): [.marker(.numbers([.decimal, .lowercaseLetters]))],
                    .codeBlock: [.border(.init(edges: [.leading])), .padding(.all(.em(1)))],
                ])
                .setting(inline: [.emphasis: [.color(.ansi(.cyan)), .italic(false)]]))
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        var json: String
        var keyPath: String
        /// Words that the problem or the remedy must contain.
        var words: [String]

        init(_ json: String, _ keyPath: String, _ words: String...) {
            self.json = json
            self.keyPath = keyPath
            self.words = words
        }

        var testDescription: String { json }
    }

    @Test(arguments: [
        Mistake("[]", "", "object", "{"),
        Mistake("{", "", "JSON", "comma"),
        Mistake(##"{"blcks": {}}"##, "blcks", "isn't a known part of a style sheet", "blocks"),
        Mistake(##"{"base": "dark"}"##, "base", "dark", "default", "empty", "github"),
        Mistake(##"{"base": 1}"##, "base", "string"),
        Mistake(##"{"blocks": []}"##, "blocks", "object"),
        Mistake(##"{"blocks": {"heading7": {}}}"##, "blocks.heading7", "isn't a known block", "heading6"),
        Mistake(##"{"blocks": {"heading1": {"colour": "accent"}}}"##, "blocks.heading1.colour", "color"),
        Mistake(
            ##"{"blocks": {"heading1": {"spacingAfter": "big"}}}"##, "blocks.heading1.spacingAfter", "big", "1.5em"),
        Mistake(
            ##"{"blocks": {"heading1": {"spacingAfter": true}}}"##, "blocks.heading1.spacingAfter", "length", "12pt"),
        Mistake(##"{"blocks": {"heading1": {"kerning": "infem"}}}"##, "blocks.heading1.kerning", "length"),
        Mistake(##"{"blocks": {"table": {"alignment": "left"}}}"##, "blocks.table.alignment", "left", "leading"),
        Mistake(##"{"blocks": {"lists": {"marker": "x"}}}"##, "blocks.lists.marker", "bullets"),
        Mistake(
            ##"{"blocks": {"lists": {"marker": {"numbers": ["greek"]}}}}"##, "blocks.lists.marker.numbers[0]", "greek"),
        Mistake(
            ##"{"blocks": {"lists": {"marker": {"numbers": [], "bullets": []}}}}"##, "blocks.lists.marker", "either"),
        Mistake(
            ##"{"blocks": {"lists": {"marker": {"bullets": ["x"], "suffix": ")"}}}}"##, "blocks.lists.marker", "either"),
        Mistake(
            ##"{"blocks": {"lists": {"marker": {"numbers": [], "prefix": 1}}}}"##, "blocks.lists.marker.prefix",
            "prefix"),
        Mistake(##"{"blocks": {"lists": {"marker": {"bullets": "x"}}}}"##, "blocks.lists.marker.bullets", "["),
        Mistake(##"{"blocks": {"item": {"border": {"edges": ["up"]}}}}"##, "blocks.item.border.edges[0]", "up", "top"),
        Mistake(##"{"blocks": {"item": {"border": {"size": 1}}}}"##, "blocks.item.border.size", "width"),
        Mistake(
            ##"{"blocks": {"item": {"border": {"pattern": "wavy"}}}}"##, "blocks.item.border.pattern", "wavy", "dashed"),
        Mistake(
            ##"{"blocks": {"item": {"border": {"cornerRadius": "round"}}}}"##, "blocks.item.border.cornerRadius",
            "length"),
        Mistake(
            ##"{"inlines": {"code": {"inlineBackground": {"cornerRadius": 6}}}}"##, "inlines.code.inlineBackground",
            "no color"),
        Mistake(
            ##"{"inlines": {"code": {"inlineBackground": {"color": "code", "radius": 6}}}}"##,
            "inlines.code.inlineBackground.radius", "cornerRadius"),
        Mistake(##"{"inlines": {"link": {"underline": 1}}}"##, "inlines.link.underline", "true or false", "wavy"),
        Mistake(##"{"inlines": {"link": {"underline": "curly"}}}"##, "inlines.link.underline", "curly", "wavy"),
        Mistake(
            ##"{"inlines": {"link": {"underline": {"color": "pink"}}}}"##, "inlines.link.underline.color", "pink",
            "accent"),
        Mistake(
            ##"{"inlines": {"link": {"underline": {"width": 2}}}}"##, "inlines.link.underline.width", "pattern"),
        Mistake(##"{"blocks": {"item": {"padding": {"left": 1}}}}"##, "blocks.item.padding.left", "leading"),
        Mistake(##"{"inlines": {"bold": {}}}"##, "inlines.bold", "strong"),
        Mistake(##"{"inlines": {"strong": {"bold": "yes"}}}"##, "inlines.strong.bold", "true or false"),
        Mistake(##"{"inlines": {"strong": {"textStyle": "huge"}}}"##, "inlines.strong.textStyle", "huge", "largeTitle"),
        Mistake(##"{"inlines": {"strong": {"color": "pink"}}}"##, "inlines.strong.color", "pink", "accent"),
        Mistake(##"{"inlines": {"strong": {"color": "#12345"}}}"##, "inlines.strong.color", "#RRGGBB"),
        Mistake(##"{"inlines": {"strong": {"color": "#+12345"}}}"##, "inlines.strong.color", "#RRGGBB"),
        Mistake(##"{"inlines": {"strong": {"color": {"light": "#123456"}}}}"##, "inlines.strong.color", "both"),
        Mistake(##"{"inlines": {"strong": {"color": {"light": "accent"}}}}"##, "inlines.strong.color.light", "accent"),
        Mistake(##"{"inlines": {"strong": {"alignment": "center"}}}"##, "inlines.strong.alignment", "style of text"),
        Mistake(##"{"colors": {"accent": "link"}}"##, "colors.accent", "link", "ansi:red"),
        Mistake(##"{"colors": {"brand": "#123456"}}"##, "colors.brand", "accent"),
        Mistake(##"{"colors": {"accent": "#1234567"}}"##, "colors.accent", "#RRGGBBAA"),
        Mistake(##"{"colors": {"accent": "#123456é8"}}"##, "colors.accent", "#RRGGBBAA"),
        Mistake(##"{"colors": {"accent": "name:"}}"##, "colors.accent", "name:Brand"),
        Mistake(##"{"colors": {"accent": "color(srgb 1 0 0)"}}"##, "colors.accent", "display-p3 1 0.5 0"),
        Mistake(##"{"colors": {"accent": "color(display-p3 1 0)"}}"##, "colors.accent", "display-p3 1 0.5 0"),
        Mistake(##"{"colors": {"accent": "color(display-p3 1 0 1.1)"}}"##, "colors.accent", "from 0 to 1"),
        Mistake(##"{"colors": {"accent": "color(display-p3 1 0 nan)"}}"##, "colors.accent", "from 0 to 1"),
        Mistake(##"{"colors": {"accent": "color(display-p3 1 0 0 / 1 / 1)"}}"##, "colors.accent", "display-p3"),
        Mistake(##"{"colors": {"accent": "color(display-p3 1 0 0 /)"}}"##, "colors.accent", "display-p3"),
        Mistake(##"{"colors": {"accent": {"name": 1}}}"##, "colors.accent.name", "name of a color"),
        Mistake(##"{"colors": {"accent": {"name": "A", "light": "#123456"}}}"##, "colors.accent.light", "fallback"),
        Mistake(##"{"colors": {"accent": {"name": "A", "fallback": "name:B"}}}"##, "colors.accent.fallback", "#RRGGBB"),
        Mistake(
            ##"{"colors": {"accent": {"light": {"fallback": "#123456"}, "dark": "standard"}}}"##, "colors.accent.light",
            "has no name"),
        Mistake(
            ##"{"colors": {"accent": {"light": "#123456", "dark": "#123456", "darkHighContrast": "#123456"}}}"##,
            "colors.accent.darkHighContrast", "darkIncreasedContrast"),
        Mistake(##"{"inlines": {"code": {"monospaced": true}}}"##, "inlines.code.monospaced", "fontDesign"),
        Mistake(##"{"inlines": {"code": {"fontDesign": "mono"}}}"##, "inlines.code.fontDesign", "mono", "monospaced"),
        Mistake(##"{"inlines": {"code": {"fontWeight": 700}}}"##, "inlines.code.fontWeight", "font weight"),
        Mistake(##"{"inlines": {"code": {"fontWeight": "fat"}}}"##, "inlines.code.fontWeight", "fat", "semibold"),
        Mistake(##"{"inlines": {"code": {"fontWidth": "thin"}}}"##, "inlines.code.fontWidth", "thin", "condensed"),
        Mistake(##"{"inlines": {"code": {"fontSize": "big"}}}"##, "inlines.code.fontSize", "big", "1.5em"),
        Mistake(##"{"inlines": {"code": {"fontFamily": ["A"]}}}"##, "inlines.code.fontFamily", "name of a font family"),
        Mistake(
            ##"{"blocks": {"thematicBreak": {"divider": 2}}}"##, "blocks.thematicBreak.divider", "* * *", "thickness"),
        Mistake(
            ##"{"blocks": {"thematicBreak": {"divider": {"ornament": "x", "width": 2}}}}"##,
            "blocks.thematicBreak.divider", "either"),
        Mistake(
            ##"{"blocks": {"thematicBreak": {"divider": {"ornament": 1}}}}"##, "blocks.thematicBreak.divider.ornament",
            "ornament"),
        Mistake(
            ##"{"blocks": {"thematicBreak": {"divider": {"height": 1}}}}"##, "blocks.thematicBreak.divider.height",
            "thickness"),
        Mistake(
            ##"{"blocks": {"thematicBreak": {"divider": {"width": "150%"}}}}"##, "blocks.thematicBreak.divider.width",
            "150%", "50%"),
        Mistake(
            ##"{"blocks": {"thematicBreak": {"divider": {"width": "wide"}}}}"##, "blocks.thematicBreak.divider.width",
            "wide", "1.5em"),
        Mistake(##"{"blocks": {"table": {"tableLines": true}}}"##, "blocks.table.tableLines", "header", "parts"),
        Mistake(
            ##"{"blocks": {"table": {"tableLines": ["inner"]}}}"##, "blocks.table.tableLines[0]", "inner", "columns"),
        Mistake(##"{"blocks": {"table": {"tableLines": {"lines": []}}}}"##, "blocks.table.tableLines.lines", "parts"),
        Mistake(##"{"blocks": {"table": {"tableLines": {"parts": {}}}}}"##, "blocks.table.tableLines.parts", "["),
        Mistake(
            ##"{"blocks": {"table": {"alternateRowBackground": "pink"}}}"##, "blocks.table.alternateRowBackground",
            "pink"),
        Mistake(##"{"inlines": {"image": {"imageLayout": 300}}}"##, "inlines.image.imageLayout", "fitWidth"),
        Mistake(
            ##"{"inlines": {"image": {"imageLayout": "cover"}}}"##, "inlines.image.imageLayout", "cover", "natural"),
        Mistake(
            ##"{"inlines": {"image": {"imageLayout": {"size": "natural", "maximumWidth": 3}}}}"##,
            "inlines.image.imageLayout", "either"),
        Mistake(
            ##"{"inlines": {"image": {"imageLayout": {"maximumWidth": "big"}}}}"##,
            "inlines.image.imageLayout.maximumWidth", "big"),
        Mistake(
            ##"{"inlines": {"image": {"imageLayout": {"radius": 1}}}}"##, "inlines.image.imageLayout.radius",
            "cornerRadius"),
        Mistake(
            ##"{"blocks": {"lists": {"marker": {"bullets": [1]}}}}"##, "blocks.lists.marker.bullets[0]", "disc"),
        Mistake(
            ##"{"blocks": {"lists": {"marker": {"bullets": [{"shape": "star"}]}}}}"##,
            "blocks.lists.marker.bullets[0].shape", "star", "square"),
        Mistake(
            ##"{"blocks": {"lists": {"marker": {"bullets": [{}]}}}}"##, "blocks.lists.marker.bullets[0]", "no shape"),
        Mistake(
            ##"{"blocks": {"lists": {"marker": {"bullets": [{"image": "a.png"}]}}}}"##,
            "blocks.lists.marker.bullets[0].image", "shape"),
        Mistake(##"{"blocks": {"lists": {"taskMarker": "box"}}}"##, "blocks.lists.taskMarker", "checkbox", "open"),
        Mistake(##"{"blocks": {"lists": {"taskMarker": {"open": "x"}}}}"##, "blocks.lists.taskMarker", "both"),
        Mistake(
            ##"{"blocks": {"lists": {"taskMarker": {"checkbox": {"closed": "link"}}}}}"##,
            "blocks.lists.taskMarker.checkbox.closed", "done"),
        Mistake(##"{"blocks": {"listLevel10": {}}}"##, "blocks.listLevel10", "listLevel9", "firstBlock"),
        Mistake(##"{"blocks": {"item": {"lineHeight": "1.5"}}}"##, "blocks.item.lineHeight", "number such as 1.5"),
        Mistake(##"{"blocks": {"item": {"hyphenation": 1}}}"##, "blocks.item.hyphenation", "true or false"),
    ])
    func `an error names the key of a mistake and what to write instead`(_ mistake: Mistake) throws {
        let error = try #require(throws: NativeMarkError.self) { try StyleSheet(json: mistake.json) }

        #expect(error.subject == mistake.keyPath)
        for word in mistake.words { #expect("\(error)".contains(word), "\(error)") }
        #expect(!error.message.isEmpty && error.remedy?.isEmpty == false)
    }

    /// A sheet with every style.
    private var full: StyleSheet {
        let text: [StyleSheet.InlineStyle] = [
            .textStyle(.caption1), .fontSize(.em(0.9)), .fontDesign(.serif), .fontFamily("Iowan \"Old\" Style"),
            .fontWeight(.ultraLight), .fontWidth(.expanded), .color(.role(.tertiary)),
            .inlineBackground(
                .init(
                    .rgb(0x00FF7F), padding: .init(leading: .em(0.4)), cornerRadius: .points(6),
                    border: .init(edges: [.top]))),
            .kerning(.points(-1.5)),
            .baseline(.em(-0.25)), .bold(false), .italic(true),
            .underline(.init(.dotted, color: .accent)), .strikethrough(.init(.double)),
            .imageLayout(
                .init(.maximum(width: .em(20), height: .points(9)), alignment: .trailing, cornerRadius: .em(1))),
        ]
        let block: [StyleSheet.BlockStyle] =
            text.map { .text($0) } + [
                .alignment(.justified), .firstLineIndent(.em(-2)), .leadingIndent(.em(2)), .trailingIndent(.points(3)),
                .spacingBefore(.em(1.25)), .spacingAfter(.points(0)), .lineSpacing(.em(0.1)), .lineHeight(1.4),
                .hyphenation(true),
                .marker(.numbers([.uppercaseRoman, .octal], prefix: "(", suffix: ")")),
                .border(
                    .init(
                        edges: [.top, .trailing], width: .em(0.1), color: .ansi(.brightMagenta), pattern: .double,
                        cornerRadius: .points(6))),
                .padding(.init(top: .em(1), leading: .points(2), bottom: .em(3), trailing: .points(4))),
                .background(.dynamic(light: .standard, dark: .ansi(.black))),
                .taskMarker(.checkbox(open: .secondary, done: .dynamic(light: .rgb(1), dark: .rgb(2)))),
                .tableLines(.init([.rows, .outer], width: .em(0.1), color: .accent, pattern: .double)),
                .alternateRowBackground(.rgb(0x010203, alpha: 0.5)),
                .divider(
                    .rule(
                        thickness: .em(0.5), color: .accent, width: .fraction(0.07), pattern: .dotted,
                        alignment: .trailing)),
            ]
        var sheet = StyleSheet().setting(colors: [
            .link: .init(light: .rgb(0x0A0B0C), dark: .ansi(.white)),
            .accent: .init(
                light: .rgb(0x0A0B0C, alpha: 0.5), dark: .displayP3(red: 1, green: 0.1 + 0.2, blue: 1e-9, alpha: 0.3),
                lightIncreasedContrast: .displayP3(red: 0, green: 1, blue: 0.5),
                darkIncreasedContrast: .named("A", fallback: .rgb(3))),
            .code: .named("B/c, \"d\"", fallback: .init(.standard)),
            .border: .named("B", fallback: .init(light: .rgb(1), dark: .rgb(2), darkIncreasedContrast: .ansi(.red))),
            .secondary: .init(light: .named("C", fallback: .standard), dark: .named("D", fallback: .standard)),
        ])
        for selector in StyleSheet.BlockSelector.allCases { sheet = sheet.setting(block: [selector: block]) }
        for selector in StyleSheet.InlineSelector.allCases { sheet = sheet.setting(inline: [selector: text]) }
        return
            sheet
            .setting(block: [
                .list(.bullets): [.marker(.bullets(["–", "", .disc, .circle, .square]))], .item: [.marker(.none)],
            ])
            .setting(block: [
                .paragraph: [.taskMarker(.checkbox())], .document: [.taskMarker(.texts(open: "", done: "x"))],
                .footnote: [.taskMarker(.checkbox(done: .accent))],
            ])
            .setting(inline: [
                .link: [.imageLayout(.init())], .code: [.imageLayout(.init(.maximum(), alignment: .center))],
                .emphasis: [.imageLayout(.init(.maximum()))],
                .strong: [.imageLayout(.init(.fitWidth, cornerRadius: .points(2)))],
                .image: [.imageLayout(.init(.maximum(height: .points(2))))],
            ])
            .setting(block: [
                .table: [.tableLines(.init([.header]))], .tableRow: [.tableLines(.init([]))],
                .headings: [.divider(.ornament("⁂"))],
                .heading(level: 1): [.divider(.ornament("*", alignment: .leading))],
                .heading(level: 2): [.divider(.rule(width: .length(.em(3))))],
            ])
    }
}

/// 8 × 250 random sheets, and as many with mutated bytes. None crashes, and those that are accepted can be written and shown.
@Suite struct `Random style sheets` {
    static let document = Document(
        """
        # a *b* `c`

        > - [x] d **e**
        > - l
        >   1. [f](g) ~~h~~ ![i](j)[^k]

            code

        | l | m |
        |---|--:|
        | n | o |
        | p | q |

        ---

        [^k]: p
        """)

    /// Renders in every back-end that this platform has.
    private func show(_ sheet: StyleSheet, using random: inout SeededRandom) throws {
        let environment = StyleSheet.Environment(
            appearance: .allCases.randomElement(using: &random) ?? .light,
            contrast: .allCases.randomElement(using: &random) ?? .standard,
            sizeCategory: .allCases.randomElement(using: &random) ?? .large,
            platform: .allCases.randomElement(using: &random) ?? .iOS)
        let text = StyledText(Self.document, style: sheet, environment: environment)
        for block in text.blocks { #expect((1...1_000).contains(block.style.text.fontSize)) }

        let width = Int.random(in: 1...60, using: &random)
        for color in TerminalRenderer.Color.allCases {
            let shown = TerminalRenderer(width: width, color: color).render(text)
            let controls = shown.unicodeScalars.filter { $0.value < 32 && $0 != "\n" || (127..<160).contains($0.value) }
            #expect(Set(controls).isSubset(of: color == .none ? [] : ["\u{1B}"]))
        }
        #expect(AttributedString(text).runs.count > 1)
        let layout = TextLayout(
            text, width: Double(Int.random(in: 1...400, using: &random)), engine: MonospacedEngine(),
            imageSize: { _ in .init(width: 30, height: 20) })
        #expect(layout.size.height.isFinite && layout.size.height >= 0)
        let css = try css(of: sheet)
        #expect(css.isComplete)
        for word in ["<", "\\", "'", "url(", "/*", "@import"] { #expect(!css.withoutStrings.contains(word)) }
    }

    @Test(arguments: 0..<8) func `a random sheet is refused, or can be written and shown`(seed: Int) throws {
        var generator = RandomStyleSheet(random: SeededRandom(seed: UInt64(seed)))
        var accepted = 0
        for _ in 0..<250 {
            let json = generator.sheet()
            guard let sheet = try? StyleSheet(json: json) else { continue }
            accepted += 1
            #expect(try StyleSheet(json: sheet.json) == sheet, "\(json)")
            try show(sheet, using: &generator.random)
        }
        #expect((100..<250).contains(accepted), "\(accepted)")
    }

    @Test(arguments: 8..<16)
    func `a sheet with mutated bytes is refused with an error, or can be written and shown`(seed: Int) throws {
        var generator = RandomStyleSheet(random: SeededRandom(seed: UInt64(seed)))
        var (accepted, refused) = (0, 0)
        for _ in 0..<250 {
            let json = generator.mutated(generator.sheet())
            do throws(NativeMarkError) {
                let sheet = try StyleSheet(json: json)
                accepted += 1
                #expect((try? StyleSheet(json: sheet.json)) == sheet, "\(json)")
                try? show(sheet, using: &generator.random)
            } catch {
                refused += 1
                #expect(!error.message.isEmpty && error.remedy?.isEmpty == false)
            }
        }
        #expect(accepted > 0 && refused >= 50, "\(accepted) accepted, \(refused) refused")
    }

    @Test(arguments: [
        String(repeating: "[", count: 100_000), String(repeating: "{\"blocks\":", count: 100_000),
        "{\"colors\": {\"accent\": \(String(repeating: "{\"light\":", count: 100_000))",
        "{\"blocks\": {\"item\": {\"lineHeight\": 1\(String(repeating: "0", count: 100_000))}}}",
        "{\"blocks\": {\"item\": {\"leadingIndent\": 1e999}}}",
        "{\"blocks\": {\"item\": {\"leadingIndent\": \"1e999em\"}}}",
    ])
    func `sheets that nest too deep or have numbers that are too large are refused`(_ json: String) {
        #expect(throws: NativeMarkError.self) { try StyleSheet(json: json) }
    }

    @Test func `a key that appears twice has one of its values`() throws {
        let sheet = try StyleSheet(json: #"{"base": "empty", "colors": {"link": "ansi:red", "link": "ansi:blue"}}"#)
        let link = sheet.colors[.link]
        #expect(link == .init(.ansi(.red)) || link == .init(.ansi(.blue)))
    }

    @Test func `the CSS of ten thousand bullets is in proportion to their JSON`() throws {
        let bullets = String(repeating: "\"</style>\", ", count: 10_000) + "\"\""
        let json = "{ \"base\": \"empty\", \"blocks\": { \"lists\": { \"marker\": { \"bullets\": [\(bullets)] } } } }"
        let sheet = try StyleSheet(json: json)
        let html = HTMLRenderer(style: sheet).render(Document(""))
        #expect(html.utf8.count < 5 * json.utf8.count)
    }
}

/// Writes JSON that is mostly a style sheet: known and unknown keys with values of the right and of the wrong kind.
struct RandomStyleSheet<Random: RandomNumberGenerator> {
    var random: Random

    private mutating func pick(_ values: [String]) -> String { values.randomElement(using: &random) ?? "" }

    private mutating func happens(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    mutating func sheet() -> String {
        var parts: [String] = []
        if happens(oneIn: 2) {
            parts.append("\"base\": \(pick(["\"default\"", "\"empty\"", "\"github\"", "\"empty\""]))")
        }
        if happens(oneIn: 2) {
            parts.append("\"colors\": \(object(StyleSheet.Role.allCases.map(\.rawValue)) { $0.paint() })")
        }
        for part in ["blocks", "inlines"] where !happens(oneIn: 3) {
            parts.append(
                "\"\(part)\": "
                    + object(part == "blocks" ? Self.blocks : StyleSheet.InlineSelector.allCases.map(\.name)) {
                        $0.rule(isBlock: part == "blocks")
                    })
        }
        if happens(oneIn: 40) { parts.append("\"\(pick(["colours", "", "blocks"]))\": \(anything())") }
        return "{ \(parts.shuffled(using: &random).joined(separator: ", ")) }"
    }

    private static var blocks: [String] {
        [
            "document", "paragraph", "headings", "heading1", "heading6", "blockQuote", "codeBlock", "lists",
            "orderedList", "bulletList", "item", "thematicBreak", "table", "tableHeader", "tableRow", "tableCell",
            "footnotes", "footnote", "listLevel1", "listLevel9", "tightLists", "looseLists", "openTaskItem",
            "doneTaskItem",
            "firstBlock", "lastBlock",
        ]
    }

    /// Some keys appear twice.
    private mutating func object(_ keys: [String], _ value: (inout Self) -> String) -> String {
        let fields = (0..<Int.random(in: 0...4, using: &random)).map { _ in "\"\(pick(keys))\": \(value(&self))" }
        return "{ \(fields.joined(separator: ", ")) }"
    }

    private mutating func rule(isBlock: Bool) -> String {
        let text = [
            "textStyle", "fontSize", "fontDesign", "fontFamily", "fontWeight", "fontWidth", "color", "inlineBackground",
            "kerning", "baseline", "bold", "italic", "underline", "strikethrough",
            "imageLayout",
        ]
        let block = [
            "alignment", "firstLineIndent", "leadingIndent", "trailingIndent", "spacingBefore", "spacingAfter",
            "lineSpacing", "lineHeight", "hyphenation", "marker", "border", "padding", "background", "divider",
            "tableLines", "alternateRowBackground", "taskMarker",
        ]
        let fields = (0..<Int.random(in: 0...5, using: &random)).map { _ in
            let key = pick(isBlock ? text + block : text)
            return "\"\(happens(oneIn: 200) ? key + "s" : key)\": \(happens(oneIn: 60) ? anything() : value(of: key))"
        }
        return "{ \(fields.joined(separator: ", ")) }"
    }

    private mutating func value(of key: String) -> String {
        switch key {
        case "textStyle": return "\"\(pick(StyleSheet.TextStyle.allCases.map(\.rawValue)))\""
        case "fontDesign": return "\"\(pick(StyleSheet.FontDesign.allCases.map(\.rawValue)))\""
        case "fontWeight": return "\"\(pick(StyleSheet.FontWeight.allCases.map(\.rawValue)))\""
        case "fontWidth": return "\"\(pick(StyleSheet.FontWidth.allCases.map(\.rawValue)))\""
        case "alignment": return "\"\(pick(StyleSheet.Alignment.allCases.map(\.rawValue)))\""
        case "fontFamily": return string()
        case "color", "inlineBackground", "background", "alternateRowBackground": return color()
        case "imageLayout":
            return pick([
                "\"fitWidth\"", "\"natural\"", "{ \"maximumWidth\": \(length()), \"cornerRadius\": \(length()) }",
                "{ \"maximumHeight\": \(length()), \"alignment\": \"center\" }",
            ])
        case "taskMarker":
            return pick([
                "\"checkbox\"", "{ \"checkbox\": { \"done\": \(color()) } }",
                "{ \"open\": \(string()), \"done\": \(string()) }",
            ])
        case "tableLines":
            let parts = "[\"\(pick(StyleSheet.TableLines.Part.allCases.map(\.rawValue)))\", \"header\"]"
            return happens(oneIn: 2)
                ? parts : "{ \"parts\": \(parts), \"width\": \(length()), \"pattern\": \"double\" }"
        case "bold", "italic", "underline", "strikethrough", "hyphenation": return pick(["true", "false"])
        case "lineHeight": return number()
        case "marker":
            return happens(oneIn: 3)
                ? "\"none\""
                : happens(oneIn: 2)
                    ? "{ \"bullets\": [\(string()), { \"shape\": \"\(pick(["disc", "circle", "square"]))\" }] }"
                    : "{ \"numbers\": [\"\(pick(StyleSheet.Numbering.allCases.map(\.rawValue)))\"] }"
        case "border":
            return "{ \"edges\": [\"\(pick(["top", "leading", "bottom", "trailing"]))\"], \"width\": \(length()), "
                + "\"color\": \(color()) }"
        case "divider":
            return happens(oneIn: 2)
                ? string()
                : "{ \"thickness\": \(length()), \"color\": \(color()), \"width\": \(extent()), \"alignment\": \"center\" }"
        case "padding": return happens(oneIn: 2) ? length() : "{ \"top\": \(length()), \"leading\": \(length()) }"
        default: return length()
        }
    }

    private mutating func number() -> String {
        pick([
            "0", "-0", "1", "0.5", "1.5", "-2", "17", "1e-320", "-1e-9", "1e9", "1e300", "-1e300", "0.1",
            "123456789012345678901",
            "\(Double.random(in: -4...40, using: &random))",
        ])
    }

    private mutating func length() -> String {
        happens(oneIn: 2) ? number() : "\"\(number())\(pick(["em", "pt"]))\""
    }

    private mutating func extent() -> String {
        happens(oneIn: 2) ? length() : "\"\(Double.random(in: 0...100, using: &random))%\""
    }

    private mutating func color() -> String {
        happens(oneIn: 3) ? "\"\(pick(StyleSheet.Role.allCases.map(\.rawValue)))\"" : paint()
    }

    private mutating func paint() -> String {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: "{ \"light\": \(tone()), \"dark\": \(tone()) }"
        case 1: "{ \"light\": \(tone()), \"dark\": \(tone()), \"darkIncreasedContrast\": \(tone()) }"
        case 2: "{ \"name\": \(string()), \"fallback\": { \"light\": \(tone()), \"dark\": \(tone()) } }"
        case 3: "{ \"name\": \(string()) }"
        default: tone()
        }
    }

    private mutating func tone() -> String {
        let byte = String(UInt32.random(in: 0...0xFFFFFF, using: &random) | 0x100_0000, radix: 16).dropFirst()
        return "\""
            + pick([
                "#\(byte)", "#\(byte)7f", "#\(byte)00", "standard",
                "ansi:\(pick(StyleSheet.ANSI.allCases.map(\.rawValue)))",
                "color(display-p3 \(Double.random(in: 0...1, using: &random)) 0 1e-7 / 50%)", "color(display-p3 1 1 1)",
            ]) + "\""
    }

    private mutating func string() -> String {
        "\""
            + pick([
                "Brand", "", "•", "</style>", "\\\\", "\\\"", "\\u0000\\u001b[31m", "\\n", "}", "url(x)", "日本語", "👨‍👩‍👧",
                "\\u202e", String(repeating: "x", count: 300),
            ]) + "\""
    }

    private mutating func anything() -> String {
        pick([
            "null", "true", "-1", "1e999", "[]", "{}", "[[[[[]]]]]", "\"\"", "\"accent\"",
            "{\"light\": {\"light\": {}}}",
            "{\"name\": {\"name\": {}}}", "[\"top\"]", "\"\\ud800\"", "0x10", "12em",
        ])
    }

    /// Returns the text with up to three bytes replaced, removed, inserted, or a piece repeated.
    mutating func mutated(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            let end = min(place + Int.random(in: 1...12, using: &random), bytes.count)
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<end)
            case 2:
                let new: [UInt8] = Array("0123456789\"{}[],:eE+-. \\/#".utf8)
                bytes.insert(new.randomElement(using: &random) ?? 0, at: place)
            default: bytes.insert(contentsOf: bytes[place..<end], at: place)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
