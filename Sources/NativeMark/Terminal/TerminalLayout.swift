/// Lays out the blocks of a styled text as lines.
///
/// Open blocks form a stack of frames. Each frame composes the beginning of its lines once, when it opens, so that adding a line doesn't
/// visit the enclosing frames:
///
/// ```text
/// > - one      frames: document, quote "│ ", list, item  first "│ • "  others "│   "
/// >   two      lines:  "│ • one", "│   two"
/// ```
struct TerminalLayout {
    let text: StyledText
    let renderer: TerminalRenderer
    let imageData: ((StyledText.Image) -> TerminalRenderer.Image?)?
    let bodySize: Double
    var writer: TerminalWriter
    var frames: [Frame]
    /// The number of lines so far, not counting spacing. A frame compares it with its own `lineCount` to choose the beginning of its next
    /// line.
    private var lineCount = 0
    private var pendingSpace = 0
    /// The index of the outermost frame that has been on top since the last line. Blank lines begin as its lines do.
    private var lowestFrame = 0
    /// What the parts of the text before this one have left.
    let before: Before

    /// For a part of a longer text: what the parts before it have left for it.
    struct Before {
        /// Whether space comes before the next line, because there was a line, or because the text begins with space.
        var hasLines = false
        /// The blank rows that the next line needs.
        var space = 0
        /// The number of hyperlinks, including the images that became some.
        var hyperlinkCount = 0
        /// The number of repeated bytes that may still be written; see ``TerminalWriter``.
        var repetitionsLeft = TerminalWriter.leastRepetitions
    }

    struct Frame {
        var block: Int
        /// The beginning of the first line after the frame opens.
        var first: [Segment]
        var others: [Segment]
        var suffix: [Segment] = []
        /// The number of columns between the beginning and the suffix of a line.
        var width: Int
        var background: StyleSheet.Tone?
        var lineCount: Int
        var markerWidth = 0
        /// The rows of padding below the last line.
        var paddingBelow = 0
        var borderBelow: ResolvedBlockStyle.Border?
        /// The number of lines before the content of the innermost enclosing box.
        var boxStart = -1
    }

    init(
        text: StyledText, renderer: TerminalRenderer,
        imageData: ((StyledText.Image) -> TerminalRenderer.Image?)? = nil, after before: Before? = nil
    ) {
        self.before = before ?? Before()
        self.text = text
        self.renderer = renderer
        self.imageData = imageData
        bodySize = text.blocks.first?.style.text.fontSize ?? text.environment.size(of: .body)
        writer = TerminalWriter(
            renderer: renderer, bodySize: bodySize, appearance: text.environment.appearance,
            repetitions: before?.repetitionsLeft
                ?? max(TerminalWriter.leastRepetitions, text.string.utf8.count))
        let width = renderer.isUnlimited ? renderer.width : min(renderer.width, TerminalRenderer.maximalWidth)
        frames = [Frame(block: -1, first: [], others: [], width: max(width, 1), lineCount: 0)]
        pendingSpace = self.before.space
        // Rows between two parts begin as those of the document do.
        if self.before.hasLines { lowestFrame = 1 }
    }

    mutating func render() -> String {
        // The runs of a block are contiguous, because a block contains either text or blocks.
        var runs = text.runs[...]
        var index = 0
        while index < text.blocks.count {
            let block = text.blocks[index]
            while let top = frames.last, top.block >= 0, top.block != block.parent { close() }
            begin(index)
            if block.isTable {
                let inside = runs.prefix { $0.block < block.end }
                table(index, runs: inside)
                runs = runs.dropFirst(inside.count)
                index = block.end
            } else {
                if block.isLeaf {
                    let inside = runs.prefix { $0.block == index }
                    leaf(block, runs: inside)
                    runs = runs.dropFirst(inside.count)
                }
                index += 1
            }
        }
        while frames.count > 1 { close() }
        for _ in 0..<rows(text.ends.below) { put([], [], top) }
        return writer.output
    }

