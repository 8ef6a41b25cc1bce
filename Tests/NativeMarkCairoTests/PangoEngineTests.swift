#if Cairo
import NativeMark
import NativeMarkCairo
import TestSupport
import Testing

/// Debian's DejaVu fonts (fonts-dejavu-core), so that the tests don't depend on the other fonts of a machine.
enum Fonts {
    static let directory = "/usr/share/fonts/truetype/dejavu"

    static func engine() throws -> PangoEngine {
        try PangoEngine(
            fonts: .init(
                default: "DejaVu Sans", serif: "DejaVu Serif", monospaced: "DejaVu Sans Mono", files: [directory]))
    }
}

@Suite struct PangoEngineTests {
    private let engine: PangoEngine
    private let style = ResolvedTextStyle(fontSize: 12)

    init() throws { engine = try Fonts.engine() }

    private func paragraph(_ text: String) -> TextParagraph {
        var paragraph = TextParagraph()
        paragraph.text = text
        paragraph.runs = [.init(range: 0..<text.utf8.count, style: style)]
        return paragraph
    }

    /// Checks that lines cover a paragraph in order and fit into the width.
    private func check(_ lines: [any TextEngineLine], of paragraph: TextParagraph, width: Double) {
        var end = 0
        for line in lines {
            // A separator belongs to no line.
            #expect(line.range.lowerBound >= end && line.range.lowerBound <= end + 3)
            #expect(line.width <= width + 0.01)
            #expect(line.ascent > 0 && line.descent > 0)
            end = line.range.upperBound
        }
        #expect(end == paragraph.text.utf8.count)
    }

    @Test func `lines break at spaces and cover the text`() {
        let text = paragraph("The quick brown fox jumps over the lazy dog, and then it sleeps.")
        let lines = engine.lines(of: text, width: 120, firstIndent: 0)
        #expect(lines.count == 4)
        check(lines, of: text, width: 120)
    }

    @Test func `the first line is shorter by its indent`() {
        let text = paragraph("aaaa bbbb cccc dddd eeee ffff")
        let lines = engine.lines(of: text, width: 100, firstIndent: 60)
        #expect(lines[0].range.count < lines[1].range.count)
        // The positions of a line begin at its own left end.
        #expect(lines[0].spans(of: lines[0].range).first?.lowerBound == 0)
    }

    @Test func `an empty paragraph has one line with the height of its style`() {
        let lines = engine.lines(of: paragraph(""), width: 100, firstIndent: 0)
        #expect(lines.count == 1)
        let metrics = engine.metrics(of: style)
        #expect(abs(lines[0].ascent - metrics.ascent) < 0.1 && abs(lines[0].descent - metrics.descent) < 0.1)
    }

    @Test func `a paragraph fits into its width, and its words into the minimum`() {
        for text in ["Incomprehensibilities are words", "a", "one two three", "aaa\u{2028}bbbbbbbb"] {
            let paragraph = paragraph(text)
            let (width, minimum) = (engine.width(of: paragraph), engine.minimumWidth(of: paragraph))
            #expect(minimum <= width)
            let lines = engine.lines(of: paragraph, width: width, firstIndent: 0)
            #expect(lines.count == text.split(separator: "\u{2028}").count, "\(text)")
            // No word is cut.
            let narrow = engine.lines(of: paragraph, width: minimum, firstIndent: 0)
            #expect(narrow.count <= text.split { $0 == " " || $0 == "\u{2028}" }.count, "\(text)")
        }
    }

    @Test func `a point in a character leads to it, also in right-to-left text`() {
        for text in ["abc def", "שלום עולם", "abc שלום def", "שלום abc עולם", "e\u{301}a"] {
            var paragraph = paragraph(text)
            paragraph.isRightToLeft = text.hasPrefix("ש")
            let line = engine.lines(of: paragraph, width: .infinity, firstIndent: 0)[0]
            var offset = 0
            for character in text {
                let range = offset..<offset + character.utf8.count
                offset = range.upperBound
                for span in line.spans(of: range) {
                    let middle = (span.lowerBound + span.upperBound) / 2
                    #expect(range.contains(line.offset(at: middle)), "\(character) in \(text)")
                }
            }
        }
    }

