#if Cairo
import CPangoCairo
import NativeMark

/// Draws the pages of one PDF, with links, an outline and tags.
final class PDFWriter {
    private let drawing: CairoDrawing
    private let setup: PageSetup
    private let pages: LayoutPages
    private let write: (UnsafeRawBufferPointer) throws -> Void
    private var writeError: (any Error)?
    /// Cairo writes a few bytes at a time.
    private var buffer: [UInt8] = []
    private static let bufferSize = 64 << 10
    private let anchors: DocumentAnchors
    /// The levels of the open headings, and their items of the outline.
    private var outline: [(level: Int, item: Int32)] = []
    private var tags = StructureTags()

    init(_ drawing: CairoDrawing, _ setup: PageSetup, write: @escaping (UnsafeRawBufferPointer) throws -> Void) throws {
        self.drawing = drawing
        self.setup = setup
        self.write = write
        pages = try drawing.layoutPages(setup)
        anchors = DocumentAnchors(drawing.text)
    }

    func run() throws {
        let surface = cairo_pdf_surface_create_for_stream(
            { context, bytes, count in
                Unmanaged<PDFWriter>.fromOpaque(context!).takeUnretainedValue().write(bytes, Int(count))
            }, Unmanaged.passUnretained(self).toOpaque(), setup.paper.width, setup.paper.height)!
        defer { cairo_surface_destroy(surface) }
        addMetadata(to: surface)
        let cairo = cairo_create(surface)!
        defer { cairo_destroy(cairo) }
        let canvas = drawing.canvas(cairo)
        try PagesAhead(pages).forEach { page in
            try Task.checkCancellation()
            draw(page, on: canvas, surface)
            cairo_show_page(cairo)
            try checkWrites(cairo_status(cairo))
        }
        cairo_surface_finish(surface)
        _ = flush()
        try checkWrites(cairo_surface_status(surface))
    }

