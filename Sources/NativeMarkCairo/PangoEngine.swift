#if Cairo
import CPangoCairo
public import NativeMark
import SluiceLock
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A text engine that shapes text with Pango and the fonts that Fontconfig finds.
///
///     let engine = PangoEngine()
///     let invoice = try PangoEngine(fonts: .init(default: "Brand", files: ["Brand.ttf"]))
///
/// Shaping, bidirectional text and font fallback are Pango's. Lines don't depend on the resolution: glyphs have exact positions and aren't
/// hinted. Hyphens appear only where the text has soft hyphens (U+00AD), because Pango has no dictionaries.
///
/// An engine may be used by several tasks at the same time. Their calls take turns.
public final class PangoEngine: Sendable {
    /// The families of the four font designs, and where fonts come from.
    public struct Fonts: Sendable, Hashable {
        /// The family of the font designs `default` and `rounded`.
        public var `default`: String
        /// The family of the font design `serif`.
        public var serif: String
        /// The family of the font design `monospaced`.
        public var monospaced: String
        /// Font files, or directories of font files, to use in place of the system's fonts. Without any, the system's fonts are used.
        public var files: [String]

        /// Creates a choice of fonts. A family that isn't installed is replaced by a similar one.
        public init(
            default: String = "Sans", serif: String = "Serif", monospaced: String = "Monospace", files: [String] = []
        ) {
            self.default = `default`
            self.serif = serif
            self.monospaced = monospaced
            self.files = files
        }
    }

    private let state: Lock<PangoState>
    /// The thread that runs a closure of ``exclusively(_:)``, or 0.
    private let owner = Atomic<UInt>(0)
    /// The layouts of lines that nobody needs anymore. They are released together, by a thread that has the engine anyway.
    private let unneeded = Lock<[Unneeded]>([])

    /// Whoever releases the layout holds the lock of ``state``.
    private struct Unneeded: @unchecked Sendable {
        var layout: OpaquePointer
    }

    /// Creates an engine.
    ///
    /// - Parameters:
    ///   - fonts: The fonts to use.
    ///   - language: The language of the text, such as `ja`. It selects the forms of characters that differ between languages. By default
    ///     it is the language of the locale.
    /// - Throws: ``CairoError`` with the code `fonts` if a font file can't be used.
    public init(fonts: Fonts, language: String? = nil) throws(CairoError) {
        state = Lock(try PangoState(fonts: fonts, language: language))
    }

    /// Creates an engine with the system's fonts.
    public init() {
        state = Lock(PangoState())
    }

    /// The characters for which no font has a glyph, among the texts so far. They are drawn as boxes.
    public var missingCharacters: Set<Unicode.Scalar> { state.withLock { $0.missing } }

    /// The codes of the scripts of ``missingCharacters``, such as `Arab` and `Hani` (ISO 15924), in alphabetical order.
    public var missingScripts: [String] {
        let codes = missingCharacters.map { g_unicode_script_to_iso15924(g_unichar_get_script($0.value)) }
        return Set(codes).map { code in
            String(decoding: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }, as: UTF8.self)
        }.sorted()
    }

    /// Runs a closure while no other task uses Pango with this engine.
    func withPango<Result>(_ body: () throws -> Result) rethrows -> Result {
        if owner.load(ordering: .relaxed) == Self.thread { return try body() }
        return try state.withLock { _ in try body() }
    }

    /// Runs a closure that uses many lines, such as those of a page, while no other thread uses the engine. Waiting for each line would take
    /// longer than drawing it. The closure must not ask the engine for new lines.
    func exclusively(_ body: () throws -> Void) rethrows {
        try state.withLock { _ in
            owner.store(Self.thread, ordering: .relaxed)
            defer { owner.store(0, ordering: .relaxed) }
            releaseUnneeded()
            try body()
        }
    }

    private static var thread: UInt {
        #if canImport(Darwin)
        UInt(bitPattern: pthread_self())
        #else
        UInt(pthread_self())
        #endif
    }

    func release(_ layout: OpaquePointer) {
        let isFull = unneeded.withLock {
            $0.append(Unneeded(layout: layout))
            return $0.count >= 1_000
        }
        if isFull { withPango { releaseUnneeded() } }
    }

    private func releaseUnneeded() {
        let layouts = unneeded.withLock { layouts in
            defer { layouts = [] }
            return layouts
        }
        for one in layouts { g_object_unref(UnsafeMutableRawPointer(one.layout)) }
    }

    deinit { releaseUnneeded() }
}

