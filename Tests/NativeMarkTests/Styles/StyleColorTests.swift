@testable import NativeMark
import Testing

@Suite struct `Contrast and named colors` {
    @Test func `increased contrast has its own colors, or else the usual ones`() {
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
    func `a color in JSON equals the color in Swift`(_ text: String, _ tone: StyleSheet.Tone) throws {
        let sheet = try StyleSheet(json: #"{"base": "empty", "colors": {"accent": "\#(text)"}}"#)
        #expect(sheet.colors == [.accent: .init(tone)])
        let rule = try StyleSheet(json: #"{"base": "empty", "inlines": {"code": {"color": "\#(text)"}}}"#)
        #expect(rule.inlines == [.code: [.color(.paint(.init(tone)))]])
    }

    @Test func `a named color in JSON can have a fallback for each appearance`() throws {
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

@Suite struct `Components in sRGB` {
    private func bytes(_ tone: StyleSheet.Tone) -> [UInt8]? {
        tone.srgb.map { [$0.bytes.red, $0.bytes.green, $0.bytes.blue, SRGBColor.byte($0.alpha)] }
    }

    @Test(
        arguments: [
            (StyleSheet.Tone.standard, nil),
            (.rgb(0x0A_50C8), [0x0A, 0x50, 0xC8, 255]),
            (.rgb(0x0A_50C8, alpha: 0.5), [0x0A, 0x50, 0xC8, 128]),
            // xterm's palette.
            (.ansi(.red), [0xCD, 0, 0, 255]),
            (.ansi(.brightWhite), [255, 255, 255, 255]),
            (.named("Brand", fallback: .rgb(1)), [0, 0, 1, 255]),
            (.named("Brand", fallback: .standard), nil),
            // CSS Color 4: sRGB's red, green and blue in Display P3, to six digits.
            (.displayP3(red: 0.917488, green: 0.200287, blue: 0.138561), [255, 0, 0, 255]),
            (.displayP3(red: 0.458402, green: 0.985265, blue: 0.298295), [0, 255, 0, 255]),
            (.displayP3(red: 0, green: 0, blue: 0.959588, alpha: 0.2), [0, 0, 255, 51]),
            // Both spaces have the same grays.
            (.displayP3(red: 0.4, green: 0.4, blue: 0.4), [102, 102, 102, 255]),
            // Outside of sRGB, and outside of everything.
            (.displayP3(red: 0, green: 1, blue: 0), [0, 255, 0, 255]),
            (.displayP3(red: 5, green: -1, blue: .nan, alpha: .infinity), [255, 0, 0, 0]),
        ] as [(StyleSheet.Tone, [UInt8]?)])
    func `the components are those of the color, of its fallback, or of the nearest color in sRGB`(
        _ tone: StyleSheet.Tone, _ expected: [UInt8]?
    ) {
        #expect(bytes(tone) == expected)
    }

    @Test func `a translucent color is mixed with its background`() {
        let half = SRGBColor(red: 1, green: 0, blue: 0, alpha: 0.5)
        #expect(half.blended(over: .white).bytes == (255, 128, 128))
        #expect(half.blended(over: .black).bytes == (128, 0, 0))
        #expect(SRGBColor(red: 1, green: 0, blue: 0, alpha: 0).blended(over: .white) == .white)
    }
}

@Suite struct `Components in extended sRGB` {
    @Test func `components inside sRGB become bytes`() {
        #expect(
            StyleSheet.Tone(extendedRed: 1, green: 0.5, blue: -0.000_1, alpha: 0.2)
                == .rgb(red: 255, green: 128, blue: 0, alpha: 51))
    }

    @Test func `components outside sRGB become Display P3`() throws {
        // P3's red in extended sRGB (CSS Color 4).
        let tone = StyleSheet.Tone(extendedRed: 1.093066, green: -0.226743, blue: -0.150135, alpha: 1)
        guard case .displayP3(let red, let green, let blue, let alpha) = tone else {
            Issue.record("\(tone)")
            return
        }
        #expect(abs(red - 1) < 1e-4 && abs(green) < 1e-3 && abs(blue) < 1e-3 && alpha == 1)
    }

    @Test func `components that aren't numbers count as 0`() {
        #expect(
            StyleSheet.Tone(extendedRed: .nan, green: 2, blue: .infinity, alpha: .nan).srgb?.alpha == 0)
    }
}