    private func write(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> cairo_status_t {
        guard writeError == nil else { return CAIRO_STATUS_WRITE_ERROR }
        buffer += UnsafeBufferPointer(start: bytes, count: count)
        return buffer.count < Self.bufferSize ? CAIRO_STATUS_SUCCESS : flush()
    }

    private func flush() -> cairo_status_t {
        defer { buffer.removeAll(keepingCapacity: true) }
        do {
            if writeError == nil, !buffer.isEmpty { try buffer.withUnsafeBytes(write) }
        } catch {
            writeError = error
        }
        return writeError == nil ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR
    }

    private func checkWrites(_ status: cairo_status_t) throws {
        if let writeError { throw writeError }
        try drawing.check(status)
    }

    private func addMetadata(to surface: OpaquePointer) {
        func set(_ field: cairo_pdf_metadata_t, _ value: String?) {
            // Cairo takes zero bytes for the end.
            guard let value, !value.utf8.contains(0) else { return }
            cairo_pdf_surface_set_metadata(surface, field, value)
        }
        set(CAIRO_PDF_METADATA_TITLE, drawing.title)
        set(CAIRO_PDF_METADATA_AUTHOR, drawing.author)
        set(CAIRO_PDF_METADATA_CREATOR, "NativeMark")
        // By default Cairo writes the current time, and two PDFs of a document would differ.
        set(CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z")
    }

    // MARK: One page

    private func draw(_ page: LayoutPage, on canvas: CairoCanvas, _ surface: OpaquePointer) {
        let color = drawing.pageColor
        if color != .init(red: 1, green: 1, blue: 1) {
            canvas.set(color)
            cairo_paint(canvas.cairo)
        }
        drawing.engine.exclusively {
            canvas.draw(page, setup) { command, draw in
                guard case .text(_, _, let block) = command else { return draw() }
                tags.move(to: block, of: drawing.text, cairo: canvas.cairo)
                draw()
            }
            tags.close(cairo: canvas.cairo)
            addLinks(of: page, canvas.cairo)
            addTargets(of: page, canvas.cairo, surface)
        }
        if let command = drawing.numberCommand(page.number, setup) { canvas.draw(command) }
    }

    /// Returns a rectangle of the layout in points of the paper.
    private func onPaper(_ rectangle: LayoutRectangle, _ page: LayoutPage) -> LayoutRectangle {
        .init(
            x: setup.margin + rectangle.x * setup.scale,
            y: setup.margin + (rectangle.y - page.top) * setup.scale,
            width: rectangle.width * setup.scale, height: rectangle.height * setup.scale)
    }

    private func addLinks(of page: LayoutPage, _ cairo: OpaquePointer) {
        for line in page.lines {
            for (run, rectangle) in line.references(in: drawing.text) {
                guard let target = anchors.target(of: drawing.text.runs[run], in: drawing.text) else { continue }
                let place = onPaper(rectangle, page)
                let rect =
                    "rect=[\(format(place.x)) \(format(place.y)) \(format(place.width)) \(format(place.height))]"
                cairo_tag_begin(cairo, CAIRO_TAG_LINK, "\(target) \(rect)")
                cairo_tag_end(cairo, CAIRO_TAG_LINK)
            }
        }
    }

    /// Adds the headings to the outline, and makes headings and footnotes targets of links.
    private func addTargets(of page: LayoutPage, _ cairo: OpaquePointer, _ surface: OpaquePointer) {
        for line in page.lines {
            for block in drawing.text.blocksBeginning(with: line) {
                let place = onPaper(line.rectangle, page)
                if let name = anchors.name(of: block) {
                    cairo_tag_begin(cairo, CAIRO_TAG_DEST, "name='\(name)' x=\(format(place.x)) y=\(format(place.y))")
                    cairo_tag_end(cairo, CAIRO_TAG_DEST)
                }
                guard case .heading(let level) = drawing.text.blocks[block].kind else { continue }
                outline.removeAll { $0.level >= level }
                let title = String(drawing.text.string(of: drawing.text.blocks[block])).filter { $0 != "\0" }
                let item = cairo_pdf_surface_add_outline(
                    surface, outline.last?.item ?? Int32(CAIRO_PDF_OUTLINE_ROOT), title,
                    "page=\(page.number) pos=[\(format(place.x)) \(format(place.y))]",
                    level == 1 ? CAIRO_PDF_OUTLINE_FLAG_OPEN : cairo_pdf_outline_flags_t(0))
                outline.append((level, item))
            }
        }
    }
}

// MARK: - Tags

/// The open tags of a tagged PDF (ISO 32000, section 14.8). Tags don't cross pages.
private struct StructureTags {
    private var open: [Tag] = []
    /// Readers and Cairo don't gain from deeper ones.
    private static let mostTags = 24

    private struct Tag: Equatable {
        var block: Int
        var name: String
    }

    /// Closes and opens tags so that the next text belongs to a block. Text of an item itself is its marker.
    mutating func move(to block: Int, of text: StyledText, cairo: OpaquePointer) {
        let wanted = text.indexes(enclosing: block).flatMap { index in
            text.blocks[index].kind.tags(isInnermost: index == block).map { Tag(block: index, name: $0) }
        }.prefix(Self.mostTags)
        let common = zip(open, wanted).prefix { $0 == $1 }.count
        close(down: common, cairo: cairo)
        for tag in wanted.dropFirst(common) {
            cairo_tag_begin(cairo, tag.name, nil)
            open.append(tag)
        }
    }

    mutating func close(down count: Int = 0, cairo: OpaquePointer) {
        while open.count > count { cairo_tag_end(cairo, open.removeLast().name) }
    }
}

extension StyledText.Kind {
    /// The names of the tags of a block, the outer one first.
    fileprivate func tags(isInnermost: Bool) -> [String] {
        switch self {
        case .document, .thematicBreak: []
        case .paragraph, .codeBlock: ["P"]
        case .heading(let level): ["H\(min(max(level, 1), 6))"]
        case .blockQuote: ["BlockQuote"]
        case .list: ["L"]
        case .item: ["LI", isInnermost ? "Lbl" : "LBody"]
        case .table: ["Table"]
        case .tableRow: ["TR"]
        case .tableCell(row: 0, _, _): ["TH"]
        case .tableCell: ["TD"]
        case .footnotes: ["Sect"]
        case .footnote: isInnermost ? ["Note", "Lbl"] : ["Note"]
        }
    }
}

// MARK: - Targets of links

/// The names of headings and footnotes that links of the document lead to.
private struct DocumentAnchors {
    private var names: [Int: String] = [:]
    private var blocks: [String: Int] = [:]

    init(_ text: StyledText) {
        let wanted = Set(text.links.lazy.map(\.destination).filter { $0.hasPrefix("#") }.map { $0.dropFirst() })
        var counts: [String: Int] = [:]
        for (index, block) in text.blocks.enumerated() {
            switch block.kind {
            case .heading where !wanted.isEmpty:
                let slug = Self.slug(of: text.string(of: block))
                let count = counts[slug, default: 0]
                counts[slug] = count + 1
                let name = count == 0 ? slug : "\(slug)-\(count)"
                if wanted.contains(name[...]), blocks[name] == nil { (names[index], blocks[name]) = (name, index) }
            case .footnote(_, let number):
                // A slug has no colon.
                (names[index], blocks["fn:\(number)"]) = ("fn:\(number)", index)
            default: break
            }
        }
    }

    func name(of block: Int) -> String? { names[block] }

    /// Returns the attributes of a link, or `nil` for one that leads nowhere or has a scheme that a document shouldn't open.
    func target(of run: StyledText.Run, in text: StyledText) -> String? {
        if let number = run.footnote { return blocks["fn:\(number)"].map { _ in "dest='fn:\(number)'" } }
        guard let link = run.link else { return nil }
        let destination = text.links[link].destination
        if destination.hasPrefix("#") {
            let name = String(destination.dropFirst())
            return blocks[name].map { _ in "dest='\(name)'" }
        }
        let scheme = destination.prefix { $0 != ":" && $0 != "/" && $0 != "?" && $0 != "#" }
        let isRelative = destination.dropFirst(scheme.count).first != ":"
        guard !destination.isEmpty, isRelative || text.links[link].url() != nil else { return nil }
        // Cairo ends the value at a quote.
        let escaped = destination.flatMap { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }
        return "uri='\(String(escaped.filter { $0 != "\0" }))'"
    }

    /// Returns a heading's name in links, as GitHub forms it, from letters, digits, hyphens and underscores.
    private static func slug(of heading: Substring) -> String {
        String(
            heading.lowercased().compactMap { character -> Character? in
                if character == " " { return "-" }
                return character.isLetter || character.isNumber || character == "-" || character == "_"
                    ? character : nil
            })
    }
}

extension StyledText {
    /// Returns the block of a line and those that begin with it, if the line is the first one of the block.
    fileprivate func blocksBeginning(with line: PlacedLine) -> [Int] {
        guard line.line.range.lowerBound == 0 else { return [] }
        var blocks = [line.block]
        while let parent = self.blocks[blocks[blocks.count - 1]].parent, parent == blocks[blocks.count - 1] - 1 {
            blocks.append(parent)
        }
        return blocks
    }
}
#endif