    /// What this part leaves for the next one, once it is rendered.
    var after: Before {
        Before(
            hasLines: before.hasLines || lineCount > 0 || text.ends.above > 0, space: pendingSpace,
            hyperlinkCount: before.hyperlinkCount + text.links.count + text.images.count,
            repetitionsLeft: writer.repetitionsLeft)
    }

    var top: Frame { frames[frames.count - 1] }

    // MARK: Lines

    /// Requests blank rows before the next line. If there are several requests, the largest one wins.
    mutating func space(_ rows: Int) {
        pendingSpace = max(pendingSpace, rows)
    }

    /// Adds a line to the innermost frame. The content must fit.
    mutating func line(_ content: [Segment]) {
        if lineCount > 0 || before.hasLines || text.ends.above > 0 {
            for _ in 0..<pendingSpace { put(frames[lowestFrame].others, [], frames[lowestFrame]) }
        }
        let frame = top
        put(frame.lineCount == lineCount ? frame.first : frame.others, content, frame)
        lineCount += 1
        pendingSpace = 0
        lowestFrame = frames.count - 1
    }

    private mutating func put(_ prefix: [Segment], _ content: [Segment], _ frame: Frame) {
        var content = content
        let isFilled = writer.shows(frame.background)
        if isFilled { content.fill(frame.background) }
        if isFilled || !frame.suffix.isEmpty {
            content += Segment.spaces(frame.width - content.width, filling(frame.background))
        }
        var line = prefix + content + frame.suffix
        if !isFilled { line.trimSpaces { writer.shows($0) } }
        writer.line(line)
    }

    /// Returns the style for spaces and border lines.
    func filling(_ background: StyleSheet.Tone?, color: StyleSheet.Tone = .standard) -> ResolvedTextStyle {
        var style = ResolvedTextStyle(fontSize: bodySize)
        style.background = background
        style.color = color
        return style
    }

    // MARK: Frames

    private mutating func close() {
        let frame = top
        let block = text.blocks[frame.block]
        // An empty item still has a marker.
        if case .item = block.kind, frame.lineCount == lineCount { line([]) }
        // Spacing separates blocks, so the space below the last block in a box goes below the box.
        let due = pendingSpace
        if frame.paddingBelow > 0 || frame.borderBelow?.edges.contains(.bottom) == true { pendingSpace = 0 }
        for _ in 0..<frame.paddingBelow { line([]) }
        frames.removeLast()
        lowestFrame = min(lowestFrame, frames.count - 1)
        if let border = frame.borderBelow { horizontal(border, isTop: false, of: block) }
        space(max(due, rows(block.style.spacingAfter)))
    }

    // MARK: Lengths

    /// Converts points to columns of half an em of body text, limited to the width of a line and to 200.
    func columns(_ points: Double) -> Int {
        cells(points / (bodySize / 2), limit: min(top.width, 200))
    }

    /// Converts points to rows of one em of body text, limited to 10, because a style sheet may contain any number.
    func rows(_ points: Double) -> Int {
        max(cells(points / bodySize, limit: 10), 0)
    }

    private func cells(_ count: Double, limit: Int) -> Int {
        guard count.isFinite else { return 0 }
        return Int(min(max(count.rounded(), -Double(limit)), Double(limit)))
    }
}

extension [Segment] {
    fileprivate mutating func trimSpaces(unless shows: (StyleSheet.Tone?) -> Bool) {
        while let last, !shows(last.look.style.background), !last.look.style.isUnderlined {
            let spaces = last.text.utf8.reversed().prefix { $0 == 0x20 }.count
            guard spaces > 0 else { return }
            if spaces == last.text.utf8.count {
                removeLast()
            } else {
                self[count - 1].text.removeLast(spaces)
                self[count - 1].width -= spaces
                return
            }
        }
    }
}

// MARK: - Frames

