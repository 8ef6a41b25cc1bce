@testable import NativeMark
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct `Attributed strings of styled text` {
    @Test func `have the characters of the text, and the styles of its runs`() {
        let text = StyledText(Document("# Ä *日本*\n\n- 👨‍👩‍👧 [x](y \"z\") ![i](s)[^1]\n\n[^1]: note"))
        let attributed = AttributedString(text)

        #expect(String(attributed.characters) == text.string)
        for run in text.runs {
            let piece = String(text.string(of: run))
            let found = attributed.runs.first {
                String(attributed[$0.range].characters) == piece
                    && $0[NativeMarkAttributes.Blocks.self]?.number == run.block
            }
            #expect(found?[NativeMarkAttributes.TextStyle.self] == run.style, "\(piece)")
            #expect(found?[NativeMarkAttributes.Blocks.self]?.blocks == text.path(of: run), "\(piece)")
            #expect(found?[NativeMarkAttributes.Link.self] == run.link.map { text.links[$0] }, "\(piece)")
            #expect(found?[NativeMarkAttributes.Image.self] == run.image.map { text.images[$0] }, "\(piece)")
            #expect(found?[NativeMarkAttributes.Footnote.self] == run.footnote, "\(piece)")
        }
    }

    @Test func `two paragraphs that look the same stay two`() {
        let attributed = AttributedString(StyledText(Document("a\n\nb")))
        let numbers = attributed.runs.compactMap { $0[NativeMarkAttributes.Blocks.self]?.number }
        #expect(numbers == [1, 2])
    }

    @Test func `cells of a deep table share the blocks around them`() throws {
        let depth = String(repeating: ">", count: 90)
        let attributed = AttributedString(StyledText(Document("\(depth)|a|b|\n\(depth)|-|-|")))
        let paths = attributed.runs.compactMap { $0[NativeMarkAttributes.Blocks.self] }
        let addresses = paths.map { $0.all.withUnsafeBufferPointer(\.baseAddress) }
        #expect(paths.map(\.blocks.count) == [94, 94])
        #expect(addresses.count == 2 && addresses[0] == addresses[1])
        #expect(paths[0] != paths[1])
    }

    @Test func `paths of equal texts are equal`() throws {
        func paths(_ markdown: String) -> [StyledText.Path] {
            AttributedString(StyledText(Document(markdown))).runs.compactMap { $0[NativeMarkAttributes.Blocks.self] }
        }
        #expect(paths("> a\n\n- b") == paths("> a\n\n- b"))
        #expect(Set(paths("> a\n\n- b") + paths("> a\n\n- b")).count == 2)
        #expect(paths("> a") != paths("- a"))
    }

    @Test func `an empty document is an empty string`() {
        #expect(AttributedString(StyledText(Document(""))).characters.isEmpty)
    }
}

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
