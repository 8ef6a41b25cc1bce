/// A styled text laid out for a width: where its lines, boxes, rules and images are, and the commands that draw them.
///
///     let layout = TextLayout(text, width: 320, engine: engine)
///     for command in layout.commands { draw(command) }
///     let link = layout.link(at: .init(x: 12, y: 40)).map { text.links[$0] }
///
/// **Boxes** are as in CSS: indents and spacing, then the border, the padding and the content. The background fills the border's box and
/// follows its corners. The larger of two adjacent spacings applies; the first block in a box has none above it, and the spacing below the
/// last one is below the box.
///
/// **Text** behind which a box is drawn gets room for the box's padding, so lines may break earlier. If the box continues on another line,
/// it is open at the break.
///
/// **From right to left**: a block whose first strong character is written from right to left has its leading edge at the right: its indents,
/// quote bars, markers, and the first column of a table.
///
/// Takes time in proportion to the text, plus the engine's.
public struct TextLayout: Sendable {
    /// The width that was asked for, and the height of the text.
    public let size: LayoutSize
    /// What to draw, from back to front.
    public let commands: [DrawingCommand]
    /// The spacing that the first and the last block have to other text, which isn't part of ``size``.
    let spacing: (above: Double, below: Double)
    private let text: StyledText
    /// Whether there is more text than the line limit allows.
    public let isTruncated: Bool
    /// The lines of text in the order of the document, without those of markers.
    let lines: [PlacedLine]

    /// Lays out a text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - width: The width in points. Blocks that are nested too deeply for it aren't indented further.
    ///   - engine: What shapes and breaks paragraphs.
    ///   - lineLimit: The number of lines that are shown, or `nil` for all. If there is more text, the last line ends with an ellipsis. Rows of
    ///     a table are shown whole or not at all.
    ///   - imageSize: Returns the size of an image of ``StyledText/images``, by its index, or `nil` to show its alternative text.
    public init(
        _ text: StyledText, width: Double, engine: any TextEngine, lineLimit: Int? = nil,
        imageSize: (_ index: Int) -> LayoutSize? = { _ in nil }
    ) {
        self.text = text
        (size, commands, lines, spacing, isTruncated) = withoutActuallyEscaping(imageSize) { imageSize in
            var builder = LayoutBuilder(
                text, width: width, engine: engine, lineLimit: lineLimit, imageSize: imageSize)
            let section = builder.finish()
            return (
                LayoutSize(width: builder.width, height: section.bottom), section.commands, section.lines,
                (builder.spacingAbove, builder.spacing), builder.isTruncated
            )
        }
    }

    /// Returns the index of the link at a point.
    public func link(at point: LayoutPoint) -> Int? {
        guard let line = lines.first(where: { $0.rectangle.contains(point) }) else { return nil }
        let offset = line.offset(at: point.x)
        return line.parts.first { $0.range.contains(offset) }.flatMap { text.runs[$0.run].link }
    }

    /// Returns the offset of the character at a point, or of the nearest one, in UTF-8 offsets of ``StyledText/string``.
    ///
    ///     let layout = TextLayout(text, width: 320, engine: engine)
    ///     let index = layout.characterIndex(at: .init(x: 12, y: 40))   // of the character under the pointer
    ///
    /// Returns the beginning of an image's alternative text for its whole area, and `nil` if nothing has text. Takes time in proportion to
    /// the number of lines.
    public func characterIndex(at point: LayoutPoint) -> Int? {
        func limited(_ value: Double) -> Double { value.isFinite ? min(max(value, -1e9), 1e9) : 0 }
        let point = LayoutPoint(x: limited(point.x), y: limited(point.y))
        let nearest = lines.lazy.filter { !$0.parts.isEmpty }.min {
            let (one, other) = ($0.rectangle.distance(to: point), $1.rectangle.distance(to: point))
            return one.y != other.y ? one.y < other.y : one.x < other.x
        }
        guard let nearest else { return nil }
        let offset = nearest.offset(at: point.x)
        // The room of a box leads to the text after it.
        guard let part = nearest.parts.first(where: { $0.range.upperBound > offset }) ?? nearest.parts.last else {
            return nil
        }
        let isBehind = part.range.upperBound <= offset
        if part.isImage { return part.source.lowerBound }
        if isBehind { return part.source.upperBound - (text.substring(part.source).last?.utf8.count ?? 0) }
        return part.source.lowerBound + max(offset - part.range.lowerBound, 0)
    }

