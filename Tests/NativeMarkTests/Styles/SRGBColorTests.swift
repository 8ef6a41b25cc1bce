import Testing

@testable import NativeMark

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
    func `are those of the color, of its fallback, or the nearest ones`(_ tone: StyleSheet.Tone, _ expected: [UInt8]?) {
        #expect(bytes(tone) == expected)
    }

    @Test func `a translucent color is mixed with what is behind it`() {
        let half = SRGBColor(red: 1, green: 0, blue: 0, alpha: 0.5)
        #expect(half.blended(over: .white).bytes == (255, 128, 128))
        #expect(half.blended(over: .black).bytes == (128, 0, 0))
        #expect(SRGBColor(red: 1, green: 0, blue: 0, alpha: 0).blended(over: .white) == .white)
    }
}

@Suite struct `Components in extended sRGB` {
    @Test func `inside sRGB become bytes`() {
        #expect(
            StyleSheet.Tone(extendedRed: 1, green: 0.5, blue: -0.000_1, alpha: 0.2)
                == .rgb(red: 255, green: 128, blue: 0, alpha: 51))
    }

    @Test func `outside sRGB become Display P3`() throws {
        // P3's red in extended sRGB (CSS Color 4).
        let tone = StyleSheet.Tone(extendedRed: 1.093066, green: -0.226743, blue: -0.150135, alpha: 1)
        guard case .displayP3(let red, let green, let blue, let alpha) = tone else {
            Issue.record("\(tone)")
            return
        }
        #expect(abs(red - 1) < 1e-4 && abs(green) < 1e-3 && abs(blue) < 1e-3 && alpha == 1)
    }

    @Test func `that are not numbers count as 0`() {
        #expect(
            StyleSheet.Tone(extendedRed: .nan, green: 2, blue: .infinity, alpha: .nan).srgb?.alpha == 0)
    }
}
