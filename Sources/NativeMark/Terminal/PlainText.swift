/// A document as unstyled text, for notifications, search indexes and pipes.
///
///     PlainText(document).string   // "Hello world <https://example.com>"
///
/// Lists keep their markers, block quotes begin with `>`, tables are aligned in columns, and link targets are in angle brackets, except
/// those within the document. A large table that would be mostly spaces, because of a very long cell, has a line `name: value` for each
/// cell. Headings and struck text are marked as in ``TerminalRenderer``. Control characters are replaced or removed as in
/// ``TerminalText/sanitized(_:)``.
public struct PlainText: Sendable, Hashable {
    /// The text, without a final line feed.
    public let string: String

    /// Creates the plain text of a styled document. Only markers, spacing and indents of the style are used.
    ///
    /// With a `width` of `nil`, lines break only where the document does. With `imageSources`, the source of an image follows its
    /// description.
    public init(_ text: StyledText, width: Int? = nil, imageSources: Bool = true) {
        var renderer = TerminalRenderer(
            width: width ?? Self.unlimited, images: imageSources ? .none : .alternativeText)
        renderer.isPlain = true
        renderer.isUnlimited = width == nil
        string = renderer.render(text)
    }

    /// Creates the plain text of a document with the default style sheet.
    public init(_ document: Document, width: Int? = nil) {
        self.init(StyledText(document), width: width)
    }

    private static let unlimited = 1 << 40
}