extension PangoEngine: TextEngine {
    /// Breaks a paragraph into lines. Takes linear time, also for long words.
    public func lines(
        of paragraph: TextParagraph, width: Double, firstIndent: Double
    ) -> [any TextEngineLine] {
        // Releasing a layout takes the lock, so the lines leave it first.
        state.withLock { $0.lines(of: paragraph, width: width, firstIndent: firstIndent, engine: self) }
    }

    /// Returns the width of a paragraph in one line.
    public func width(of paragraph: TextParagraph) -> Double {
        state.withLock { $0.width(of: paragraph) }
    }

    /// Returns the width of the longest word.
    public func minimumWidth(of paragraph: TextParagraph) -> Double {
        state.withLock { $0.minimumWidth(of: paragraph) }
    }

    /// Returns the height of the style's font above and below the baseline.
    public func metrics(of style: ResolvedTextStyle) -> (ascent: Double, descent: Double) {
        state.withLock { $0.metrics(of: style) }
    }
}

// MARK: - Lines

/// A line of a Pango layout.
struct PangoLine: TextEngineLine {
    let piece: PangoPiece
    /// The number of the line in its piece.
    let number: Int
    let range: Range<Int>
    let width: Double
    let ascent: Double
    let descent: Double
    /// The distance of the line's left end from that of the layout.
    let offset: Double

    func spans(of range: Range<Int>) -> [Range<Double>] {
        let range = range.clamped(to: self.range)
        return piece.withLine(number) { line in
            var ranges: UnsafeMutablePointer<Int32>?
            var count: Int32 = 0
            pango_layout_line_get_x_ranges(
                line, Int32(clamping: range.lowerBound - piece.start), Int32(clamping: range.upperBound - piece.start),
                &ranges, &count)
            defer { g_free(ranges) }
            guard let ranges else { return [] }
            // Pango returns a span for each of its runs. They are in the order of the text, which may go from right to left.
            var spans: [Range<Double>] = []
            for index in 0..<Int(count) {
                let (start, end) = (points(ranges[2 * index]) - offset, points(ranges[2 * index + 1]) - offset)
                guard start < end else { continue }
                if let last = spans.last, abs(last.upperBound - start) < 0.01 {
                    spans[spans.count - 1] = last.lowerBound..<end
                } else if let last = spans.last, abs(end - last.lowerBound) < 0.01 {
                    spans[spans.count - 1] = start..<last.upperBound
                } else {
                    spans.append(start..<end)
                }
            }
            return spans
        }
    }

    func offset(at x: Double) -> Int {
        piece.withLine(number) { line in
            var (index, trailing): (Int32, Int32) = (0, 0)
            pango_layout_line_x_to_index(line, pangoUnits(x), &index, &trailing)
            return min(max(Int(index) + piece.start, range.lowerBound), range.upperBound)
        }
    }
}

/// A part of a paragraph that one Pango layout has set.
///
/// The engine's lock protects the layout: it is used and released only while the lock is held.
final class PangoPiece: @unchecked Sendable {
    private let layout: OpaquePointer
    private let engine: PangoEngine
    /// Where the piece begins in the paragraph's text.
    let start: Int
    let paragraph: TextParagraph
    /// The parts of the text with a line under or through them.
    let decorations: [TextParagraph.Run]