extension TerminalLayout {
    /// Opens the frame of a block. Adds the space and border above it, and composes the beginning and end of its lines.
    private mutating func begin(_ index: Int) {
        let block = text.blocks[index]
        let style = block.style
        let outer = top
        // Spacing separates blocks, so the first block in a box has none above it.
        if outer.boxStart != lineCount { space(rows(style.spacingBefore)) }
        let border = block.isTable ? nil : style.border
        if let border { horizontal(border, isTop: true, of: block) }

        var frame = Frame(
            block: index, first: top.lineCount == lineCount ? outer.first : outer.others, others: outer.others,
            suffix: outer.suffix, width: outer.width, background: style.background ?? outer.background,
            lineCount: lineCount)
        addSides(of: block, border: border, to: &frame)
        switch block.kind {
        case .list:
            // All items get room for the widest marker.
            let widths = text.items(of: index).map { TerminalText.width(of: TerminalText.sanitized($0.item.marker)) }
            frame.markerWidth = widths.max() ?? 0
        case .item(let item) where !item.marker.isEmpty:
            addMarker(
                item.marker, isNumber: item.number != nil, width: outer.markerWidth, text.markerStyle(ofItem: index),
                to: &frame)
        case .footnotes: frame.markerWidth = TerminalText.width(of: "\(block.end - index).")
        case .footnote(_, let number):
            addMarker("\(number).", isNumber: false, width: 0, block.style.text, to: &frame)
        default: break
        }
        frame.borderBelow = border
        frame.paddingBelow = rows(style.padding.bottom)
        frame.boxStart = outer.boxStart
        frames.append(frame)
        for _ in 0..<rows(style.padding.top) { line([]) }
        if border?.edges.contains(.top) == true || rows(style.padding.top) > 0 {
            frames[frames.count - 1].boxStart = lineCount
        }
    }

    /// The minimum number of columns for text. Indents, bars and heading markers that would leave less aren't shown.
    var minimumTextWidth: Int { max(min(renderer.width / 2, 10), 1) }

    private func addSides(of block: StyledText.Block, border: ResolvedBlockStyle.Border?, to frame: inout Frame) {
        let style = block.style
        let fill = filling(frame.background)
        let outside = filling(top.background)
        // Leaves add their indents line by line, because a negative first-line indent extends into the leading indent.
        let indent = block.isLeaf ? 0 : max(columns(style.leadingIndent), 0)
        let line = border.map { filling(frame.background, color: $0.color) }
        var before = Segment.spaces(indent, outside)
        if border?.edges.contains(.leading) == true, let line {
            before.append(Segment(renderer.isPlain ? "> " : border?.pattern.vertical ?? "│", line))
        }
        // Spaces after a bar get the bar's style, so that one escape sequence is enough for all bars.
        let inside = border?.edges.contains(.leading) == true ? before.last?.look.style ?? fill : fill
        if !renderer.isPlain { before.join(Segment.spaces(max(columns(style.padding.leading), 0), inside)) }
        var behind = renderer.isPlain ? [] : Segment.spaces(max(columns(style.padding.trailing), 0), fill)
        if let border, border.edges.contains(.trailing), let line, !renderer.isPlain {
            behind.append(Segment(border.pattern.vertical, line))
        }
        behind += Segment.spaces(block.isLeaf ? 0 : max(columns(style.trailingIndent), 0), outside)

        let columns = before.width + behind.width
        guard columns > 0, frame.width - columns >= minimumTextWidth else { return }
        frame.first.join(before)
        frame.others.join(before)
        frame.suffix = (writerNeeds(behind, frame) ? behind : []) + frame.suffix
        frame.width -= columns
    }

    /// Whether segments at the end of a line are visible: spaces show only on a background.
    private func writerNeeds(_ segments: [Segment], _ frame: Frame) -> Bool {
        writer.shows(frame.background) || segments.contains { $0.text.utf8.contains { $0 != 0x20 } }
    }

    private mutating func addMarker(
        _ marker: String, isNumber: Bool, width: Int, _ style: ResolvedTextStyle, to frame: inout Frame
    ) {
        let marker = TerminalText.sanitized(marker)
        let columns = max(width, TerminalText.width(of: marker)) + 1
        var style = style
        if style.background == nil { style.background = frame.background }
        guard frame.width - columns >= minimumTextWidth else {
            // There isn't enough space for a hanging marker, so it gets its own line.
            let line = TerminalText.truncated(marker, toWidth: frame.width)
            self.line([Segment(line, style)])
            frame.first = frame.others
            frame.lineCount = -1
            return
        }
        let padded = TerminalText.padded(marker, toWidth: columns - 1, alignment: isNumber ? .trailing : .leading)
        frame.first.append(Segment(padded + " ", style))
        frame.others.join(Segment.spaces(columns, filling(frame.background)))
        frame.width -= columns
    }

