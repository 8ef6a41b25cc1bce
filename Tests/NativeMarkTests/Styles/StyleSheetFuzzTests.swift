import TestSupport
import Testing

@testable import NativeMark

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// 8 × 250 random sheets, and as many with mutated bytes. None crashes, and those that are accepted can be written and shown.
@Suite struct `Random style sheets` {
    static let document = Document(
        """
        # a *b* `c`

        > - d **e**
        >   1. [f](g) ~~h~~ ![i](j)[^k]

            code

        | l | m |
        |---|--:|
        | n | o |

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
        let paragraphs = ParagraphText(text, ParagraphLayout(text)).paragraphs
        for paragraph in paragraphs {
            let lengths = [paragraph.firstIndent, paragraph.indent, paragraph.trailingIndent, paragraph.space]
            #expect((lengths + [paragraph.lineHeight ?? 1]).allSatisfy { $0.isFinite && $0 >= 0 })
        }
        let css = try css(of: sheet)
        #expect(css.isComplete)
        for word in ["<", "\\", "'", "url(", "/*", "@import"] { #expect(!css.withoutStrings.contains(word)) }
    }

    @Test(arguments: 0..<8) func `are refused, or can be written and shown`(seed: Int) throws {
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

    @Test(arguments: 8..<16) func `with mutated bytes are refused with an error, or can be written and shown`(seed: Int)
        throws
    {
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
    func `that nest too deep or have numbers too large are refused`(_ json: String) {
        #expect(throws: NativeMarkError.self) { try StyleSheet(json: json) }
    }

    @Test func `have one of the values of a key that appears twice`() throws {
        let sheet = try StyleSheet(json: #"{"base": "empty", "colors": {"link": "ansi:red", "link": "ansi:blue"}}"#)
        let link = sheet.colors[.link]
        #expect(link == .init(.ansi(.red)) || link == .init(.ansi(.blue)))
    }

    @Test func `of ten thousand rules have CSS in proportion`() throws {
        let bullets = String(repeating: "\"</style>\", ", count: 10_000) + "\"\""
        let json = "{ \"base\": \"empty\", \"blocks\": { \"lists\": { \"marker\": { \"bullets\": [\(bullets)] } } } }"
        let sheet = try StyleSheet(json: json)
        let html = HTMLRenderer(style: sheet).render(Document(""))
        #expect(html.utf8.count < 5 * json.utf8.count)
    }
}
