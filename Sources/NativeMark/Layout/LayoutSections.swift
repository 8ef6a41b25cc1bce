/// The layout of a text in sections from top to bottom, so that a long document is drawn without keeping all of it.
///
///     for section in LayoutSections(text, width: 480, engine: engine) {
///         for command in section.commands { draw(command) }
///     }
///
/// A section is a block of the document with everything inside, such as a paragraph or a whole list. All sections have the coordinates of
/// the document. The border and background of the document itself aren't drawn.
public struct LayoutSections: Sequence, IteratorProtocol {
    private var builder: LayoutBuilder

    /// The parameters are those of ``TextLayout/init(_:width:engine:lineLimit:imageSize:)``.
    public init(
        _ text: StyledText, width: Double, engine: any TextEngine,
        imageSize: @escaping (_ index: Int) -> LayoutSize? = { _ in nil }
    ) {
        builder = LayoutBuilder(text, width: width, engine: engine, lineLimit: nil, imageSize: imageSize)
    }

    /// Lays out the next section, or returns `nil` at the end.
    public mutating func next() -> LayoutSection? { builder.nextSection() }
}

/// A part of a layout: one block of the document with everything inside.
public struct LayoutSection: Sendable {
    /// What to draw, from back to front.
    public var commands: [DrawingCommand]
    /// The lines of text, in the order of the document.
    public var lines: [PlacedLine]
    /// What a page doesn't cut, from top to bottom.
    public var rows: [LayoutRow]
    /// The bottom of the section.
    public var bottom: Double
}

/// A line of text, a row of a table or a rule, with the padding and border of boxes that begin above it or end below it.
public struct LayoutRow: Sendable, Hashable {
    /// The top in the coordinates of the document.
    public var top: Double
    /// The bottom in the coordinates of the document.
    public var bottom: Double
    /// The index of the innermost block that contains the row.
    public var block: Int
}
