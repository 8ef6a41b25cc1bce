#if Cairo
import CPangoCairo
public import NativeMark

/// Draws a styled text as a PDF, a PNG or an SVG, with Pango and Cairo.
///
///     var drawing = CairoDrawing(StyledText(Document("# Release notes"), style: .github))
///     drawing.title = "Release notes"
///     let pdf = try drawing.pdf()
///     let picture = try drawing.png(width: 640, scale: 2)
///
/// The same text, sheet and fonts give the same bytes. Drawing uses the processor: call it from a task of its own, not from the main actor.
/// PDFs are drawn page by page: beside the styled text, they take memory for one page and one block. PNGs and SVGs are held in memory.
public struct CairoDrawing: Sendable {
    /// The text to draw.
    public var text: StyledText
    /// What shapes the text.
    public var engine: PangoEngine
    /// The images by their `StyledText.Image.source`. Other images are shown as their alternative text.
    public var images: [String: CairoImage] = [:]
    /// The title of a PDF.
    public var title: String?
    /// The author of a PDF.
    public var author: String?
    /// The color behind the text. By default it is white, or nearly black for a dark environment. A PDF on white has no background.
    public var background: StyleSheet.Tone?

    /// Creates a drawing.
    public init(_ text: StyledText, engine: PangoEngine = PangoEngine()) {
        self.text = text
        self.engine = engine
    }

    // MARK: PDF

    /// Returns a PDF with links, an outline of the headings, metadata and tags for screen readers.
    ///
    /// - Throws: ``CairoError`` with the code `page` if the margins leave no room, or `drawing` if Cairo fails.
    public func pdf(_ setup: PageSetup = PageSetup()) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try writePDF(setup) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Writes a PDF piece by piece.
    ///
    /// `write` is called with the next bytes, in order. If it throws, nothing more is written and the method throws the same error. If the
    /// task is cancelled, the method throws `CancellationError` after the current page.
    public func writePDF(
        _ setup: PageSetup = PageSetup(), write: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try withoutActuallyEscaping(write) { write in
            let writer = try PDFWriter(self, setup, write: write)
            try writer.run()
        }
    }

    // MARK: PNG

    /// Returns a picture of the whole text.
    ///
    /// - Parameters:
    ///   - width: The width in points, including the margins.
    ///   - margin: The empty space at each edge, in points.
    ///   - scale: Pixels per point.
    /// - Throws: ``CairoError`` with the code `size` if a side has more than 32,767 pixels, Cairo's limit.
    public func png(width: Double, margin: Double = 24, scale: Double = 1) throws -> [UInt8] {
        let strip = try Strip(self, width: width, margin: margin, scale: scale, tallest: Self.mostPixels)
        return try png(strip.size, scale: scale, inset: margin) { canvas in
            for section in strip.sections { for command in section.commands { canvas.draw(command) } }
        }
    }

    private static let mostPixels = 32_767.0

