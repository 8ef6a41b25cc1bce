/// The layout of a text in sections from top to bottom, so that a long document is drawn without keeping all of it.
///
///     for section in LayoutSections(text, width: 480, engine: engine) {
///         for command in section.commands { draw(command) }
///     }
///
/// A section is a block of the document with everything inside, such as a paragraph or a whole list. All sections have the coordinates of
/// the document. The border and background of the document itself aren't drawn.
package struct LayoutSections: Sequence, IteratorProtocol {
    private var builder: LayoutBuilder

    /// The parameters are those of ``TextLayout/init(_:width:engine:imageSize:)``.
    package init(
        _ text: StyledText, width: Double, engine: any TextEngine,
        imageSize: @escaping (_ index: Int) -> LayoutSize? = { _ in nil }
    ) {
        builder = LayoutBuilder(text, width: width, engine: engine, lineLimit: nil, imageSize: imageSize)
    }

    package mutating func next() -> LayoutSection? { builder.nextSection() }
}

/// What a ``LayoutBuilder`` has placed.
package struct LayoutSection: Sendable {
    /// What to draw, from back to front.
    package var commands: [DrawingCommand]
    /// The lines of text, in the order of the document.
    package var lines: [PlacedLine]
    /// What a page doesn't cut, from top to bottom.
    package var rows: [LayoutRow]
    /// The bottom of the section.
    package var bottom: Double
}

/// A line of text, a row of a table or a rule, with the padding and border of boxes that begin above it or end below it.
package struct LayoutRow: Sendable, Hashable {
    package var top: Double
    package var bottom: Double
    /// The index of the innermost block that contains the row.
    package var block: Int
}
