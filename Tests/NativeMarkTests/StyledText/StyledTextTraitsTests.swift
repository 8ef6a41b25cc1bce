import Testing

@testable import NativeMark

@Suite struct `Traits of runs beside their blocks` {
    private func traits(_ markdown: String, _ sheet: StyleSheet = .default) -> [StyledText.Traits] {
        let text = StyledText(Document(markdown), style: sheet)
        return text.runs.map { text.traits(of: $0) }
    }

    @Test func `follow the markup`() {
        #expect(traits("a*b*`c`~~d~~***e***") == [[], .emphasis, .code, .strikethrough, [.emphasis, .strong]])
        #expect(traits("a\\\nb") == [[], .lineBreak, []])
    }

    @Test func `leave out the traits of the whole block`() {
        let sheet = StyleSheet.default.setting(block: [.headings: [.fontWeight(.black)]])
        #expect(traits("# a **b** *c*", sheet) == [[], .emphasis])
        #expect(traits("# a **b**") == [[], .strong])
        #expect(traits("```\na\n```") == [[]])
    }
}
