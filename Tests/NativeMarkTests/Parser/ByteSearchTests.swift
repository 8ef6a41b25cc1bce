@testable import NativeMark
import TestSupport
import Testing

@Suite struct `Searches of sixteen bytes at a time` {
    /// The bytes that may be markup, as in the parser.
    static let special = Set("\n\\`&<[]!*_~:.@'\"-".utf8)

    private static let table = (0..<256).map { special.contains(UInt8($0)) }

    /// Returns whether all searches find what loops over the bytes find.
    static func agree(_ bytes: [UInt8], in range: Range<Int>) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            table.withUnsafeBufferPointer { table in
                func expected(_ isMatch: (UInt8) -> Bool) -> Int {
                    range.first { isMatch(bytes[$0]) } ?? range.upperBound
                }
                return bytes.firstLineEnd(in: range) == expected { $0 == 0x0A || $0 == 0x0D }
                    && bytes.first(0, in: range) == expected { $0 == 0 }
                    && bytes.firstSpecial(in: range, table: table.baseAddress!) == expected { table[Int($0)] }
            }
        }
    }

    @Test func `a search finds each byte at each position, whatever comes before it`() {
        for byte in UInt8.min...UInt8.max {
            for other in [0x61, 0x5A, 0x20, 0x01, 0x7F, 0x80, 0xFF, byte ^ 1, byte ^ 0x80] {
                for place in 0..<33 {
                    var bytes = [UInt8](repeating: other, count: 33)
                    bytes[place] = byte
                    // A macro for each of 80,000 searches would take most of the time.
                    if !Self.agree(bytes, in: 0..<33) { Issue.record("\(byte) at \(place) among \(other)") }
                }
            }
        }
    }

    @Test func `a search stays in its range`() {
        var random = SeededRandom(seed: 21)
        for _ in 0..<3_000 {
            let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                Self.special.union([0, 0x0D]).randomElement(using: &random) ?? 0
            }
            let start = Int.random(in: 0...bytes.count, using: &random)
            var text = [UInt8](repeating: 0x78, count: bytes.count)
            let place = Int.random(in: 0...bytes.count, using: &random)
            if place < bytes.count { text[place] = bytes[place] }
            for bytes in [bytes, text] {
                let range = start..<Int.random(in: start...bytes.count, using: &random)
                #expect(Self.agree(bytes, in: range), "\(bytes) in \(range)")
            }
        }
    }

    @Test func `the check of UTF-8 agrees with the standard library`() {
        var random = SeededRandom(seed: 23)
        // The first and last lead bytes, and continuation bytes, of each row of table 3-7 of The Unicode Standard, and their neighbors.
        let bytes: [UInt8] = [
            0x00, 0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ]
        func agree(_ text: [UInt8]) -> Bool {
            text.withUnsafeBufferPointer { $0.isUTF8 } == (String(validating: text, as: UTF8.self) != nil)
        }
        let padding = [UInt8](repeating: 0x61, count: 30)
        for first in bytes {
            for second in bytes {
                for third in bytes {
                    for fourth in bytes where !agree([first, second, third, fourth]) {
                        Issue.record("\([first, second, third, fourth])")
                    }
                }
            }
        }
        for _ in 0..<20_000 {
            let before = padding.prefix(Int.random(in: 0...20, using: &random))
            let after = padding.prefix(Int.random(in: 0...20, using: &random))
            let scalars = ["é", "—", "語", "😀", "\u{10FFFF}", "\u{D7FF}", "\u{E000}"]
            var text = before + (scalars.randomElement(using: &random) ?? "").utf8 + after
            #expect(agree(Array(text)))
            if Bool.random(using: &random) { text.remove(at: Int.random(in: 0..<text.count, using: &random)) }
            #expect(agree(Array(text)))
        }
    }

    @Test func `line ends are found and zeros are replaced at each length`() {
        for length in 0..<40 {
            let line = String(repeating: "x", count: length)
            for (end, lines) in [("\n", 2), ("\r", 2), ("\r\n", 2), ("\u{2028}", 1)] {
                let children = Document("a\(line)\(end)\(line)b").root.firstChild?.children
                #expect(children?.count { $0.kind == .softBreak } == lines - 1)
            }
            #expect(
                Document("a\(line)\0\(line)\0\0b").root.plainText == "a\(line)\u{FFFD}\(line)\u{FFFD}\u{FFFD}b")
        }
    }
}
