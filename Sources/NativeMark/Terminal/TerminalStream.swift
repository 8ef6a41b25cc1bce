/// Renders a text for a terminal while it arrives: each block of a ``DocumentStream`` once, when it has ended.
///
/// ```text
/// append(_:)     a block that has ended
/// preview(_:)    the one after it, as it looks so far
/// finish(…)      the footnotes, and the end
/// ```
///
/// All that is appended, together with the end, is what ``TerminalRenderer`` makes of the whole text: the same spacing between the blocks,
/// and one limit on repeated link targets. Only rules for the last block (``StyleSheet/BlockSelector``) don't apply to a block that was
/// appended before the text ended, except for the space below it, and hyperlinks have other IDs if images are among them.
package struct TerminalStream: Sendable {
    /// May change between two blocks, for example to another width.
    package var renderer: TerminalRenderer
    private let sheet: ResolvedStyleSheet
    private let environment: StyleSheet.Environment
    private let highlighter: (any CodeHighlighter)?
    private var before = TerminalLayout.Before()
    /// The last block that has content, and whether it is the first one.
    private var last: (document: Document, isFirst: Bool)?

    package init(
        renderer: TerminalRenderer, style: StyleSheet = .default, environment: StyleSheet.Environment = .init(),
        highlighter: (any CodeHighlighter)? = nil
    ) {
        self.renderer = renderer
        sheet = style.resolved(in: environment)
        self.environment = environment
        self.highlighter = highlighter
    }

    /// Returns the lines of the next block, each with a line feed. `isLast` means that nothing but ``finish(footnotes:)`` follows.
    package mutating func append(_ document: Document, isLast: Bool = false) -> String {
        guard document.root.firstChild != nil else { return "" }
        let isFirst = last == nil
        last = (document, isFirst)
        var text = styled(document, isFirst: isFirst, isLast: isLast)
        // The edges of the document and the space below its last block come at the end.
        text.removeEnd()
        before.repetitionsLeft += document.source.utf8.count
        var layout = TerminalLayout(text: text, renderer: renderer, after: before)
        let output = layout.output
        before = layout.after
        return output
    }

    /// Returns the lines of the next block as it looks so far, each with a line feed.
    package func preview(_ document: Document) -> String {
        var copy = self
        return copy.append(document)
    }

    /// Returns the lines that end the text, each with a line feed: the footnotes, and what a style sheet puts below the last block.
    package mutating func finish(footnotes: Document? = nil) -> String {
        var output = ""
        if let footnotes { output += append(footnotes, isLast: true) }
        // A document without blocks has the edges of the whole one.
        var end = styled(Document(""), isFirst: last == nil, isLast: true)
        if let last { end.ends.below = styled(last.document, isFirst: last.isFirst, isLast: true).ends.below }
        var layout = TerminalLayout(text: end, renderer: renderer, after: before)
        output += layout.output
        before = layout.after
        return output
    }

    private func styled(_ document: Document, isFirst: Bool, isLast: Bool) -> StyledText {
        StyledText(
            part: document, isFirst: isFirst, isLast: isLast, sheet: sheet, environment: environment,
            highlighter: highlighter)
    }
}

extension TerminalLayout {
    /// The rendered lines, each with a line feed.
    fileprivate var output: String {
        mutating get {
            let lines = render()
            return writer.isEmpty ? "" : lines + "\n"
        }
    }
}
