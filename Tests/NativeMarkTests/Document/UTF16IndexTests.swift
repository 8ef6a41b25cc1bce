import TestSupport
import Testing

@testable import NativeMark

@Suite struct `Offsets in UTF-16` {
    @Test func `are those of String at each scalar`() {
        var random = SeededRandom(seed: 23)
        let scalars: [Unicode.Scalar] = [
            "a", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "é", "語", "😀",
        ]
        for round in 0..<300 {
            var text = ""
            for _ in 0..<(round % 200) { text.unicodeScalars.append(scalars.randomElement(using: &random) ?? "a") }
            text.makeContiguousUTF8()
            text.withUTF8 { bytes in
                let index = UTF16Index(bytes)
                var (byte, units) = (0, 0)
                for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
                    #expect(index.utf16Offset(of: byte, in: bytes) == units)
                    #expect(index.position(ofUTF16: units, in: bytes) == byte)
                    if scalar.utf16.count == 2 { #expect(index.position(ofUTF16: units + 1, in: bytes) == nil) }
                    byte += scalar.utf8.count
                    units += scalar.utf16.count
                }
                #expect(index.count == units)
            }
        }
    }
}
