/// Renders a document as HTML, for web pages, conformance tests and inspection.
///
///     HTMLRenderer().render(Document("Hello *world*"))  // "<p>Hello <em>world</em></p>\n"
///     HTMLRenderer(style: .github).renderPage(Document("Hello"), title: "Greeting")   // "<!DOCTYPE html>\n<html>…"
///
/// Without a style sheet, the output matches the examples of the CommonMark specification; tables and task items match markdown-it. All
/// text is escaped and a ``Document`` contains no raw HTML, so the result has only elements that Markdown produces.
///
/// With a style sheet, the result is a `<style>` element, followed by the document in an element of class `nativemark`. The rules apply
/// only there. They include colors for light, dark and increased contrast, from which the browser chooses (`prefers-color-scheme`,
/// `prefers-contrast`). Font sizes are relative to the size that the reader chose in the browser, even sizes in points. Names of fonts and
/// bullets are escaped, so an untrusted style sheet can't close the `<style>` element or load anything.
///
/// Rendering takes linear time and doesn't recurse.
public struct HTMLRenderer: Sendable, Hashable {
    /// Whether images become `<img>` elements. If `false`, images are replaced by their descriptions, so a browser loads nothing.
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
    /// A highlighter wraps the tokens of code blocks in elements such as `<span class="code-keyword">`. A style sheet styles them with
    /// ``StyleSheet/InlineSelector/token(_:)``.
    public func render(_ document: Document, highlighter: (any CodeHighlighter)? = nil) -> String {
        styled(fragment(of: document, highlighter: highlighter))
    }

    /// Parses Markdown and returns it as an HTML fragment, without building a ``Document``.
    ///
    ///     HTMLRenderer().render(markdown: "Hello *world*")  // "<p>Hello <em>world</em></p>\n"
    ///
    /// The result is the same as that of `render(Document(markdown, options: options))`, but takes a fifth less time and a third less memory,
    /// because each block is dropped as soon as its HTML is written. Blocks the calling thread for about 5 ms per megabyte.
    /// A Markdown text of 715,827,882 bytes (`Int32.max / 3`) or more traps.
    public func render(
        markdown: String, options: Document.Options = .init(), highlighter: (any CodeHighlighter)? = nil
    ) -> String {
        var markdown = markdown
        return styled(
            markdown.withUTF8 { bytes in
                var writer = writer(length: bytes.count, highlighter)
                DocumentParser.write(bytes, options: options, to: &writer)
                return writer.output.text
            })
    }

    /// Parses Markdown in UTF-8 and passes the HTML to a function in pieces, so that no text of its length is in memory. Returns `false`,
    /// without a call, if the bytes aren't UTF-8 or if there is a style sheet.
    package func render(
        markdown: UnsafeBufferPointer<UInt8>, options: Document.Options = .init(),
        to sink: (UnsafeBufferPointer<UInt8>) -> Void
    ) -> Bool {
        guard style == nil, markdown.isUTF8 else { return false }
        var writer = writer(length: min(markdown.count, HTMLOutput.pieceSize), nil)
        DocumentParser.write(markdown, options: options, to: &writer) { output in
            if output.count >= HTMLOutput.pieceSize { output.removeAll(keepingLast: 1, sink) }
        }
        writer.output.removeAll(keepingLast: 0, sink)
        return true
    }

    private func styled(_ fragment: String) -> String {
        guard let style else { return fragment }
        return "<style>\n\(StyleSheetCSS.text(of: style))</style>\n<div class=\"nativemark\">\n\(fragment)</div>\n"
    }

    /// Returns the document as a complete HTML page that declares UTF-8.
    ///
    /// - Parameters:
    ///   - document: The content of the page.
    ///   - title: The title of the page. It is escaped.
    ///   - language: The language of the document, such as `en`. Browsers need it for hyphenation.
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

    /// The maximum width keeps lines readable on a wide screen.
    private static let pageStyle = """
        :root { color-scheme: light dark; font-family: system-ui, sans-serif; }
        :where(body) { max-width: 45em; margin: 0 auto; padding: 1em; }

        """

    private func fragment(of document: Document, highlighter: (any CodeHighlighter)?) -> String {
        var writer = writer(length: document.storage.regions.extent.bytes, highlighter)
        writer.write(document.storage)
        return writer.output.text
    }

    private func writer(length: Int, _ highlighter: (any CodeHighlighter)?) -> HTMLWriter {
        HTMLWriter(
            length: length, images: images, marksImages: style?.alignsImages == true, highlighter: highlighter)
    }
}

// MARK: - Elements