    init(layout: OpaquePointer, engine: PangoEngine, start: Int, paragraph: TextParagraph) {
        self.layout = layout
        self.engine = engine
        self.start = start
        self.paragraph = paragraph
        decorations = paragraph.runs.filter { $0.style.isUnderlined || $0.style.isStruckThrough }
    }

    deinit { engine.release(layout) }

    /// Runs a closure with a line of the layout, while no other task uses Pango with the engine.
    func withLine<Result>(
        _ number: Int, _ body: (UnsafeMutablePointer<PangoLayoutLine>) throws -> Result
    ) rethrows -> Result {
        try engine.withPango { try body(pango_layout_get_line_readonly(layout, Int32(number))) }
    }
}

/// Pango's fixed-point units of 1/1024 point.
func pangoUnits(_ points: Double) -> Int32 {
    let units = points * Double(PANGO_SCALE)
    return units.isNaN ? 0 : Int32(min(max(units, -1e9), 1e9))
}

func points(_ units: Int32) -> Double { Double(units) / Double(PANGO_SCALE) }

// MARK: - State

/// The font map, the context and the fonts of an engine.
private struct PangoState: ~Copyable {
    private let fontMap: UnsafeMutablePointer<PangoFontMap>
    private let context: OpaquePointer
    /// Its own context, because a layout follows later changes of its context.
    private let rightToLeftContext: OpaquePointer
    private let fonts: PangoEngine.Fonts
    private var descriptions: [FontKey: OpaquePointer] = [:]
    private var heights: [FontKey: (ascent: Double, descent: Double)] = [:]
    private(set) var missing: Set<Unicode.Scalar> = []
    private var measured = MeasuredParagraphs()

    private struct FontKey: Hashable {
        var family: String?
        var design: StyleSheet.FontDesign
        var weight: StyleSheet.FontWeight
        var width: StyleSheet.FontWidth
        var size: Double
        var isItalic: Bool

        init(_ style: ResolvedTextStyle) {
            (family, design, weight) = (style.fontFamily, style.fontDesign, style.fontWeight)
            (width, size, isItalic) = (style.fontWidth, style.fontSize, style.isItalic)
        }
    }

    init() {
        self.init(fonts: .init(), configuration: nil, language: nil)
    }

    init(fonts: PangoEngine.Fonts, language: String?) throws(CairoError) {
        let configuration = try fonts.files.isEmpty ? nil : Self.configuration(of: fonts.files)
        self.init(fonts: fonts, configuration: configuration, language: language)
        if let configuration { FcConfigDestroy(configuration) }
    }

