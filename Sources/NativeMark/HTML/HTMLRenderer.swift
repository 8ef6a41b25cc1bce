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
        let fragment = fragment(of: document, highlighter: highlighter)
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
        var writer = HTMLWriter(
            storage: document.storage, images: images, marksImages: style?.alignsImages == true,
            highlighter: highlighter)
        writer.write()
        return writer.output.text
    }
}

// MARK: - Elements

struct HTMLWriter: ~Copyable {
    private let document: DocumentStorage
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

    init(
        storage: DocumentStorage, images: Bool, marksImages: Bool = false, highlighter: (any CodeHighlighter)? = nil
    ) {
        document = storage
        self.images = images
        self.marksImages = marksImages
        self.highlighter = highlighter
        let count = storage.regions.extent.bytes
        output = HTMLOutput(capacity: count + count / 4 + 64)
    }

    mutating func write() {
        for region in document.regions { write(0, of: region) }
        for footnote in document.footnotes.map(document.index(of:)) {
            write(Int(footnote.node), of: document.regions[footnote.region])
        }
        if inFootnotes { write("</ol>\n</section>\n") }
    }

    private mutating func write(_ first: Int, of region: DocumentRegion) {
        var walk = TreeWalk(from: first)
        while let step = walk.next(in: region) {
            if imageDepth > 0 {
                writeDescription(step.node, isEnter: step.isEnter, in: region)
            } else if step.isEnter {
                enter(step.node, in: region)
            } else {
                leave(step.node, in: region)
            }
        }
    }

    // MARK: Nodes

    private mutating func enter(_ node: NodeRecord, in region: DocumentRegion) {
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
            write("\(node.extra)\">\n")
        case .footnoteReference:
            let count = footnoteReferences[node.extra, default: 0] + 1
            footnoteReferences[node.extra] = count
            let suffix = count == 1 ? "" : "-\(count)"
            write("<sup class=\"footnote-ref\"><a href=\"#fn-\(node.extra)\" id=\"fnref-\(node.extra)\(suffix)\">")
            write("\(node.extra)</a></sup>")
        }
    }

    private mutating func leave(_ node: NodeRecord, in region: DocumentRegion) {
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

    private mutating func enterList(_ node: NodeRecord, in region: DocumentRegion) {
        block(node.value >= 0 ? "<ol" : "<ul")
        if node.value >= 0, node.value != 1 { write(" start=\"\(node.value)\"") }
        var item = node.firstChild
        while item >= 0 {
            if region[Int(item)].detail > 0 {
                write(" class=\"contains-task-list\"")
                break
            }
            item = region[Int(item)].next
        }
        write(">\n")
    }

    private mutating func writeDescription(_ node: NodeRecord, isEnter: Bool, in region: DocumentRegion) {
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

    private mutating func writeTitle(_ node: NodeRecord, in region: DocumentRegion) {
        guard let title = region.string(node.extra) else { return }
        write("\" title=\"")
        writeEscaped(title)
    }

    // MARK: Neighbors

    private func isTight(_ node: NodeRecord, in region: DocumentRegion) -> Bool {
        let parent = region[Int(node.parent)]
        return parent.tag == .item && region[Int(parent.parent)].flag
    }

    /// Whether there is nothing in the paragraph but the node, or a link around it.
    private func isAlone(_ node: NodeRecord, in region: DocumentRegion) -> Bool {
        guard node.previous < 0, node.next < 0, node.parent >= 0 else { return false }
        let parent = region[Int(node.parent)]
        return parent.tag == .paragraph || parent.tag == .link && isAlone(parent, in: region)
    }

    private func isInHeader(_ node: NodeRecord, in region: DocumentRegion) -> Bool {
        region[Int(node.parent)].detail == 1
    }

    private func isFirstOfBody(_ node: NodeRecord, in region: DocumentRegion) -> Bool {
        node.previous >= 0 && region[Int(node.previous)].detail == 1
    }

    // MARK: Bytes

    @inline(__always) private mutating func write(_ text: StaticString) { output.append(text) }

    private mutating func write(_ text: String) { output.append(text) }

    private mutating func block(_ text: StaticString) {
        if let last = output.last, last != 0x0A { output.append(0x0A) }
        write(text)
    }

    /// Writes code and wraps each token in an element.
    private mutating func writeCode(
        _ node: NodeRecord, in region: DocumentRegion, language: String, highlighter: any CodeHighlighter
    ) {
        let first = Int(node.value)
        let last = first + Int(node.extra)
        region.withBytes { bytes in
            let code = UnsafeBufferPointer(rebasing: bytes[first..<last])
            var position = 0
            for token in highlighter.tokens(in: String(decoding: code, as: UTF8.self), ofBlock: language) {
                output.appendEscaped(UnsafeBufferPointer(rebasing: code[position..<token.range.lowerBound]))
                write("<span class=\"code-")
                write(token.kind.rawValue)
                write("\">")
                output.appendEscaped(UnsafeBufferPointer(rebasing: code[token.range]))
                write("</span>")
                position = token.range.upperBound
            }
            output.appendEscaped(UnsafeBufferPointer(rebasing: code[position...]))
        }
    }

    private mutating func writeEscaped(_ node: NodeRecord, in region: DocumentRegion) {
        let first = Int(node.value)
        region.withBytes { output.appendEscaped(UnsafeBufferPointer(rebasing: $0[first..<first + Int(node.extra)])) }
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

    var text: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }

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

    mutating func append(_ text: String) {
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

    /// Appends text with entities for `&`, `<`, `>` and `"`. Whole words are copied before their bytes are examined, which is safe because
    /// the buffer always has room for the rest of the text.
    mutating func appendEscaped(_ bytes: UnsafeBufferPointer<UInt8>) {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        reserve(bytes.count)
        while index &+ 8 <= bytes.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            UnsafeMutableRawPointer(start + count).storeBytes(of: word, as: UInt64.self)
            // & and " differ in one bit, as do < and >.
            let value = UInt64(littleEndian: word)
            let special =
                (value | UInt64(repeating: 0x04)).matches(of: 0x26)
                | (value | UInt64(repeating: 0x02)).matches(of: 0x3E)
            guard special != 0 else {
                index &+= 8
                count &+= 8
                continue
            }
            let length = special.trailingZeroBitCount / 8
            index &+= length
            count &+= length
            appendEscaped(bytes[index])
            index &+= 1
            reserve(bytes.count &- index)
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