struct HTMLWriter: ~Copyable {
    let images: Bool
    /// Whether images that are alone in their paragraph have a class, so that a style sheet can align them.
    let marksImages: Bool
    let highlighter: (any CodeHighlighter)?
    /// The first word after the fence of the current code block, or `nil` outside code blocks.
    private var language: String?
    var output: HTMLOutput
    /// Greater than 0 within the description of an image, where only text is written.
    private var imageDepth = 0
    private var inFootnotes = false
    private var footnoteReferences: [Int32: Int] = [:]

    /// `length` is the number of bytes of the Markdown.
    init(length: Int, images: Bool, marksImages: Bool = false, highlighter: (any CodeHighlighter)? = nil) {
        self.images = images
        self.marksImages = marksImages
        self.highlighter = highlighter
        output = HTMLOutput(capacity: length + length / 4 + 64)
    }

    mutating func write(_ document: DocumentStorage) {
        for region in document.regions { region.withNodes { write(0, of: $0) } }
        for footnote in document.footnotes.map(document.index(of:)) {
            document.regions[footnote.region].withNodes { write(footnote.node, of: $0) }
        }
        finish()
    }

    /// Ends the HTML after the last footnote.
    mutating func finish() {
        if inFootnotes { write("</ol>\n</section>\n") }
    }

    /// Writes a node and its descendants. Follows the links between the nodes without a stack, as ``TreeWalk`` does, but doesn't copy a node
    /// for each step.
    mutating func write(_ first: Int32, of region: RegionNodes) {
        var index = first
        while true {
            let node = region[index]
            if imageDepth > 0 { writeDescription(node, isEnter: true, in: region) } else { enter(node, in: region) }
            if node.firstChild >= 0 {
                index = node.firstChild
                continue
            }
            if !node.tag.isLeaf { finish(node, in: region) }
            while index != first, region[index].next < 0 {
                index = region[index].parent
                finish(region[index], in: region)
            }
            guard index != first else { return }
            index = region[index].next
        }
    }

    private mutating func finish(_ node: NodeRecord, in region: RegionNodes) {
        if imageDepth > 0 { writeDescription(node, isEnter: false, in: region) } else { leave(node, in: region) }
    }

    // MARK: Nodes

    private mutating func enter(_ node: NodeRecord, in region: RegionNodes) {
        switch node.tag {
        case .text:
            if language != nil, let highlighter, let language {
                writeCode(node, in: region, language: language, highlighter: highlighter)
            } else {
                writeEscaped(node, in: region)
            }
        case .softBreak: output.append(0x0A)
        case .paragraph: if !isTight(node, in: region) { block("<p>") }
        case .emphasis: write("<em>")
        case .strong: write("<strong>")
        case .strikethrough: write("<s>")
        case .code:
            write("<code>")
            writeEscaped(node, in: region)
            write("</code>")
        case .lineBreak: write("<br />\n")
        case .link:
            write("<a href=\"")
            writeEscaped(region.string(node.value) ?? "")
            writeTitle(node, in: region)
            write("\">")
        case .image:
            imageDepth = 1
            guard images else { return }
            write(marksImages && isAlone(node, in: region) ? "<img class=\"nm-alone\" src=\"" : "<img src=\"")
            writeEscaped(region.string(node.value) ?? "")
            write("\" alt=\"")
        case .document: break
        case .blockQuote: block("<blockquote>\n")
        case .list: enterList(node, in: region)
        case .item:
            block("<li")
            if node.detail > 0 {
                write(
                    " class=\"task-list-item\"><input class=\"task-list-item-checkbox\" disabled=\"\" type=\"checkbox\""
                )
                if node.detail == 2 { write(" checked=\"\"") }
                write("> ")
            } else {
                write(">")
            }
        case .heading:
            block("<h")
            output.append(0x30 + node.detail)
            write(">")
        case .codeBlock:
            block("<pre><code")
            let language = (region.string(node.value) ?? "").firstWordOfInfo
            if !language.isEmpty {
                write(language.hasPrefix("language-") ? " class=\"" : " class=\"language-")
                writeEscaped(language)
                write("\"")
            }
            self.language = language
            write(">")
        case .thematicBreak: block("<hr />\n")
        case .table: block("<table>\n")
        case .tableRow:
            if node.detail == 1 { write("<thead>\n") } else if isFirstOfBody(node, in: region) { write("<tbody>\n") }
            write("<tr>\n")
        case .tableCell:
            write(isInHeader(node, in: region) ? "<th" : "<td")
            switch Document.Alignment.allCases[Int(node.detail)] {
            case .none: write(">")
            case .leading: write(" style=\"text-align:left\">")
            case .center: write(" style=\"text-align:center\">")
            case .trailing: write(" style=\"text-align:right\">")
            }
        case .footnoteDefinition:
            if !inFootnotes { block("<section class=\"footnotes\">\n<ol>\n") }
            inFootnotes = true
            block("<li id=\"fn-")
            write(text: "\(node.extra)\">\n")
        case .footnoteReference:
            let count = footnoteReferences[node.extra, default: 0] + 1
            footnoteReferences[node.extra] = count
            let suffix = count == 1 ? "" : "-\(count)"
            write(text: "<sup class=\"footnote-ref\"><a href=\"#fn-\(node.extra)\"")
            write(text: " id=\"fnref-\(node.extra)\(suffix)\">\(node.extra)</a></sup>")
        }
    }