    func png(
        _ size: LayoutSize, scale: Double, inset: Double, _ draw: (CairoCanvas) -> Void
    ) throws -> [UInt8] {
        let (width, height) = ((size.width * scale).rounded(.up), (size.height * scale).rounded(.up))
        guard scale > 0, width >= 1, height >= 1, width <= Self.mostPixels, height <= Self.mostPixels else {
            throw CairoError.size(
                "A picture of \(format(width)) × \(format(height)) pixels can't be drawn: the sides must have from 1 to "
                    + "\(Int(Self.mostPixels)) pixels. Use a smaller scale, pages, or PDF.")
        }
        let surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, Int32(width), Int32(height))!
        defer { cairo_surface_destroy(surface) }
        let cairo = cairo_create(surface)!
        let canvas = canvas(cairo)
        canvas.set(pageColor)
        cairo_paint(cairo)
        cairo_scale(cairo, scale, scale)
        cairo_translate(cairo, inset, inset)
        draw(canvas)
        let status = cairo_status(cairo)
        cairo_destroy(cairo)
        try check(status)
        var bytes: [UInt8] = []
        try check(
            withUnsafeMutablePointer(to: &bytes) { bytes in
                cairo_surface_write_to_png_stream(
                    surface,
                    { context, data, count in
                        context?.assumingMemoryBound(to: [UInt8].self).pointee.append(
                            contentsOf: UnsafeBufferPointer(start: data, count: Int(count)))
                        return CAIRO_STATUS_SUCCESS
                    }, bytes)
            })
        return bytes
    }

    // MARK: SVG

    /// Returns an SVG of the whole text, with real text and links. Viewers need the same fonts.
    ///
    /// `width` and `margin` are those of ``png(width:margin:scale:)``.
    public func svg(width: Double, margin: Double = 24) throws -> String {
        let strip = try Strip(self, width: width, margin: margin, scale: 1, tallest: .infinity)
        var writer = SVGWriter(self, size: strip.size)
        writer.inset(x: margin, y: margin, scale: 1)
        for section in strip.sections {
            for command in section.commands { writer.draw(command) }
            writer.addLinks(of: section.lines)
        }
        return writer.finish()
    }

    // MARK: Pages

    /// Returns the pages, which are laid out one after another.
    ///
    ///     let drawing = CairoDrawing(StyledText(Document("# Notes")))
    ///     for page in try drawing.pages(PageSetup(paper: .a5)) {
    ///         let png = try page.png(scale: 2)
    ///         print("page \(page.number) has \(png.count) bytes")
    ///     }
    ///
    /// - Throws: ``CairoError`` with the code `page` if the margins leave no room.
    public func pages(_ setup: PageSetup = PageSetup()) throws -> CairoPages {
        CairoPages(drawing: self, setup: setup, pages: try layoutPages(setup))
    }

    func layoutPages(_ setup: PageSetup) throws -> LayoutPages {
        let (width, height) = (setup.paper.width - 2 * setup.margin, setup.paper.height - 2 * setup.margin)
        guard setup.scale > 0, setup.scale <= 100, setup.margin >= 0, width >= 36, height >= 36 else {
            throw CairoError.page(
                "The margins leave \(format(width)) × \(format(height)) points for the text. Use a smaller margin or larger "
                    + "paper, and a positive scale.")
        }
        return LayoutPages(
            text, size: .init(width: width / setup.scale, height: height / setup.scale), engine: engine,
            imageSize: imageSize)
    }

    /// Returns the command that draws a page's number on its paper, or `nil` for pages without numbers.
    func numberCommand(_ number: Int, _ setup: PageSetup) -> DrawingCommand? {
        guard setup.hasPageNumbers, setup.margin >= 20 else { return nil }
        var style = ResolvedTextStyle(fontSize: 9)
        style.color = text.environment.appearance == .dark ? .rgb(0x9A9A9A) : .rgb(0x6A6A6A)
        var paragraph = TextParagraph()
        paragraph.text = String(number)
        paragraph.runs = [.init(range: 0..<paragraph.text.utf8.count, style: style)]
        return engine.lines(of: paragraph, width: .infinity, firstIndent: 0).first.map { line in
            .text(
                line, at: .init(x: (setup.paper.width - line.width) / 2, y: setup.paper.height - setup.margin / 2),
                block: 0)
        }
    }

    // MARK: Shared

    var imageSize: (Int) -> LayoutSize? {
        let sizes = text.images.map { image in
            images[image.source].map { LayoutSize(width: Double($0.width), height: Double($0.height)) }
        }
        return { sizes[$0] }
    }

    func canvas(_ cairo: OpaquePointer) -> CairoCanvas {
        // One view of each image, so that a PDF contains the image once.
        let views = images.mapValues(CairoImageView.init)
        var drawn: [Int: CairoImageView] = [:]
        for (index, image) in text.images.enumerated() { drawn[index] = views[image.source] }
        return CairoCanvas(cairo: cairo, images: drawn, standard: standardColor)
    }

    /// The color of text without a color of its own.
    var standardColor: CairoCanvas.RGBA {
        let gray = text.environment.appearance == .dark ? 0.92 : 0
        return .init(red: gray, green: gray, blue: gray)
    }

    /// The color of a page.
    var pageColor: CairoCanvas.RGBA {
        let color = background ?? text.blocks.first?.style.background
        if let color = color?.components {
            return .init(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
        }
        let gray = text.environment.appearance == .dark ? 0.11 : 1
        return .init(red: gray, green: gray, blue: gray)
    }

    func check(_ status: cairo_status_t) throws {
        guard status != CAIRO_STATUS_SUCCESS else { return }
        throw CairoError.drawing("The document couldn't be drawn: \(String(cString: cairo_status_to_string(status))).")
    }
}