    private init(fonts: PangoEngine.Fonts, configuration: OpaquePointer?, language: String?) {
        self.fonts = fonts
        // Only this font map takes a configuration. It is Pango's own choice on Linux.
        fontMap =
            pango_cairo_font_map_new_for_font_type(CAIRO_FONT_TYPE_FT) ?? pango_cairo_font_map_new()
        if let configuration {
            pango_fc_font_map_set_config(OpaquePointer(fontMap), configuration)
        }
        context = pango_font_map_create_context(fontMap)
        rightToLeftContext = pango_font_map_create_context(fontMap)
        pango_context_set_base_dir(context, PANGO_DIRECTION_LTR)
        pango_context_set_base_dir(rightToLeftContext, PANGO_DIRECTION_RTL)
        let options = cairo_font_options_create()
        cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
        cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
        cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY)
        for context in [context, rightToLeftContext] {
            pango_cairo_context_set_font_options(context, options)
            pango_context_set_round_glyph_positions(context, 0)
            if let language { pango_context_set_language(context, pango_language_from_string(language)) }
        }
        cairo_font_options_destroy(options)
    }

    deinit {
        for description in descriptions.values { pango_font_description_free(description) }
        g_object_unref(UnsafeMutableRawPointer(context))
        g_object_unref(UnsafeMutableRawPointer(rightToLeftContext))
        g_object_unref(UnsafeMutableRawPointer(fontMap))
    }

    private static func configuration(of files: [String]) throws(CairoError) -> OpaquePointer {
        guard let configuration = FcConfigCreate() else { throw .fonts("Fontconfig couldn't be initialized.") }
        // The user's cache of font descriptions. Without one, each engine would read all fonts again.
        _ = FcConfigParseAndLoadFromMemory(
            configuration, #"<fontconfig><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>"#, 0)
        for file in files {
            let count = FcConfigGetFonts(configuration, FcSetApplication)?.pointee.nfont ?? 0
            if FcConfigAppFontAddFile(configuration, file) == 0 { _ = FcConfigAppFontAddDir(configuration, file) }
            // Fontconfig doesn't report a directory that is missing or has no fonts.
            guard FcConfigGetFonts(configuration, FcSetApplication)?.pointee.nfont ?? 0 > count else {
                FcConfigDestroy(configuration)
                throw .fonts("'\(file)' isn't a font file or a directory of font files. Check the path.")
            }
        }
        return configuration
    }

    // MARK: Lines

    /// Pango can't measure a line of more than 2 million points. So it gets at most this much text at a time, in bytes.
    private static let largestPiece = 32 << 10

    /// Pango shapes the rest of a long word again for each of its lines. So it gets only a few lines of such a word at a time.
    private static func longestWord(forWidth width: Double) -> Int {
        width.isNaN ? 1_024 : Int(min(max(width, 1_024), 4_096))
    }

    mutating func lines(
        of paragraph: TextParagraph, width: Double, firstIndent: Double, engine: PangoEngine
    ) -> [any TextEngineLine] {
        if firstIndent == 0, !paragraph.isJustified, let layout = measured.take(paragraph, for: width) {
            noteMissingCharacters(of: layout)
            return Self.lines(
                of: layout, PangoPiece(layout: layout, engine: engine, start: 0, paragraph: paragraph))
        }
        var lines: [any TextEngineLine] = []
        var start = 0
        let end = paragraph.text.utf8.count
        repeat {
            let range = start..<Self.endOfPiece(from: start, in: paragraph.text, Self.longestWord(forWidth: width))
            let layout = layout(of: paragraph, range)
            // One unit more, so that a word fits into its own width in spite of rounding.
            pango_layout_set_width(layout, width.isFinite ? pangoUnits(width) + 1 : -1)
            pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
            pango_layout_set_indent(layout, start == 0 ? pangoUnits(firstIndent) : 0)
            pango_layout_set_justify(layout, paragraph.isJustified ? 1 : 0)
            noteMissingCharacters(of: layout)
            let piece = PangoPiece(layout: layout, engine: engine, start: start, paragraph: paragraph)
            var ranges = Self.lines(of: layout, piece)
            start = range.upperBound
            if start < end, ranges.count > 1 {
                // The last line may have room for more of the text.
                start = ranges.removeLast().range.lowerBound
            }
            lines += ranges
        } while start < end
        return lines
    }

    private static func lines(of layout: OpaquePointer, _ piece: PangoPiece) -> [PangoLine] {
        var lines: [PangoLine] = []
        let iterator = pango_layout_get_iter(layout)
        defer { pango_layout_iter_free(iterator) }
        repeat {
            guard let line = pango_layout_iter_get_line_readonly(iterator) else { break }
            // The iterator's extents have the horizontal position, and the line's own are relative to the baseline.
            var (placed, own) = (PangoRectangle(), PangoRectangle())
            pango_layout_iter_get_line_extents(iterator, nil, &placed)
            pango_layout_line_get_extents(line, nil, &own)
            let start = piece.start + Int(line.pointee.start_index)
            lines.append(
                PangoLine(
                    piece: piece, number: lines.count, range: start..<start + Int(line.pointee.length),
                    width: points(own.width), ascent: points(-own.y), descent: points(own.y + own.height),
                    offset: points(placed.x)))
        } while pango_layout_iter_next_line(iterator) != 0
        return lines
    }

    // MARK: Widths

    mutating func width(of paragraph: TextParagraph) -> Double {
        if let layout = measuredLayout(of: paragraph) { return points(layout.width) }
        return widths(of: paragraph, lineWidth: nil).reduce(0, +)
    }

    mutating func minimumWidth(of paragraph: TextParagraph) -> Double {
        // A soft hyphen at the end of a line is a hyphen, which only a layout with such lines has.
        if !paragraph.text.unicodeScalars.contains("\u{AD}"), let layout = measuredLayout(of: paragraph) {
            return layout.widestWord
        }
        return widths(of: paragraph, lineWidth: 1).max() ?? 0
    }

    /// Returns the paragraph in one line, or `nil` if it is too long for one layout.
    private mutating func measuredLayout(of paragraph: TextParagraph) -> OneLineLayout? {
        if let known = measured[paragraph] { return known }
        let count = paragraph.text.utf8.count
        guard count <= Self.longestWord(forWidth: .infinity) else { return nil }
        let layout = OneLineLayout(layout(of: paragraph, 0..<count))
        measured[paragraph] = layout
        return layout
    }

    /// Returns the width of each piece of a long paragraph, with lines of a width, or that end only where the text says so.
    private mutating func widths(of paragraph: TextParagraph, lineWidth: Int32?) -> [Double] {
        var widths: [Double] = []
        var start = 0
        let end = paragraph.text.utf8.count
        repeat {
            let range = start..<Self.endOfPiece(from: start, in: paragraph.text, Self.longestWord(forWidth: .infinity))
            let layout = layout(of: paragraph, range)
            if let lineWidth {
                pango_layout_set_wrap(layout, PANGO_WRAP_WORD)
                pango_layout_set_width(layout, lineWidth)
            }
            widths.append(points(OneLineLayout(layout).width))
            g_object_unref(UnsafeMutableRawPointer(layout))
            start = range.upperBound
        } while start < end
        return widths
    }

    /// Returns where a piece of a long text ends: after a space if possible, and never in a character.
    private static func endOfPiece(from start: Int, in text: String, _ longestWord: Int) -> Int {
        let utf8 = text.utf8
        guard utf8.count - start > longestWord else { return utf8.count }
        let first = utf8.index(utf8.startIndex, offsetBy: start)
        let limit = utf8.index(first, offsetBy: min(largestPiece, utf8.count - start))
        var (index, word, offset) = (first, first, start)
        var wordOffset = start
        while index < limit {
            let byte = utf8[index]
            index = utf8.index(after: index)
            offset += 1
            if byte == 0x20 { (word, wordOffset) = (index, offset) }
            if offset - wordOffset > longestWord { break }
        }
        if index == utf8.endIndex { return offset }
        if word > first { return wordOffset }
        let character = text.index(before: text.index(after: index))
        return character > first ? offset - utf8.distance(from: character, to: index) : offset
    }

    // MARK: Layouts

    /// Returns a layout for a part of a paragraph. The caller releases it.
    private mutating func layout(of paragraph: TextParagraph, _ range: Range<Int>) -> OpaquePointer {
        let layout = pango_layout_new(paragraph.isRightToLeft ? rightToLeftContext : context)!
        pango_layout_set_auto_dir(layout, 0)
        var text = paragraph.text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                pango_layout_set_text(layout, characters.baseAddress.map { $0 + range.lowerBound }, Int32(range.count))
            }
        }
        // The font of most of the text, and the height of a paragraph without text. Other fonts are attributes, which take time.
        let font = paragraph.runs.first.map { description(of: $0.style) }
        pango_layout_set_font_description(layout, font)
        let attributes = pango_attr_list_new()
        // Otherwise Pango adds a hyphen to a word that is too long for a line, as if it belonged to an address or a name.
        pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(0))
        for run in paragraph.runs where run.range.overlaps(range) {
            let part = run.range.clamped(to: range)
            add(run, part.lowerBound - range.lowerBound..<part.upperBound - range.lowerBound, to: attributes, font)
        }
        pango_layout_set_attributes(layout, attributes)
        pango_attr_list_unref(attributes)
        return layout
    }

    /// Adds what distinguishes a run from text in the layout's font and the standard color.
    private mutating func add(
        _ run: TextParagraph.Run, _ range: Range<Int>, to list: OpaquePointer?, _ font: OpaquePointer?
    ) {
        func add(_ attribute: UnsafeMutablePointer<PangoAttribute>?) {
            attribute?.pointee.start_index = UInt32(range.lowerBound)
            attribute?.pointee.end_index = UInt32(range.upperBound)
            pango_attr_list_insert(list, attribute)
        }
        let style = run.style
        let description = description(of: style)
        if description != font { add(pango_attr_font_desc_new(description)) }
        if let placeholder = run.placeholder {
            let ascent = pangoUnits(placeholder.ascent ?? 0)
            var shape = PangoRectangle(x: 0, y: -ascent, width: pangoUnits(placeholder.advance), height: ascent)
            add(pango_attr_shape_new(&shape, &shape))
        }
        if let color = style.color.components {
            func part(_ component: Double) -> UInt16 { UInt16(min(max(component, 0), 1) * 65535) }
            add(pango_attr_foreground_new(part(color.red), part(color.green), part(color.blue)))
            // 0 means opaque to Pango.
            if color.alpha < 1 { add(pango_attr_foreground_alpha_new(max(part(color.alpha), 1))) }
        }
        if style.kerning != 0 { add(pango_attr_letter_spacing_new(pangoUnits(style.kerning))) }
        if style.baseline != 0 { add(pango_attr_rise_new(pangoUnits(style.baseline))) }
    }

    // MARK: Fonts

    private mutating func description(of style: ResolvedTextStyle) -> OpaquePointer {
        let key = FontKey(style)
        if let description = descriptions[key] { return description }
        let description = pango_font_description_new()!
        let family =
            switch style.fontDesign {
            case .default, .rounded: fonts.default
            case .serif: fonts.serif
            case .monospaced: fonts.monospaced
            }
        // Pango tries families in order.
        pango_font_description_set_family(description, style.fontFamily.map { "\($0),\(family)" } ?? family)
        let size = style.fontSize.isFinite ? min(max(style.fontSize, 0.1), 10_000) : 0.1
        pango_font_description_set_absolute_size(description, Double(pangoUnits(size)))
        pango_font_description_set_weight(description, PangoWeight(rawValue: UInt32(style.fontWeight.number)))
        pango_font_description_set_style(description, style.isItalic ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL)
        pango_font_description_set_stretch(description, style.fontWidth.stretch)
        descriptions[key] = description
        return description
    }

    mutating func metrics(of style: ResolvedTextStyle) -> (ascent: Double, descent: Double) {
        let key = FontKey(style)
        if let known = heights[key] { return known }
        let metrics = pango_context_get_metrics(context, description(of: style), nil)
        defer { pango_font_metrics_unref(metrics) }
        let height = (
            ascent: points(pango_font_metrics_get_ascent(metrics)),
            descent: points(pango_font_metrics_get_descent(metrics))
        )
        heights[key] = height
        return height
    }

    private mutating func noteMissingCharacters(of layout: OpaquePointer) {
        guard pango_layout_get_unknown_glyphs_count(layout) > 0, missing.count < 1_000 else { return }
        let iterator = pango_layout_get_iter(layout)
        defer { pango_layout_iter_free(iterator) }
        repeat {
            guard let run = pango_layout_iter_get_run_readonly(iterator), let glyphs = run.pointee.glyphs else {
                continue
            }
            for index in 0..<Int(glyphs.pointee.num_glyphs) {
                let glyph = glyphs.pointee.glyphs[index].glyph
                // Pango marks such a glyph and stores the character in the other bits.
                guard glyph & 0x1000_0000 != 0, glyph != 0x0FFF_FFFF else { continue }
                if let scalar = Unicode.Scalar(glyph & 0x0FFF_FFFF) { missing.insert(scalar) }
            }
        } while pango_layout_iter_next_run(iterator) != 0
    }
}

