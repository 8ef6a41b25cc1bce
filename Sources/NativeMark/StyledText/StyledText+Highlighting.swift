extension StyledText {
    /// A function that returns the parts of a code block to style differently, such as keywords, strings and comments.
    ///
    ///     StyledText(document) { code, language in
    ///         language == "swift" ? keywords(in: code).map { .init($0, [.color(.accent)]) } : []
    ///     }
    ///
    /// The arguments are the code as it is shown, and the first word after the opening fence or an empty string.
    public typealias Highlighter = (_ code: String, _ language: String) -> [Highlight]

    /// A part of a code block with additional styles.
    public struct Highlight: Sendable, Hashable {
        /// The range in the code, as UTF-8 offsets. It is clamped to the code and rounded down to whole scalars.
        public var range: Range<Int>
        /// The styles of the part. Later styles take precedence.
        public var styles: [StyleSheet.InlineStyle]

        /// Creates a highlight.
        public init(_ range: Range<Int>, _ styles: [StyleSheet.InlineStyle]) {
            self.range = range
            self.styles = styles
        }
    }
}

extension [StyledText.Highlight] {
    /// Returns the highlights sorted, clamped to whole scalars of the code, and without overlaps. If two overlap, the common part belongs
    /// to the one that begins first.
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
