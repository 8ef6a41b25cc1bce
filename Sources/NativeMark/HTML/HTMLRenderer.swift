/// Renders a document as HTML, for web pages, conformance tests and inspection.
///
///     HTMLRenderer().render(Document("Hello *world*"))  // "<p>Hello <em>world</em></p>\n"
///     HTMLRenderer(style: .github).renderPage(Document("Hello"), title: "Greeting")   // "<!DOCTYPE html>\n<html>…"
///
/// Without a style sheet, the output matches the examples of the CommonMark specification; tables and task items match markdown-it. All text
/// of the document is escaped, and a ``Document`` contains no raw HTML, so the result has no elements other than those of Markdown.
///
/// With a style sheet, the document is in an element of the class `nativemark` after a `<style>` element, whose rules apply only there. It
/// has the light and the dark colors, and those for increased contrast; the browser chooses (`prefers-color-scheme`, `prefers-contrast`).
/// Text styles and points are sizes relative to the font size that the reader chose in the browser. A name of a font or a bullet is
/// escaped, so that a style sheet from elsewhere can't end the element or load anything.
///
/// Rendering takes linear time and doesn't recurse.
public struct HTMLRenderer: Sendable, Hashable {
    /// Whether images become `<img>` elements. If `false`, the description of an image takes its place, so a browser loads nothing.
    public var images: Bool
    /// The style sheet to write, or `nil` for HTML without styles.
    public var style: StyleSheet?

    /// Creates a renderer.
    public init(images: Bool = true, style: StyleSheet? = nil) {
        self.images = images
        self.style = style
    }

    /// Returns the document as an HTML fragment, without `<html>` and `<body>`.
    ///
    /// A highlighter divides code blocks into elements such as `<span class="code-keyword">`, which a style sheet styles by
    /// ``StyleSheet/InlineSelector/token(_:)``.
    public func render(_ document: Document, highlighter: (any CodeHighlighter)? = nil) -> String {
        let fragment = fragment(of: document, highlighter: highlighter)
        guard let style else { return fragment }
        return "<style>\n\(StyleSheetCSS.text(of: style))</style>\n<div class=\"nativemark\">\n\(fragment)</div>\n"
    }

    /// Returns the document as a page in UTF-8.
    ///
    /// - Parameters:
    ///   - document: The content of the page.
    ///   - title: The title of the page. It is escaped.
    ///   - language: The language of the document, such as `en`, which browsers need for hyphenation.
    ///   - highlighter: Finds the tokens of code blocks, as in ``render(_:highlighter:)``.
    public func renderPage(
        _ document: Document, title: String, language: String? = nil, highlighter: (any CodeHighlighter)? = nil
    ) -> String {
        let css = style.map { Self.pageStyle + StyleSheetCSS.text(of: $0) }
        return """
            <!DOCTYPE html>
            <html\(language.map { " lang=\"\(HTMLWriter.escaped($0))\"" } ?? "")>
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(HTMLWriter.escaped(title))</title>
            \(css.map { "<style>\n\($0)</style>\n" } ?? "")</head>
            <body\(css == nil ? "" : " class=\"nativemark\"")>
            \(fragment(of: document, highlighter: highlighter))</body>
            </html>

            """
    }

    /// Without a limit, lines on a wide screen are hard to read.
    private static let pageStyle = """
        :root { color-scheme: light dark; font-family: system-ui, sans-serif; }
        :where(body) { max-width: 45em; margin: 0 auto; padding: 1em; }

        """

    private func fragment(of document: Document, highlighter: (any CodeHighlighter)?) -> String {
        var writer = HTMLWriter(storage: document.storage, images: images, highlighter: highlighter)
        writer.write()
        return writer.output.text
    }
}
