extension StyledText {
    /// Finds the parts of a code block that look different: keywords, strings, comments.
    ///
    ///     StyledText(document) { code, language in
    ///         language == "swift" ? keywords(in: code).map { .init($0, [.color(.accent)]) } : []
    ///     }
    ///
    /// Gets the code as it is shown and the first word behind the opening fence, or an empty text if there is none.
    public typealias Highlighter = (_ code: String, _ language: String) -> [Highlight]

    /// A part of a code block that looks different.
    public struct Highlight: Sendable, Hashable {
        /// Where it is in the code, in UTF-8 bytes. What lies outside the code, or in the middle of a scalar, is left out.
        public var range: Range<Int>
        /// What it looks like. Later styles win over earlier ones.
        public var styles: [StyleSheet.InlineStyle]

        /// A part and its styles.
        public init(_ range: Range<Int>, _ styles: [StyleSheet.InlineStyle]) {
            self.range = range
            self.styles = styles
        }
    }
}

extension [StyledText.Highlight] {
    /// The same parts in order, none of which overlap, all of whole scalars of the code. Of two that overlap, the one that
    /// begins first keeps the common part.
    func cut(to code: String) -> [StyledText.Highlight] {
        let utf8 = code.utf8
        func roundedDown(_ offset: Int) -> Int {
            var index = utf8.index(utf8.startIndex, offsetBy: Swift.min(Swift.max(offset, 0), utf8.count))
            while index > utf8.startIndex, index < utf8.endIndex, utf8[index] & 0xC0 == 0x80 {
                index = utf8.index(before: index)
            }
            return utf8.distance(from: utf8.startIndex, to: index)
        }
        var result: [StyledText.Highlight] = []
        for highlight in sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            let start = Swift.max(roundedDown(highlight.range.lowerBound), result.last?.range.upperBound ?? 0)
            let end = roundedDown(highlight.range.upperBound)
            if start < end { result.append(.init(start..<end, highlight.styles)) }
        }
        return result
    }
}
