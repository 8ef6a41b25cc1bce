import NativeMark
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct `Style sheets in JSON` {
    @Test func `a sheet that was written reads as itself`() throws {
        #expect(try StyleSheet(json: StyleSheet.default.json) == .default)
        #expect(try StyleSheet(json: StyleSheet().json) == StyleSheet())
        #expect(try StyleSheet(json: full.json) == full)
        let coded = try JSONDecoder().decode(StyleSheet.self, from: JSONEncoder().encode(full))
        #expect(coded == full)
    }

    @Test func `a sheet adds to the default unless it says otherwise`() throws {
        #expect(try StyleSheet(json: "{}") == .default)
        #expect(try StyleSheet(json: #"{"base": "empty"}"#) == StyleSheet())
        let own = try StyleSheet(json: #"{"inlines": {"emphasis": {"color": "accent"}}}"#)
        #expect(own == .default.setting(inline: [.emphasis: [.color(.accent)]]))
    }

    @Test func `the example of the documentation gives the documented sheet`() throws {
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
        /// What problem and remedy must speak of.
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
        Mistake(##"{"blocks": {"lists": {"marker": {"bullets": "x"}}}}"##, "blocks.lists.marker.bullets", "["),
        Mistake(##"{"blocks": {"item": {"border": {"edges": ["up"]}}}}"##, "blocks.item.border.edges[0]", "up", "top"),
        Mistake(##"{"blocks": {"item": {"border": {"size": 1}}}}"##, "blocks.item.border.size", "width"),
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
        Mistake(##"{"blocks": {"item": {"lineHeight": "1.5"}}}"##, "blocks.item.lineHeight", "number such as 1.5"),
        Mistake(##"{"blocks": {"item": {"hyphenation": 1}}}"##, "blocks.item.hyphenation", "true or false"),
    ])
    func `a mistake is named with its key and with what to write instead`(_ mistake: Mistake) throws {
        let error = try #require(throws: NativeMarkError.self) { try StyleSheet(json: mistake.json) }

        #expect(error.subject == mistake.keyPath)
        for word in mistake.words { #expect("\(error)".contains(word), "\(error)") }
        #expect(!error.message.isEmpty && error.remedy?.isEmpty == false)
    }

    /// A sheet with every style there is.
    private var full: StyleSheet {
        let text: [StyleSheet.InlineStyle] = [
            .textStyle(.caption1), .fontSize(.em(0.9)), .fontDesign(.serif), .fontFamily("Iowan \"Old\" Style"),
            .fontWeight(.ultraLight), .fontWidth(.expanded), .color(.role(.tertiary)),
            .inlineBackground(.rgb(0x00FF7F)), .kerning(.points(-1.5)),
            .baseline(.em(-0.25)), .bold(false), .italic(true), .underline(false),
            .strikethrough(true),
        ]
        let block: [StyleSheet.BlockStyle] =
            text.map { .text($0) } + [
                .alignment(.justified), .firstLineIndent(.em(-2)), .leadingIndent(.em(2)), .trailingIndent(.points(3)),
                .spacingBefore(.em(1.25)), .spacingAfter(.points(0)), .lineSpacing(.em(0.1)), .lineHeight(1.4),
                .hyphenation(true),
                .marker(.numbers([.uppercaseRoman, .lowercaseLetters])),
                .border(.init(edges: [.top, .trailing], width: .em(0.1), color: .ansi(.brightMagenta))),
                .padding(.init(top: .em(1), leading: .points(2), bottom: .em(3), trailing: .points(4))),
                .background(.dynamic(light: .standard, dark: .ansi(.black))),
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
            .setting(block: [.list(.bullets): [.marker(.bullets(["–", ""]))], .item: [.marker(.none)]])
    }
}
