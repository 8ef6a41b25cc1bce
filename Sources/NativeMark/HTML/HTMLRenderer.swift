/// Renders a document as HTML: for conformance tests, and to look at.
///
///     HTMLRenderer().render(Document("Hello *world*"))  // "<p>Hello <em>world</em></p>\n"
///
/// The output is that of the CommonMark specification's examples; tables and task items are as markdown-it writes them.
/// Everything that comes from the document is escaped, and there is no raw HTML in a ``Document``, so that the result holds
/// only the elements of Markdown. Destinations that run something are no links in a document in the first place.
///
/// Linear in the size of the document, without recursion.
public struct HTMLRenderer: Sendable, Hashable {
    /// Whether images are elements. If not, their descriptions stand in their places, and the program that shows the result loads
    /// nothing.
    public var images: Bool

    /// A renderer.
    public init(images: Bool = true) {
        self.images = images
    }

    /// The document as a fragment of HTML, without `<html>` and `<body>`.
    public func render(_ document: Document) -> String {
        String(decoding: bytes(of: document), as: UTF8.self)
    }

    package func bytes(of document: Document) -> [UInt8] {
        var writer = HTMLWriter(storage: document.storage, images: images)
        writer.write()
        return writer.output
    }
}