    /// Returns the range from one character to another, with both of them, in UTF-8 offsets of ``StyledText/string``.
    ///
    ///     let layout = TextLayout(text, width: 320, engine: engine)
    ///     let selection = layout.characters(from: 3, to: 20)         // two results of characterIndex(at:)
    ///     let boxes = layout.rectangles(of: selection)
    public func characters(from one: Int, to other: Int) -> Range<Int> {
        let utf8 = text.string.utf8
        func limited(_ offset: Int) -> Int { min(max(offset, 0), utf8.count) }
        let (start, last) = (limited(min(one, other)), limited(max(one, other)))
        let end = text.string[utf8.index(utf8.startIndex, offsetBy: last)...].first?.utf8.count ?? 0
        return start..<last + end
    }

    /// Returns the rectangles that a part of the text covers, in UTF-8 offsets of ``StyledText/string``.
    public func rectangles(of range: Range<Int>) -> [LayoutRectangle] {
        lines.flatMap { line in
            line.parts.flatMap { part -> [LayoutRectangle] in
                guard part.source.overlaps(range) else { return [] }
                let wanted = part.source.clamped(to: range)
                let start = part.range.lowerBound - part.source.lowerBound
                // An image is one character here, and its alternative text in the source.
                let own = part.isImage ? part.range : wanted.lowerBound + start..<wanted.upperBound + start
                let shown = own.clamped(to: line.line.range)
                guard !shown.isEmpty else { return [] }
                return line.rectangles(of: shown)
            }
        }
    }
}

/// A line at its place.
public struct PlacedLine: Sendable {
    /// The line, as the engine has shaped it.
    public var line: any TextEngineLine
    /// The left end of the baseline.
    public var origin: LayoutPoint
    /// The box of the line.
    public var rectangle: LayoutRectangle
    /// The index of the block that the line belongs to.
    public var block: Int
    /// The parts of the whole paragraph.
    var parts: [LayoutParagraph.Part]

    /// Returns the runs of the line that lead to somewhere, as links and references to footnotes do, and the rectangles of their words.
    public func references(in text: StyledText) -> [(run: Int, rectangle: LayoutRectangle)] {
        parts.overlapping(line.range, by: \.range).flatMap { part -> [(run: Int, rectangle: LayoutRectangle)] in
            let shown = part.range.clamped(to: line.range)
            let run = text.runs[part.run]
            guard run.link != nil || run.footnote != nil, !shown.isEmpty else { return [] }
            return rectangles(of: shown).map { (part.run, $0) }
        }
    }

    /// Returns the offset in the paragraph's text of the character at a horizontal position.
    fileprivate func offset(at x: Double) -> Int {
        let range = line.range
        return min(max(line.offset(at: x - origin.x), range.lowerBound), range.upperBound)
    }

    /// Returns the rectangles of a part of the paragraph's text.
    func rectangles(of range: Range<Int>) -> [LayoutRectangle] {
        line.spans(of: range).map {
            LayoutRectangle(
                x: origin.x + $0.lowerBound, y: rectangle.y, width: $0.upperBound - $0.lowerBound,
                height: rectangle.height)
        }
    }
}

extension Array {
    /// Returns the elements whose ranges overlap a range, in logarithmic time. The elements are sorted, and their ranges don't overlap.
    package func overlapping(_ range: Range<Int>, by own: (Element) -> Range<Int>) -> ArraySlice<Element> {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if own(self[middle]).upperBound > range.lowerBound { high = middle } else { low = middle + 1 }
        }
        return self[low...].prefix { own($0).lowerBound < range.upperBound }
    }
}

