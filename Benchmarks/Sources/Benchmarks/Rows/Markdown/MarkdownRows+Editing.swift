import NativeMark

/// Editing a parsed text, compared with parsing the edited text.
extension MarkdownRows {
    static var editing: [Row] {
        [
            editing("one key in 1 MB of paragraphs", text: { paragraphs(1_000_000, isPlain: false) }),
            editing("one key in 1 MB of short paragraphs", text: { String(repeating: "word\n\n", count: 166_667) }),
            editing(
                "one key in 1 MB of Chinese", text: { String(repeating: "你好,*世界*。这是一段文字。\n\n", count: 20_834) }),
        ]
    }

    /// Each keystroke goes to another paragraph. A keystroke at the end of a paragraph changes only that paragraph.
    private static func editing(_ name: String, text: @escaping () -> String) -> Row {
        Row("markdown/editing: \(name)", .milliseconds, against: "one parse", figure: .below(1), slices: 5) {
            _, rounds in
            let text = text()
            let start = Document(text)
            let ends = start.root.children.map(\.sourceRange.upperBound)
            let keys = 20
            // From the last to the first, so that the keystrokes don't move the positions.
            let positions = (1...keys).map { ends[ends.count * (keys - $0) / keys] }
            try await rounds(
                {
                    try await timed(keys, bytes: text.utf8.count, expecting: text.utf8.count + keys) {
                        var document = start
                        for position in positions { document = document.replacing(position..<position, with: "x") }
                        return document.source.utf8.count
                    }
                },
                {
                    try await timed(1, bytes: text.utf8.count, expecting: text.utf8.count) {
                        Document(text).source.utf8.count
                    }
                })
        }
    }
}
