/// A document as text without any style: for a notification, a search index, a pipe.
///
///     PlainText(document).string   // "Hello world <https://example.com>"
///
/// Lists have their markers, quotes `>`, tables columns, and links their targets in angle brackets. The text is as clean as
/// that for a terminal (``TerminalText/sanitized(_:)``): a document's controls do not come through.
public struct PlainText: Sendable, Hashable {
    /// The text, without a line feed at the end.
    public let string: String

    /// The text of a styled document, of which markers, spacing and indents count and nothing else.
    ///
    /// - Parameters:
    ///   - text: A styled document.
    ///   - width: The columns of a line; `nil` ends lines only where the document does.
    ///   - imageSources: Whether the description of an image is followed by where it is.
    public init(_ text: StyledText, width: Int? = nil, imageSources: Bool = true) {
        var renderer = TerminalRenderer(
            width: width ?? Self.unlimited, images: imageSources ? .none : .alternativeText)
        renderer.isPlain = true
        renderer.isUnlimited = width == nil
        string = renderer.render(text)
    }

    /// The text of a document with the usual markers.
    public init(_ document: Document, width: Int? = nil) {
        self.init(StyledText(document), width: width)
    }

    /// More columns than any text has, and few enough to calculate with.
    private static let unlimited = 1 << 40
}