    // MARK: Borders

    /// Adds the horizontal border above or below a block, with its corners, inside the enclosing frame.
    private mutating func horizontal(_ border: ResolvedBlockStyle.Border, isTop: Bool, of block: StyledText.Block) {
        guard border.edges.contains(isTop ? .top : .bottom) else { return }
        let indent = block.isLeaf ? 0 : max(columns(block.style.leadingIndent), 0)
        let behind = block.isLeaf ? 0 : max(columns(block.style.trailingIndent), 0)
        let room = top.width - indent - behind
        let hasRoom = room >= minimumTextWidth
        let columns = ruleWidth(hasRoom ? room : top.width)
        let corners = isTop ? border.topCorners : border.bottomCorners
        let start = border.edges.contains(.leading) && columns > 1 ? corners.leading : ""
        let end = border.edges.contains(.trailing) && columns > 1 ? corners.trailing : ""
        let middle = String(repeating: border.pattern.horizontal, count: columns - start.count - end.count)
        line(
            Segment.spaces(hasRoom ? indent : 0, filling(top.background))
                + [Segment(start + middle + end, filling(top.background, color: border.color))])
    }

    /// Returns the width of a horizontal line, which is limited in plain text because there is no right edge.
    func ruleWidth(_ width: Int) -> Int {
        renderer.isPlain ? min(width, 40) : width
    }
}

/// The characters of a line (Unicode, "Box Drawing").
extension StyleSheet.Border.Pattern {
    var vertical: String {
        switch self {
        case .solid: "│"
        case .dashed: "╎"
        case .dotted: "┊"
        case .double: "║"
        }
    }

    var horizontal: String {
        switch self {
        case .solid: "─"
        case .dashed: "╌"
        case .dotted: "┈"
        case .double: "═"
        }
    }
}

extension ResolvedBlockStyle.Border {
    /// Double lines have no round corners.
    var topCorners: (leading: String, trailing: String) {
        pattern == .double ? ("╔", "╗") : cornerRadius > 0 ? ("╭", "╮") : ("┌", "┐")
    }

    var bottomCorners: (leading: String, trailing: String) {
        pattern == .double ? ("╚", "╝") : cornerRadius > 0 ? ("╰", "╯") : ("└", "┘")
    }
}

// MARK: - Leaves

extension TerminalLayout {
    private mutating func leaf(_ block: StyledText.Block, runs: ArraySlice<StyledText.Run>) {
        switch block.kind {
        case .thematicBreak:
            guard let rule = block.style.rule else { return paragraph(block, runs) }
            let available = ruleWidth(top.width)
            let count = Int(rule.width(in: Double(available), unit: 2 / bodySize).rounded())
            var style = block.style.text
            style.color = rule.color
            line(
                Segment.spaces(offset(rule.alignment, available - count), filling(top.background))
                    + [Segment(String(repeating: rule.pattern.horizontal, count: max(count, 1)), style)])
        case .codeBlock: code(block, inlineText(of: runs, in: block))
        case .heading(let level): heading(block, level: level, runs)
        default: paragraph(block, runs)
        }
    }

    /// Adds a heading that shows its level without colors, as Markdown does. Large headings of the first two levels have a line below, and
    /// other headings begin with number signs. If the style sheet gives headings a bottom border, that distinguishes them instead.
    ///
    /// Doesn't use kitty's text sizing protocol (OSC 66), because versions before 0.40 drop the text and the environment doesn't contain
    /// kitty's version.
    private mutating func heading(_ block: StyledText.Block, level: Int, _ runs: ArraySlice<StyledText.Run>) {
        if block.style.border?.edges.contains(.bottom) == true { return paragraph(block, runs) }
        guard level <= 2, block.style.text.fontSize > bodySize else {
            return paragraph(block, runs, marker: String(repeating: "#", count: level) + " ")
        }
        paragraph(block, runs, underline: level == 1 ? "═" : "─")
    }

