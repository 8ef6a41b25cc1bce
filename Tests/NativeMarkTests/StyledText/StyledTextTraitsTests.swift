import Testing

@testable import NativeMark

@Suite struct `Traits of runs beside their blocks` {
    private func traits(_ markdown: String) -> [StyledText.Traits] {
        let text = StyledText(Document(markdown))
        return text.runs.map { text.traits(of: $0) }
    }

    @Test func `follow the markup`() {
        #expect(traits("a*b*`c`~~d~~***e***") == [[], .emphasis, .code, .strikethrough, [.emphasis, .strong]])
        #expect(traits("a\\\nb") == [[], .lineBreak, []])
    }

    @Test func `leave out the traits of the whole block`() {
        #expect(traits("# a **b** *c*") == [[], .emphasis])
        #expect(traits("```\na\n```") == [[]])
    }
}
