import NativeMark
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Work that recursed over a document would not fit in a stack of this size.
@Suite struct `Styled text on a stack of 512 KiB` {
    @Test(arguments: [
        ("quotes", String(repeating: ">", count: 1_000_000)),
        ("lists", String(repeating: "- ", count: 100_000) + "a"),
        ("emphasis", String(repeating: "*a ", count: 50_000) + String(repeating: "b*", count: 50_000)),
        ("brackets", String(repeating: "![a", count: 50_000) + String(repeating: "](b)", count: 50_000)),
        ("items in items", (0..<100).map { String(repeating: "  ", count: $0) + "- x" }.joined(separator: "\n")),
        ("empty items", String(repeating: "-\n", count: 20_000) + "\na\n\nb\n\nc"),
    ])
    func `is made, compared, shown and destroyed, however deep the document`(_ what: String, _ markdown: String) async {
        let isDone = await onSmallStack {
            let document = Document(markdown)
            let text = StyledText(document)
            let isSame = text == StyledText(document) && text.hashValue == StyledText(document).hashValue
            let output = TerminalRenderer(width: 80, color: .full, hyperlinks: true).render(text)
            let plain = PlainText(text).string
            let attributed = AttributedString(text)
            return isSame && !output.isEmpty && !plain.isEmpty && attributed.characters.count == text.string.count
        }
        #expect(isDone)
    }
}