    private mutating func leave(_ node: NodeRecord, in region: RegionNodes) {
        switch node.tag {
        case .paragraph: if !isTight(node, in: region) { write("</p>\n") }
        case .emphasis: write("</em>")
        case .strong: write("</strong>")
        case .strikethrough: write("</s>")
        case .link: write("</a>")
        case .blockQuote: block("</blockquote>\n")
        case .list: block(node.value >= 0 ? "</ol>\n" : "</ul>\n")
        case .item: write("</li>\n")
        case .heading:
            write("</h")
            output.append(0x30 + node.detail)
            write(">\n")
        case .codeBlock:
            write("</code></pre>\n")
            language = nil
        case .table: write("</table>\n")
        case .tableRow:
            write("</tr>\n")
            if node.detail == 1 { write("</thead>\n") } else if node.next < 0 { write("</tbody>\n") }
        case .tableCell: write(isInHeader(node, in: region) ? "</th>\n" : "</td>\n")
        case .footnoteDefinition: block("</li>\n")
        default: break
        }
    }

    private mutating func enterList(_ node: NodeRecord, in region: RegionNodes) {
        block(node.value >= 0 ? "<ol" : "<ul")
        if node.value >= 0, node.value != 1 { write(text: " start=\"\(node.value)\"") }
        var item = node.firstChild
        while item >= 0 {
            if region[item].detail > 0 {
                write(" class=\"contains-task-list\"")
                break
            }
            item = region[item].next
        }
        write(">\n")
    }

    private mutating func writeDescription(_ node: NodeRecord, isEnter: Bool, in region: RegionNodes) {
        switch node.tag {
        case .image:
            imageDepth += isEnter ? 1 : -1
            if imageDepth == 0, images {
                writeTitle(node, in: region)
                write("\" />")
            }
        case .text, .code: writeEscaped(node, in: region)
        case .softBreak, .lineBreak: output.append(0x0A)
        default: break
        }
    }

    private mutating func writeTitle(_ node: NodeRecord, in region: RegionNodes) {
        guard let title = region.string(node.extra) else { return }
        write("\" title=\"")
        writeEscaped(title)
    }

    // MARK: Neighbors

    private func isTight(_ node: NodeRecord, in region: RegionNodes) -> Bool {
        let parent = region[node.parent]
        return parent.tag == .item && region[parent.parent].flag
    }

    /// Whether there is nothing in the paragraph but the node, or a link around it.
    private func isAlone(_ node: NodeRecord, in region: RegionNodes) -> Bool {
        guard node.previous < 0, node.next < 0, node.parent >= 0 else { return false }
        let parent = region[node.parent]
        return parent.tag == .paragraph || parent.tag == .link && isAlone(parent, in: region)
    }

    private func isInHeader(_ node: NodeRecord, in region: RegionNodes) -> Bool {
        region[node.parent].detail == 1
    }

    private func isFirstOfBody(_ node: NodeRecord, in region: RegionNodes) -> Bool {
        node.previous >= 0 && region[node.previous].detail == 1
    }

    // MARK: Bytes

    @inline(__always) private mutating func write(_ text: StaticString) { output.append(text) }

    // Not another `write`: a literal would be a String, and each append would unpack it.
    private mutating func write(text: String) { output.append(text: text) }

    private mutating func block(_ text: StaticString) {
        if let last = output.last, last != 0x0A { output.append(0x0A) }
        write(text)
    }

    /// Writes code and wraps each token in an element.
    private mutating func writeCode(
        _ node: NodeRecord, in region: RegionNodes, language: String, highlighter: any CodeHighlighter
    ) {
        let code = region.bytes(of: node).text
        var position = 0
        for token in highlighter.tokens(in: String(decoding: code, as: UTF8.self), ofBlock: language) {
            output.appendEscaped(UnsafeBufferPointer(rebasing: code[position..<token.range.lowerBound]))
            write("<span class=\"code-")
            write(text: token.kind.rawValue)
            write("\">")
            output.appendEscaped(UnsafeBufferPointer(rebasing: code[token.range]))
            write("</span>")
            position = token.range.upperBound
        }
        output.appendEscaped(UnsafeBufferPointer(rebasing: code[position...]))
    }

