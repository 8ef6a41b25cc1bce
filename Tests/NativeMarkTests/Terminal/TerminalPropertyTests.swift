import NativeMark
import TestSupport
import Testing

@Suite struct `Any document in a terminal` {
    /// A sheet with space, lines and colors everywhere.
    private let greedy: StyleSheet = {
        var sheet = StyleSheet.default
        let block: [StyleSheet.BlockStyle] = [
            .border(.init()), .padding(.all(.em(1))), .leadingIndent(.em(2)), .trailingIndent(.em(1)),
            .firstLineIndent(.em(3)), .background(.codeBackground), .alignment(.center), .lineSpacing(.em(1)),
            .spacingBefore(.points(.infinity)), .kerning(.em(0.5)),
        ]
        for selector in StyleSheet.BlockSelector.allCases { sheet = sheet.setting(block: [selector: block]) }
        return sheet
    }()

    @Test func `has no line wider than the terminal`() {
        var random = SeededRandom(seed: 11)
        for round in 0..<1_200 {
            let markdown = String.markdown(using: &random)
            let document = Document(markdown)
            let width = [1, 2, 3, 5, 10, 20, 33, 40, 80, 120][round % 10]
            let style = round % 3 == 0 ? greedy : .default
            for (color, hyperlinks) in [(TerminalRenderer.Color.none, false), (.full, true)] {
                var renderer = TerminalRenderer(width: width, color: color, hyperlinks: hyperlinks)
                renderer.longCode = round % 2 == 0 ? .cut : .wrap
                let output = shown(renderer.render(document, style: style))
                for line in output.split(separator: "\n") where TerminalText.width(of: line) > width {
                    Issue.record(
                        "\(TerminalText.width(of: line)) columns of \(width): \(line)\n\(markdown.debugDescription)")
                    return
                }
            }
        }
    }

    @Test func `shows the same with and without colors, and in light and dark`() {
        var random = SeededRandom(seed: 12)
        for _ in 0..<300 {
            // Without text attributes, struck text is marked.
            let document = Document(String.markdown(using: &random).replacing("~~", with: ""))
            let plain = TerminalRenderer(width: 30).render(document)
            for color in [TerminalRenderer.Color.ansi16, .ansi256, .full] {
                let output = TerminalRenderer(width: 30, color: color).render(
                    document, environment: .init(appearance: .dark))
                let lines = shown(output).split(separator: "\n", omittingEmptySubsequences: false)
                #expect(
                    lines.map { $0.trimmingSpaces }
                        == plain.split(separator: "\n", omittingEmptySubsequences: false).map(\.trimmingSpaces))
            }
        }
    }

    @Test func `keeps all its letters in the same order`() {
        var random = SeededRandom(seed: 13)
        func letters(_ text: some StringProtocol) -> [Unicode.Scalar] {
            text.unicodeScalars.filter { ("a"..."z").contains($0) || ("\u{3000}"..."\u{D7A3}").contains($0) }
        }
        var compared = 0
        for _ in 0..<300 {
            let markdown = String.markdown(using: &random).replacing("|", with: " ").replacing("[^1]", with: "")
                .replacing("p.png", with: "http://1")
            let text = StyledText(Document(markdown))
            guard text.images.isEmpty else { continue }
            compared += 1
            var renderer = TerminalRenderer(width: 24, hyperlinks: true)
            renderer.longCode = .wrap
            #expect(letters(shown(renderer.render(text))) == letters(TerminalText.sanitized(text.string)))
        }
        #expect(compared > 100)
    }

    @Test func `has runs that cover the text in order, and blocks that nest`() {
        var random = SeededRandom(seed: 14)
        for _ in 0..<600 {
            let text = StyledText(Document(.markdown(using: &random)))
            var place = 0
            for run in text.runs {
                #expect(run.range.lowerBound >= place && !run.range.isEmpty)
                #expect(
                    run.range.lowerBound - place <= 1
                        || text.string.utf8.dropFirst(place).prefix(run.range.lowerBound - place).allSatisfy {
                            $0 == 0x0A || $0 == 0x09
                        })
                place = run.range.upperBound
                let block = text.blocks[run.block].range
                #expect(block.lowerBound <= run.range.lowerBound && run.range.upperBound <= block.upperBound)
            }
            for (index, block) in text.blocks.enumerated() {
                #expect(block.end > index && block.end <= text.blocks.count)
                guard let parent = block.parent.map({ text.blocks[$0] }) else { continue }
                #expect(parent.end >= block.end && parent.range.lowerBound <= block.range.lowerBound)
                #expect(parent.range.upperBound >= block.range.upperBound)
            }
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
