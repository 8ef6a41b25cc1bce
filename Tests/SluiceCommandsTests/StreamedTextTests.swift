import Foundation
import NativeMark
import TestSupport
import Testing

@testable import SluiceCommands

/// What a text that arrives in pieces writes to a terminal.
@Suite struct `A streamed text` {
    private static let sample = """
        # Songs

        *One*, **two**; see [all](https://example.com/all) of the songs that are long enough to need two lines.

        - a
        - b [x] and many more words, so that the item wraps

          c

        | name | length |
        |---|--:|
        | first | 10 |
        | the second one | 200 |

        ```swift
        let a = 1

        let b = 2
        ```

        > quoted *text*
        > goes on

        end
        """

    private static func text(
        width: Int = 30, screen: Console.Size?, color: TerminalRenderer.Color = .none
    ) -> StreamedText {
        StreamedText(terminal: TerminalStream(renderer: .init(width: width, color: color)), screen: screen)
    }

    private static func lines(_ markdown: String, width: Int = 30) -> [String] {
        let output = TerminalRenderer(width: width).render(Document(markdown))
        return output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) + [""]
    }

    @Test func `writes a block when it has ended, and draws the open one where there is a screen`() {
        var piped = Self.text(screen: nil)
        var shown = Self.text(screen: .init(columns: 30, rows: 10))
        var outputs: [[String]] = []
        for piece in ["one *t", "wo*\n", "\nthree", "\n\n"] {
            piped.append(piece.utf8)
            shown.append(piece.utf8)
            outputs.append([piped.draw(), shown.draw()])
        }
        #expect(outputs[0] == ["", "one *t\n"])
        #expect(outputs[1] == ["", "\r\u{1B}[1A\u{1B}[Kone two\n"])
        #expect(outputs[2] == ["one two\n", "\nthree\n"])
        #expect(outputs[3] == ["\nthree\n", ""])
        #expect(piped.finish() == "" && shown.finish() == "")
    }

    @Test(arguments: 0..<20) func `in any pieces, the screen shows what it shows of the whole text`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let rows = Int.random(in: 3...60, using: &random)
        var text = Self.text(screen: .init(columns: 30, rows: rows))
        var terminal = FakeTerminal(columns: 30, rows: rows)
        var piped = Self.text(screen: nil)
        var output = ""
        var rest = Array(Self.sample.utf8)[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...30, using: &random))
            rest = rest.dropFirst(piece.count)
            text.append(piece)
            piped.append(piece)
            if Bool.random(using: &random) { terminal.write(text.draw()) }
            if Bool.random(using: &random) { output += piped.draw() }
        }
        terminal.write(text.finish())
        #expect(terminal.text == Self.lines(Self.sample).map { $0 } && terminal.unknown == [])
        #expect(terminal.column == 0)
        #expect(
            (output + piped.finish()).split(separator: "\n", omittingEmptySubsequences: false)
                == Self.lines(Self.sample).map { $0[...] })
    }

    @Test func `what was written stays if it is defined later, and later blocks have the definition`() {
        var text = Self.text(screen: .init(columns: 30, rows: 10))
        var terminal = FakeTerminal(columns: 30, rows: 10)
        for piece in ["[a] b\n\n", "[a]: http://x.y\n\n", "[a] c"] {
            text.append(piece.utf8)
            terminal.write(text.draw())
        }
        terminal.write(text.finish())
        #expect(terminal.text == ["[a] b", "", "a <http://x.y> c", ""])
    }

    @Test func `characters in two pieces are whole, and bytes that aren't UTF-8 are replaced as in the whole text`() {
        let bytes =
            Array("aé日🎵b\n\n".utf8) + [
                0x80, 0xE2, 0x82, 0x41, 0xF0, 0x9F, 0x8E, 0xC3, 0x28, 0xFF, 0xED, 0xA0, 0x80, 0xF4,
            ]
        for size in 1...5 {
            var text = Self.text(screen: nil)
            var output = ""
            for start in stride(from: 0, to: bytes.count, by: size) {
                text.append(bytes[start..<min(start + size, bytes.count)])
                output += text.draw()
            }
            output += text.finish()
            #expect(
                output == TerminalRenderer(width: 30).render(Document(String(decoding: bytes, as: UTF8.self))) + "\n")
        }
    }

    @Test func `of an open block that is higher than the screen, the last lines are drawn`() {
        var text = Self.text(screen: .init(columns: 30, rows: 5))
        var terminal = FakeTerminal(columns: 30, rows: 5)
        for number in 1...9 {
            text.append("- \(number)\n".utf8)
            let output = text.draw()
            terminal.write(output)
            #expect(terminal.text.count <= 5)
            // tmux keeps in its history what is erased from the first row to the last.
            #expect(!output.contains("\u{1B}[J"))
        }
        #expect(terminal.text == ["• 6", "• 7", "• 8", "• 9", ""])
        terminal.write(text.finish())
        #expect(terminal.text == (1...9).map { "• \($0)" } + [""])
    }

    @Test func `an open block that is too large stays as it was drawn until it ends`() {
        var text = Self.text(screen: .init(columns: 30, rows: 5))
        text.append("words ".utf8)
        #expect(text.draw() == "words\n")
        let many = String(repeating: "words ", count: StreamedText.largestOpenBlock / 6 + 1)
        for _ in 0..<3 {
            text.append(many.utf8)
            #expect(text.draw() == "")
        }
        text.append("\n\nnext".utf8)
        let output = text.draw()
        // The drawn line begins with the same word, but is longer now.
        #expect(output.hasPrefix("\r\u{1B}[1A\u{1B}[Kwords words") && output.hasSuffix("\n\nnext\n"))
    }

    @Test func `lines that are wider than the screen are never drawn over`() {
        var text = Self.text(width: 60, screen: .init(columns: 30, rows: 10))
        text.append("one".utf8)
        #expect(text.draw() == "")
        text.append("\n\ntwo".utf8)
        #expect(text.draw() == "one\n")
    }

    @Test func `after a resize, the open block is drawn over the rows that it takes now`() {
        var text = Self.text(width: 30, screen: .init(columns: 30, rows: 10), color: .ansi16)
        text.append("*one two* three four five\n".utf8)
        #expect(text.draw().contains("five"))
        text.resize(to: .init(columns: 10, rows: 10), width: 10)
        let output = text.draw()
        // 23 columns are three rows of ten.
        #expect(
            output.hasPrefix("\r\u{1B}[3A\u{1B}[K") && output.hasSuffix("three four\n\u{1B}[Kfive\n"),
            "\(output.debugDescription)")
        text.resize(to: .init(columns: 10, rows: 10), width: 10)
        #expect(text.draw() == "")
        text.resize(to: .init(columns: 40, rows: 10), width: 40)
        // One row instead of three: what is below it is erased.
        let wide = text.draw()
        #expect(wide.hasPrefix("\r\u{1B}[3A\u{1B}[K") && wide.hasSuffix("five\n\u{1B}[J"), "\(wide.debugDescription)")
    }

    @Test func `after another program wrote to the terminal, the open block is drawn again below`() {
        var text = Self.text(screen: .init(columns: 30, rows: 10))
        text.append("one".utf8)
        #expect(text.draw() == "one\n")
        text.forgetDrawing()
        #expect(text.draw() == "one\n")
        #expect(text.draw() == "")
    }

    @Test func `nothing is written for no text`() {
        var text = Self.text(screen: .init(columns: 30, rows: 10))
        text.append([])
        #expect(text.draw() == "" && text.finish() == "")
    }
}