    @Test func `a part of mixed text may have several spans`() {
        let text = "abc שלום"
        let line = engine.lines(of: paragraph(text), width: .infinity, firstIndent: 0)[0]
        // The end of the Latin text and the beginning of the Hebrew text, which is at the right.
        let spans = line.spans(of: 2..<7)
        #expect(spans.count == 2)
        #expect(
            line.spans(of: 0..<text.utf8.count).reduce(0) { $0 + $1.upperBound - $1.lowerBound } <= line.width + 0.1)
    }

    @Test func `the padding of a box stays beside its word at all widths`() {
        var text = TextParagraph()
        func add(_ string: String, _ placeholder: TextParagraph.Placeholder? = nil) {
            let start = text.text.utf8.count
            text.text += string
            text.runs.append(
                .init(range: start..<text.text.utf8.count, style: style, placeholder: placeholder))
        }
        add("some words before ")
        let start = text.text.utf8.count
        add("\u{FFFC}", .init(advance: 6))
        add("\u{2060}code\u{2060}")
        add("\u{FFFC}", .init(advance: 6))
        let end = text.text.utf8.count
        add(" and some words after it")
        for width in stride(from: 60.0, to: 260, by: 1) {
            let lines = engine.lines(of: text, width: width, firstIndent: 0)
            #expect(lines.contains { $0.range.lowerBound <= start && end <= $0.range.upperBound }, "\(width)")
        }
    }

    @Test func `text and placeholders without a gap are one span`() {
        var text = TextParagraph()
        for (string, advance) in [("a ", nil), ("\u{FFFC}", 6.0), ("\u{2060}code\u{2060}", nil), ("\u{FFFC}", 6.0)] {
            let start = text.text.utf8.count
            text.text += string
            text.runs.append(
                .init(
                    range: start..<text.text.utf8.count, style: style,
                    placeholder: advance.map { .init(advance: $0) }))
        }
        let line = engine.lines(of: text, width: .infinity, firstIndent: 0)[0]
        #expect(line.spans(of: 2..<text.text.utf8.count).count == 1)
    }

    @Test func `a placeholder has its advance and, with an ascent, makes the line higher`() {
        var text = TextParagraph()
        text.text = "\u{FFFC}"
        text.runs = [.init(range: 0..<3, style: style, placeholder: .init(advance: 30, ascent: 50))]
        let line = engine.lines(of: text, width: 100, firstIndent: 0)[0]
        #expect(line.width == 30 && line.ascent == 50)
    }

    @Test(arguments: [(200_000, 0), (100_000, 7), (40_000, 1)])
    func `long text takes linear time, with and without spaces`(_ count: Int, _ wordLength: Int) {
        let text = paragraph(
            String((0..<count).map { wordLength > 0 && $0 % (wordLength + 1) == wordLength ? " " : "m" }))
        let lines = engine.lines(of: text, width: 300, firstIndent: 0)
        check(lines, of: text, width: 300)
        // All lines but the last one of each piece are full.
        let short = lines.count { $0.width < 300 - 12 * Double(max(wordLength, 1) + 1) }
        #expect(short <= 1 + (wordLength == 0 ? count / 1_000 + 1 : 0))
    }

    @Test func `text without a width has one line for each piece`() {
        let text = paragraph(String(repeating: "word ", count: 2_000))
        #expect(engine.lines(of: text, width: .infinity, firstIndent: 0).count == 1)
        #expect(engine.width(of: text) > 20_000)
    }

    @Test func `characters without a glyph are noted with their scripts`() throws {
        let engine = try Fonts.engine()
        _ = engine.lines(of: paragraph("abc 中文 ก"), width: 100, firstIndent: 0)
        #expect(engine.missingCharacters == ["中", "文", "ก"])
        #expect(engine.missingScripts == ["Hani", "Thai"])
        _ = engine.lines(of: paragraph("abc"), width: 100, firstIndent: 0)
        #expect(engine.missingCharacters.count == 3)
    }

    @Test func `a path that isn't a font is an error that names it`() {
        #expect {
            try PangoEngine(fonts: .init(files: ["/nowhere/font.ttf"]))
        } throws: { error in
            "\(error)".contains("'/nowhere/font.ttf'") && (error as? CairoError)?.code == .fonts
        }
    }

    @Test func `several tasks use one engine`() async {
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask { [engine, style] in
                    var count = 0
                    for round in 0..<40 {
                        var paragraph = TextParagraph()
                        paragraph.text = String(repeating: "word \(number) \(round) ", count: 20)
                        paragraph.runs = [.init(range: 0..<paragraph.text.utf8.count, style: style)]
                        for line in engine.lines(of: paragraph, width: 150, firstIndent: 0) {
                            count += line.spans(of: line.range).count
                        }
                    }
                    return count
                }
            }
            for await count in group { #expect(count > 40) }
        }
    }
}
#endif