    /// Adds a paragraph. `marker` comes before the first line, and the other lines are indented by its width. `underline` is repeated below
    /// to the width of the widest line.
    private mutating func paragraph(
        _ block: StyledText.Block, _ runs: ArraySlice<StyledText.Run>, marker: String = "",
        underline: Character? = nil
    ) {
        var room = room(of: block)
        // If there isn't enough space for text, the marker isn't shown.
        let hanging = room.width - marker.utf8.count >= minimumTextWidth ? marker.utf8.count : 0
        room.indent += hanging
        room.width -= hanging
        var first = max(room.indent + columns(block.style.firstLineIndent), hanging)
        if top.width - first - room.behind < minimumTextWidth { first = room.indent }
        let limits = InlineText.Limits(first: top.width - first - room.behind, others: room.width)
        let limit = min(limits.first, limits.others)
        let images = placedImages(of: runs, width: limit)
        defer { show(below: images.below) }
        guard !images.runs.isEmpty || images.below.isEmpty else { return }
        var content = inlineText(of: images.runs, in: block, images: images.inLine)
        content.measure(limit: limit) { columns($0.kerning) }
        let ranges = content.lines(limits)
        let widest = ranges.reduce(0) { max($0, content.width(of: $1)) }
        for (index, range) in ranges.enumerated() {
            if index > 0 { for _ in 0..<rows(block.style.lineSpacing) { line([]) } }
            let indent = index == 0 ? first - hanging : room.indent
            let left = (index == 0 ? limits.first : limits.others) - content.width(of: range)
            line(
                Segment.spaces(indent + offset(block.style.alignment, left), filling(top.background))
                    + (index == 0 && hanging > 0 ? [Segment(marker, block.style.text)] : [])
                    + content.segments(of: range))
        }
        guard let underline, widest > 0 else { return }
        let (indent, width) = ranges.count == 1 ? (first, limits.first) : (room.indent, limits.others)
        let length = ruleWidth(min(widest, width))
        let style = filling(top.background, color: block.style.text.color)
        line(
            Segment.spaces(indent + offset(block.style.alignment, width - length), filling(top.background))
                + [Segment(String(repeating: underline, count: length), style)])
    }

    private mutating func code(_ block: StyledText.Block, _ content: InlineText) {
        var content = content
        let room = room(of: block)
        content.measure(limit: room.width) { columns($0.kerning) }
        let indent = Segment.spaces(room.indent, filling(top.background))
        for (index, range) in content.sourceLines().enumerated() {
            if index > 0 { for _ in 0..<rows(block.style.lineSpacing) { line([]) } }
            var range = range
            while true {
                let part = content.prefix(of: range, fitting: room.width)
                if part.upperBound == range.upperBound {
                    line(indent + content.segments(of: range))
                    break
                }
                guard renderer.longCode == .wrap, !part.isEmpty else {
                    let shown = content.prefix(of: range, fitting: room.width - 1)
                    line(indent + content.segments(of: shown) + [Segment("…", block.style.text)])
                    break
                }
                line(indent + content.segments(of: part))
                range = part.upperBound..<range.upperBound
            }
        }
    }

    /// Returns the columns before, after and within the lines of a leaf. Ignores the indents if they leave too few columns for text.
    private func room(of block: StyledText.Block) -> (indent: Int, behind: Int, width: Int) {
        let indent = max(columns(block.style.leadingIndent), 0)
        let behind = max(columns(block.style.trailingIndent), 0)
        let width = top.width - indent - behind
        return width >= minimumTextWidth ? (indent, behind, width) : (0, 0, top.width)
    }

    func offset(_ alignment: StyleSheet.Alignment, _ left: Int) -> Int {
        guard left > 0, !renderer.isUnlimited else { return 0 }
        return switch alignment {
        case .leading, .justified: 0
        case .center: left / 2
        case .trailing: left
        }
    }
}
