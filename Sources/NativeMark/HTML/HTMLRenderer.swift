/// Renders a document as HTML, for conformance tests and for inspection.
///
///     HTMLRenderer().render(Document("Hello *world*"))  // "<p>Hello <em>world</em></p>\n"
///
/// The output matches the examples of the CommonMark specification; tables and task items match markdown-it. All text of the document is
/// escaped, and a ``Document`` contains no raw HTML, so the result has no elements other than those of Markdown. Rendering takes linear
/// time and doesn't recurse.
public struct HTMLRenderer: Sendable, Hashable {
    /// Whether images become `<img>` elements. If `false`, the description of an image takes its place, so a browser loads nothing.
    public var images: Bool

    /// Creates a renderer.
    public init(images: Bool = true) {
        self.images = images
    }

    /// Returns the document as an HTML fragment, without `<html>` and `<body>`.
    public func render(_ document: Document) -> String {
        String(decoding: bytes(of: document), as: UTF8.self)
    }

    package func bytes(of document: Document) -> [UInt8] {
        var writer = HTMLWriter(storage: document.storage, images: images)
        writer.write()
        return writer.output
    }
}