// MARK: - Measured paragraphs

/// A layout whose lines end only where the text says so.
private struct OneLineLayout {
    let layout: OpaquePointer
    /// In Pango's units.
    let width: Int32

    init(_ layout: OpaquePointer) {
        self.layout = layout
        var extents = PangoRectangle()
        pango_layout_get_extents(layout, nil, &extents)
        width = extents.width
    }

    /// The width of the widest piece between two places where a line may end, without the spaces at its end.
    var widestWord: Double {
        var clusters: [(index: Int, width: Int32)] = []
        let iterator = pango_layout_get_iter(layout)
        defer { pango_layout_iter_free(iterator) }
        repeat {
            var extents = PangoRectangle()
            pango_layout_iter_get_cluster_extents(iterator, nil, &extents)
            clusters.append((Int(pango_layout_iter_get_index(iterator)), abs(extents.width)))
        } while pango_layout_iter_next_cluster(iterator) != 0
        clusters.sort { $0.index < $1.index }

        var count: Int32 = 0
        guard let text = pango_layout_get_text(layout), let breaks = pango_layout_get_log_attrs_readonly(layout, &count)
        else { return points(width) }
        var (widest, word, spaces) = (0, 0, 0)
        // Pango counts characters in one and bytes in the other.
        var (offset, character) = (0, 0)
        for cluster in clusters {
            while offset < cluster.index {
                offset += 1
                if UInt8(bitPattern: text[offset]) & 0xC0 != 0x80 { character += 1 }
            }
            guard character < Int(count) else { break }
            if breaks[character].is_line_break != 0 { (word, spaces) = (0, 0) }
            if breaks[character].is_white != 0 {
                spaces += Int(cluster.width)
            } else {
                word += spaces + Int(cluster.width)
                spaces = 0
                widest = max(widest, word)
            }
        }
        // The first letter of a line may be a little wider than after a space.
        return min(Double(widest) / Double(PANGO_SCALE) + 0.25, points(width))
    }
}

