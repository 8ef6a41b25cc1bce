import NativeMark
import Testing

@Suite struct `Contrast and named colors` {
    @Test func `increased contrast has its own colors, or the usual ones`() {
        let both = StyleSheet.Paint(
            light: .rgb(1), dark: .rgb(2), lightIncreasedContrast: .rgb(3), darkIncreasedContrast: .rgb(4))
        let none = StyleSheet.Paint(light: .rgb(5), dark: .rgb(6))
        let sheet = StyleSheet().setting(colors: [.accent: both, .link: none])
        func tones(_ appearance: StyleSheet.Appearance, _ contrast: StyleSheet.Contrast) -> [StyleSheet.Tone] {
            let resolved = sheet.resolved(in: .init(appearance: appearance, contrast: contrast))
            return [resolved.tone(of: .accent), resolved.tone(of: .link)]
        }
        #expect(tones(.light, .standard) == [.rgb(1), .rgb(5)])
        #expect(tones(.dark, .standard) == [.rgb(2), .rgb(6)])
        #expect(tones(.light, .increased) == [.rgb(3), .rgb(5)])
        #expect(tones(.dark, .increased) == [.rgb(4), .rgb(6)])
    }

    @Test(arguments: [
        ("#0A50C8", StyleSheet.Tone.rgb(0x0A50C8)),
        ("#0a50c880", .rgb(red: 0x0A, green: 0x50, blue: 0xC8, alpha: 0x80)),
        ("color(display-p3 1 0.5 0)", .displayP3(red: 1, green: 0.5, blue: 0)),
        ("color(display-p3 100% 50%  0/.8)", .displayP3(red: 1, green: 0.5, blue: 0, alpha: 0.8)),
        ("color(display-p3 1 1e-1 0 / 25%)", .displayP3(red: 1, green: 0.1, blue: 0, alpha: 0.25)),
        ("name:Brand Blue", .named("Brand Blue", fallback: .standard)),
        ("ansi:brightCyan", .ansi(.brightCyan)), ("standard", .standard),
    ])
    func `a color in JSON is the one in Swift`(_ text: String, _ tone: StyleSheet.Tone) throws {
        let sheet = try StyleSheet(json: #"{"base": "empty", "colors": {"accent": "\#(text)"}}"#)
        #expect(sheet.colors == [.accent: .init(tone)])
        let rule = try StyleSheet(json: #"{"base": "empty", "inlines": {"code": {"color": "\#(text)"}}}"#)
        #expect(rule.inlines == [.code: [.color(.paint(.init(tone)))]])
    }

    @Test func `a name in JSON has a fallback for each appearance`() throws {
        let sheet = try StyleSheet(
            json: """
                { "base": "empty", "colors": {
                    "accent": { "name": "Brand", "fallback": "#0A5FFF" },
                    "link": { "name": "Brand", "fallback": { "light": "#0A5FFF", "dark": "#6FB1FF",
                                                             "darkIncreasedContrast": "#FFFFFF" } },
                    "code": { "name": "Brand" } } }
                """)
        #expect(
            sheet.colors == [
                .accent: .named("Brand", fallback: .init(.rgb(0x0A5FFF))),
                .link: .named(
                    "Brand",
                    fallback: .init(light: .rgb(0x0A5FFF), dark: .rgb(0x6FB1FF), darkIncreasedContrast: .rgb(0xFFFFFF))),
                .code: .named("Brand", fallback: .init(.standard)),
            ])
        #expect(try StyleSheet(json: sheet.json) == sheet)
    }
}