    @inline(__always) private mutating func writeEscaped(_ node: NodeRecord, in region: RegionNodes) {
        let (bytes, following) = region.bytes(of: node)
        output.appendEscaped(bytes, following: following)
    }

    private mutating func writeEscaped(_ text: String) { output.appendEscaped(text) }

    static func escaped(_ text: String) -> String {
        var output = HTMLOutput()
        output.appendEscaped(text)
        return output.text
    }
}

// MARK: - Bytes

/// The bytes of the HTML so far.
///
/// Rendering takes a third less time than with an array, which checks on each append whether it is shared.
struct HTMLOutput: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var room: Int
    private(set) var count = 0

    init(capacity: Int = 64) {
        room = capacity
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    var last: UInt8? { count > 0 ? start[count - 1] : nil }

    var text: String {
        let bytes = UnsafeBufferPointer(start: start, count: count)
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            // All parts of the output come from strings, so it is valid. Checking it takes as long as parsing if it isn't all ASCII.
            return unsafe String(copying: UTF8Span(unchecked: Span(_unsafeElements: bytes)))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static let pieceSize = 1 << 20

    /// Passes the bytes to a function and removes them, except the last ones. What comes after a block depends on the last byte.
    mutating func removeAll(keepingLast kept: Int, _ sink: (UnsafeBufferPointer<UInt8>) -> Void) {
        guard count > kept else { return }
        sink(UnsafeBufferPointer(start: start, count: count - kept))
        start.update(from: start + count - kept, count: kept)
        count = kept
    }

    @inline(__always) private mutating func reserve(_ added: Int) {
        if count &+ added > room { grow(by: added) }
    }

    @inline(never) private mutating func grow(by added: Int) {
        room = max(2 * room, count + added)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: room)
        grown.update(from: start, count: count)
        start.deallocate()
        start = grown
    }

    mutating func append(_ byte: UInt8) {
        reserve(1)
        start[count] = byte
        count &+= 1
    }

    @inline(__always) mutating func append(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount)
        (start + count).update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        count &+= text.utf8CodeUnitCount
    }

    mutating func append(text: String) {
        var text = text
        text.withUTF8 { bytes in
            guard let first = bytes.baseAddress else { return }
            reserve(bytes.count)
            (start + count).update(from: first, count: bytes.count)
            count &+= bytes.count
        }
    }

    mutating func appendEscaped(_ text: String) {
        var text = text
        text.withUTF8 { appendEscaped($0) }
    }

    /// Appends text with entities for `&`, `<`, `>` and `"`.
    ///
    /// Whole blocks are copied before their bytes are examined, which is safe because the buffer has room for the rest of the text and a
    /// block. `following` is the number of bytes after the text that may be read, too: most texts are short, and with these bytes they take
    /// one block instead of a loop over single bytes.
    mutating func appendEscaped(_ bytes: UnsafeBufferPointer<UInt8>, following: Int = 0) {
        guard let base = bytes.baseAddress else { return }
        let raw = UnsafeRawPointer(base)
        let lastBlock = bytes.count &+ following &- 16
        var index = 0
        reserve(bytes.count &+ 16)
        while index < bytes.count, index <= lastBlock {
            let block = raw.loadUnaligned(fromByteOffset: index, as: ByteBlock.self)
            UnsafeMutableRawPointer(start + count).storeBytes(of: block, as: ByteBlock.self)
            // & and " differ in one bit, as do < and >.
            let special =
                (((block | ByteBlock(repeating: 0x04)) .== ByteBlock(repeating: 0x26))
                .| ((block | ByteBlock(repeating: 0x02)) .== ByteBlock(repeating: 0x3E))).highBits
            let rest = bytes.count &- index
            guard special.low | special.high != 0 else {
                index &+= 16
                count &+= min(16, rest)
                continue
            }
            let length =
                (special.low != 0 ? special.low.trailingZeroBitCount : 64 &+ special.high.trailingZeroBitCount) / 8
            guard length < rest else {
                count &+= rest
                return
            }
            index &+= length
            count &+= length
            appendEscaped(bytes[index])
            index &+= 1
            reserve(bytes.count &- index &+ 16)
        }
        while index < bytes.count {
            appendEscaped(bytes[index])
            index &+= 1
        }
    }

    @inline(__always) private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case 0x26: append("&amp;")
        case 0x3C: append("&lt;")
        case 0x3E: append("&gt;")
        case 0x22: append("&quot;")
        default: append(byte)
        }
    }
}
