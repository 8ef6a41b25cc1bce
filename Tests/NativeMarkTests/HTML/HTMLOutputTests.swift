import TestSupport
import Testing

@testable import NativeMark

@Suite struct `The output of HTML` {
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") {
            switch $1 {
            case "&": $0 += "&amp;"
            case "<": $0 += "&lt;"
            case ">": $0 += "&gt;"
            case "\"": $0 += "&quot;"
            default: $0.unicodeScalars.append($1)
            }
        }
    }

    @Test func `escapes each character at each place`() {
        for scalar in (0..<0x80).map({ Unicode.Scalar($0 as UInt8) }) + ["é", "語", "😀"] {
            for place in 0..<17 {
                let text =
                    "\(String(repeating: "x", count: place))\(scalar)\(String(repeating: "y", count: 16 - place))"
                #expect(HTMLWriter.escaped(text) == Self.escaped(text))
            }
        }
    }

    @Test func `escapes what was appended in pieces, and grows`() {
        var random = SeededRandom(seed: 22)
        let pieces = [
            "&", "<", ">", "\"", "\"&<>\"&<>", "a", "word ", "a longer piece", "é", "語語語", "😀", "", "'", "#", ":", ";",
        ]
        for _ in 0..<2_000 {
            var output = HTMLOutput(capacity: Int.random(in: 0...20, using: &random))
            var expected = ""
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                let text = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                    pieces.randomElement(using: &random) ?? ""
                }.joined()
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    output.append("</em>")
                    expected += "</em>"
                case 1:
                    output.append(UInt8(ascii: "\n"))
                    expected += "\n"
                case 2:
                    output.append(text)
                    expected += text
                default:
                    output.appendEscaped(text)
                    expected += Self.escaped(text)
                }
                let last = output.last
                #expect(last == expected.utf8.last)
            }
            let (text, count) = (output.text, output.count)
            #expect(text == expected && count == expected.utf8.count)
        }
    }
}