/// The pages of a document, from the first to the last.
public struct CairoPages: Sequence, IteratorProtocol {
    fileprivate let drawing: CairoDrawing
    fileprivate let setup: PageSetup
    fileprivate var pages: LayoutPages

    /// Lays out the next page. Takes time in proportion to what is on it.
    public mutating func next() -> CairoPage? {
        pages.next().map { CairoPage(drawing: drawing, setup: setup, page: $0) }
    }
}

/// One page of a document.
public struct CairoPage {
    fileprivate let drawing: CairoDrawing
    fileprivate let setup: PageSetup
    fileprivate let page: LayoutPage

    /// The number of the page, from 1.
    public var number: Int { page.number }

    private var size: LayoutSize { .init(width: setup.paper.width, height: setup.paper.height) }

    /// Returns a picture of the page, with `scale` pixels per point. The errors are those of ``CairoDrawing/png(width:margin:scale:)``.
    public func png(scale: Double = 1) throws -> [UInt8] {
        try drawing.png(size, scale: scale, inset: 0) { canvas in
            canvas.draw(page, setup)
            if let command = drawing.numberCommand(number, setup) { canvas.draw(command) }
        }
    }

    /// Returns an SVG of the page.
    public func svg() -> String {
        var writer = SVGWriter(drawing, size: size)
        writer.draw(page, setup)
        if let command = drawing.numberCommand(number, setup) { writer.draw(command) }
        return writer.finish()
    }
}

/// The layout of a whole text in one strip.
private struct Strip {
    var sections: [LayoutSection] = []
    var size: LayoutSize

    init(_ drawing: CairoDrawing, width: Double, margin: Double, scale: Double, tallest: Double) throws {
        let room = width - 2 * margin
        guard room >= 1, margin >= 0, scale > 0 else {
            throw CairoError.page(
                "A width of \(format(width)) points with margins of \(format(margin)) leaves no room for the text. Use a larger "
                    + "width.")
        }
        let sections = LayoutSections(
            drawing.text, width: room, engine: drawing.engine, imageSize: drawing.imageSize)
        for section in sections {
            try Task.checkCancellation()
            self.sections.append(section)
            guard (section.bottom + 2 * margin) * scale <= tallest else {
                throw CairoError.size(
                    "The picture would be higher than \(Int(tallest)) pixels, Cairo's limit. Use a smaller scale, pages, or PDF."
                )
            }
        }
        size = LayoutSize(width: width, height: (self.sections.last?.bottom ?? 0) + 2 * margin)
    }
}

/// Writes a number with at most two decimals.
func format(_ number: Double) -> String {
    guard number.isFinite, abs(number) < 1e12 else { return "\(number)" }
    let hundredths = Int64((abs(number) * 100).rounded())
    let (whole, part) = hundredths.quotientAndRemainder(dividingBy: 100)
    let sign = number < 0 && hundredths > 0 ? "-" : ""
    if part == 0 { return "\(sign)\(whole)" }
    return part % 10 == 0 ? "\(sign)\(whole).\(part / 10)" : "\(sign)\(whole).\(part < 10 ? "0" : "")\(part)"
}
#endif