/// The paragraphs that were measured last, such as the cells of a table. If the table has room for a paragraph's only line, its layout is
/// used again.
private struct MeasuredParagraphs: ~Copyable {
    private var layouts: [TextParagraph: OneLineLayout] = [:]

    /// A layout takes about 5 KB.
    private static let limit = 1_000

    subscript(paragraph: TextParagraph) -> OneLineLayout? {
        get { layouts[paragraph] }
        set {
            if layouts.count >= Self.limit { removeAll() }
            layouts[paragraph] = newValue
        }
    }

    /// Returns the layout of a paragraph if it fits into a width. The caller releases it.
    mutating func take(_ paragraph: TextParagraph, for width: Double) -> OpaquePointer? {
        guard !layouts.isEmpty else { return nil }
        guard let layout = layouts.removeValue(forKey: paragraph) else {
            // The table has ended, or its text got smaller.
            removeAll()
            return nil
        }
        if width.isInfinite && width > 0 || layout.width <= pangoUnits(width) + 1 { return layout.layout }
        g_object_unref(UnsafeMutableRawPointer(layout.layout))
        return nil
    }

    private mutating func removeAll() {
        for layout in layouts.values { g_object_unref(UnsafeMutableRawPointer(layout.layout)) }
        layouts = [:]
    }

    deinit {
        for layout in layouts.values { g_object_unref(UnsafeMutableRawPointer(layout.layout)) }
    }
}

extension StyleSheet.FontWidth {
    fileprivate var stretch: PangoStretch {
        switch self {
        case .compressed: PANGO_STRETCH_EXTRA_CONDENSED
        case .condensed: PANGO_STRETCH_CONDENSED
        case .standard: PANGO_STRETCH_NORMAL
        case .expanded: PANGO_STRETCH_EXPANDED
        }
    }
}
#endif