// MARK: - Paragraphs

/// The text of a leaf block for the engine, with room for the boxes behind it, and what its parts stand for.
struct LayoutParagraph: Sendable {
    private(set) var paragraph = TextParagraph()
    private(set) var parts: [Part] = []
    private(set) var boxes: [Box] = []
    private(set) var images: [Image] = []
    /// The alignment of the images, if there is nothing else in the paragraph.
    var alignment: StyleSheet.Alignment?
    /// The size of the text compared with its style. The text of a table that is too wide is smaller.
    private(set) var scale = 1.0

    struct Image: Sendable {
        /// The index in ``StyledText/images``.
        var index: Int
        /// The range in the paragraph's text.
        var range = 0..<0
        var size: LayoutSize
        var radius: Double

        /// - Parameters:
        ///   - size: The image's own size.
        ///   - room: The width of the text.
        ///   - fillsRoom: Whether the image may be larger than its own size.
        init(index: Int, size: LayoutSize, style: ResolvedTextStyle, room: Double, fillsRoom: Bool) {
            let scale = (style.imageLayout?.size ?? .natural)
                .scale(width: size.width, height: size.height, room: room, fillsRoom: fillsRoom)
            self.index = index
            self.size = LayoutSize(
                width: LayoutBuilder.points(size.width * scale), height: LayoutBuilder.points(size.height * scale))
            radius = LayoutBuilder.points(style.imageLayout?.cornerRadius ?? 0)
        }
    }

    struct Part: Sendable {
        /// The range in the paragraph's text.
        var range: Range<Int>
        /// The range in ``StyledText/string``.
        var source: Range<Int>
        /// The index of the run.
        var run: Int
        var isImage = false
    }

    /// A box behind a part of the text.
    struct Box: Sendable {
        /// The range in the paragraph's text, with the placeholders for padding.
        var range: Range<Int>
        var style: ResolvedTextStyle
    }

    private var offset: Int { paragraph.text.utf8.count }

    /// - Parameter style: The style of the block's text, for a paragraph without text.
    init(style: ResolvedBlockStyle, isRightToLeft: Bool) {
        paragraph.isRightToLeft = isRightToLeft
        paragraph.isJustified = style.alignment == .justified
        paragraph.isHyphenated = style.isHyphenated
        self.style = style.text
    }

    private let style: ResolvedTextStyle

    /// Adds a part of a run. Call ``finish()`` after the last one.
    mutating func append(
        _ text: Substring, _ source: Range<Int>, of run: Int, _ style: ResolvedTextStyle, image: Image?
    ) {
        if let box = boxes.last, box.range.isEmpty, !box.style.hasSameBox(as: style) { endBox() }
        if style.background != nil, boxes.last?.range.isEmpty != true { beginBox(style) }
        let start = offset
        if var image {
            add("\u{FFFC}", style, .init(advance: image.size.width, ascent: image.size.height))
            image.range = start..<offset
            images.append(image)
        } else {
            add(String(text), style)
        }
        parts.append(Part(range: start..<offset, source: source, run: run, isImage: image != nil))
    }

    /// Makes the text and everything in it smaller or larger.
    mutating func scale(by factor: Double) {
        scale *= factor
        for index in paragraph.runs.indices {
            paragraph.runs[index].style.scale(by: factor)
            paragraph.runs[index].placeholder?.advance *= factor
            if let ascent = paragraph.runs[index].placeholder?.ascent {
                paragraph.runs[index].placeholder?.ascent = ascent * factor
            }
        }
        for index in boxes.indices { boxes[index].style.scale(by: factor) }
        for index in images.indices {
            images[index].size.width *= factor
            images[index].size.height *= factor
        }
    }

    mutating func finish() {
        if boxes.last?.range.isEmpty == true { endBox() }
        if paragraph.runs.isEmpty { paragraph.runs = [.init(range: 0..<0, style: style)] }
    }

    /// Returns the offsets where a line may be cut: its beginning, and after each character except spaces and the line break at its end.
    func characterBoundaries(in range: Range<Int>) -> [Int] {
        let utf8 = paragraph.text.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        var end = range.lowerBound
        var ends = [end]
        for character in paragraph.text[start..<utf8.index(start, offsetBy: range.count)] {
            end += character.utf8.count
            if !character.isWhitespace { ends.append(end) }
        }
        return ends
    }

    /// Returns the paragraph of a part of the text, with an ellipsis after it.
    func shortened(to range: Range<Int>) -> LayoutParagraph {
        func moved(_ other: Range<Int>) -> Range<Int> {
            let common = other.clamped(to: range)
            return common.lowerBound - range.lowerBound..<common.upperBound - range.lowerBound
        }
        var result = self
        let utf8 = paragraph.text.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        result.paragraph.text = String(paragraph.text[start..<utf8.index(start, offsetBy: range.count)])
        result.paragraph.isJustified = false
        result.paragraph.runs = paragraph.runs.filter { $0.range.overlaps(range) }.map {
            .init(range: moved($0.range), style: $0.style, placeholder: $0.placeholder)
        }
        result.boxes = boxes.filter { $0.range.overlaps(range) }.map { Box(range: moved($0.range), style: $0.style) }
        result.images = images.filter { $0.range.overlaps(range) }.map {
            var image = $0
            image.range = moved($0.range)
            return image
        }
        result.parts = parts.filter { $0.range.overlaps(range) }.map { part in
            var part = part
            let common = part.range.clamped(to: range)
            if !part.isImage {
                part.source =
                    part.source.lowerBound + common.lowerBound - part.range.lowerBound..<part.source.upperBound
                    - (part.range.upperBound - common.upperBound)
            }
            part.range = moved(part.range)
            return part
        }
        result.add("…", result.paragraph.runs.last?.style ?? style)
        return result
    }

    /// An open box has an empty range that begins where the box does.
    private mutating func beginBox(_ style: ResolvedTextStyle) {
        boxes.append(Box(range: offset..<offset, style: style))
        let room = style.room(at: .leading)
        guard room > 0 else { return }
        // U+2060, the word joiner, keeps the placeholder beside its word.
        add("\u{FFFC}", style, .init(advance: room))
        add("\u{2060}", style)
    }

    private mutating func endBox() {
        guard let box = boxes.popLast() else { return }
        let room = box.style.room(at: .trailing)
        if room > 0 {
            add("\u{2060}", box.style)
            add("\u{FFFC}", box.style, .init(advance: room))
        }
        boxes.append(Box(range: box.range.lowerBound..<offset, style: box.style))
    }

    private mutating func add(
        _ text: String, _ style: ResolvedTextStyle, _ placeholder: TextParagraph.Placeholder? = nil
    ) {
        guard !text.isEmpty else { return }
        let start = offset
        paragraph.text += text
        paragraph.runs.append(.init(range: start..<offset, style: style, placeholder: placeholder))
    }
}

extension ResolvedTextStyle {
    fileprivate mutating func scale(by factor: Double) {
        fontSize *= factor
        kerning *= factor
        baseline *= factor
        backgroundBox?.padding.scale(by: factor)
        backgroundBox?.cornerRadius *= factor
    }

    fileprivate func hasSameBox(as other: Self) -> Bool {
        background == other.background && backgroundBox == other.backgroundBox
    }

    /// The padding and border of the box at one end.
    fileprivate func room(at edge: StyleSheet.Edge) -> Double {
        guard let box = backgroundBox else { return 0 }
        return LayoutBuilder.points(edge == .leading ? box.padding.leading : box.padding.trailing)
            + (box.border?.width(of: edge) ?? 0)
    }
}

extension ResolvedBlockStyle.Padding {
    mutating func scale(by factor: Double) {
        top *= factor
        leading *= factor
        bottom *= factor
        trailing *= factor
    }
}

extension ResolvedBlockStyle.Border {
    func width(of edge: StyleSheet.Edge) -> Double { edges.contains(edge) ? LayoutBuilder.points(width) : 0 }
}
