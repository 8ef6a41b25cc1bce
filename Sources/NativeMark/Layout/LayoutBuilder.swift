/// Places the blocks of a styled text from top to bottom. Open blocks form a stack of frames, so nothing recurses.
struct LayoutBuilder {
    let text: StyledText
    let engine: any TextEngine
    let imageSize: (Int) -> LayoutSize?
    let width: Double
    /// The backgrounds and borders of blocks, each outer one before those inside. A slot is filled when its block ends.
    var backgrounds: [DrawingCommand?] = []
    /// The boxes behind text.
    private var boxes: [DrawingCommand] = []
    var content: [DrawingCommand] = []
    private var lines: [PlacedLine] = []
    var rows: [LayoutRow] = []
    /// The top of the outermost box that has begun since the last row.
    var boxTop: Double?
    var frames: [Frame] = []
    /// The bottom of what has been placed.
    var y = 0.0
    /// The largest spacing of the blocks that have ended or begun since.
    var spacing = 0.0
    /// The spacing above the first thing, which isn't part of the layout.
    private(set) var spacingAbove = 0.0
    private var nextRun = 0
    private var nextBlock = 0
    let lineLimit: Int?
    /// The number of lines so far. A row of a table counts as many as its highest cell, and the line of a thematic break as one.
    var lineCount = 0
    private(set) var isTruncated = false
    /// Whether lines are in the cells of a row, which is shown whole.
    var isInRow = false
    /// The last line of a layout with a line limit, outside tables.
    var last: Spot?
    /// Whether each block is written from right to left.
    let isRightToLeft: [Bool]

    struct Frame {
        var block: Int
        /// The horizontal extent of the content.
        var left: Double
        var right: Double
        /// The index of the innermost frame with a box, which may be this one.
        var boxFrame: Int
        var box: Box?
        /// Whether something has been placed in the box of this frame.
        var hasContent = false
        var markerWidth = 0.0
        var marker: Marker?
        /// Whether there is no room beside the marker, so that it has a line of its own.
        var hasOwnMarkerLine = false

        /// The width of the content.
        var width: Double { max(right - left, 1) }
    }

    struct Box {
        var left: Double
        var right: Double
        var top: Double
        /// The index of the slot for the background; the border's is the next one.
        var slot: Int
    }

    struct Marker {
        var line: (any TextEngineLine)?
        var x: Double
        /// What is drawn after the text, and where it begins.
        var shape: (shape: Shape, x: Double)?
        var style: ResolvedTextStyle
        /// The width of the text and the shape.
        var width: Double
        var isRightToLeft = false
    }

    enum Shape {
        case checkbox(isChecked: Bool, StyleSheet.Tone)
        case bullet(StyleSheet.Bullet)

        /// The side of the square around it, for text of one em.
        var side: Double { if case .checkbox = self { 0.8 } else { 0.4 } }
    }

    init(
        _ text: StyledText, width: Double, engine: any TextEngine, lineLimit: Int?,
        imageSize: @escaping (Int) -> LayoutSize?
    ) {
        self.lineLimit = lineLimit
        self.text = text
        self.engine = engine
        self.imageSize = imageSize
        isRightToLeft = text.rightToLeftBlocks()
        self.width = width.isFinite ? min(max(width, 1), 1_000_000) : 1_000_000
        frames = [Frame(block: -1, left: 0, right: self.width, boxFrame: 0)]
        y = Self.points(text.ends.above)
    }

    /// Lays out the rest of the text.
    mutating func finish() -> LayoutSection {
        while advance() {}
        return take(0)
    }

    /// Lays out the next block of the document, with all blocks inside. Returns `nil` at the end.
    mutating func nextSection() -> LayoutSection? {
        // The document's own box isn't known before its end.
        advance() ? take(text.blocks[0].style.hasBox ? 2 : 0) : nil
    }

    private mutating func advance() -> Bool {
        guard nextBlock < text.blocks.count else { return false }
        repeat {
            guard hasRoomForLine() else {
                nextBlock = text.blocks.count
                while frames.count > 1 { close() }
                return true
            }
            let block = text.blocks[nextBlock]
            begin(nextBlock)
            if block.isTable {
                table(nextBlock)
                nextBlock = block.end
            } else {
                if block.isLeaf { leaf(nextBlock) }
                nextBlock += 1
            }
            while let top = frames.last, top.block >= 0, nextBlock >= text.blocks[top.block].end { close() }
        } while frames.count > 2
        // The document's frame begins with its first block.
        return frames.count == 2 && nextBlock == 1 ? advance() : true
    }

    /// Returns what has been laid out since the last call, without the backgrounds in the first slots.
    private mutating func take(_ slots: Int) -> LayoutSection {
        let commands = backgrounds.dropFirst(slots).compactMap(\.self) + boxes + content
        let section = LayoutSection(commands: commands, lines: lines, rows: rows, bottom: y)
        backgrounds.removeSubrange(min(slots, backgrounds.count)...)
        (boxes, content, lines, rows) = ([], [], [], [])
        return section
    }

    // MARK: Boxes

    /// Blocks that would leave less than this have no indents.
    private var minimumWidth: Double { min(120, width / 2) }

    private mutating func begin(_ index: Int) {
        let block = text.blocks[index]
        let style = block.style
        spacing = max(spacing, Self.points(style.spacingBefore))
        var frame = frames[frames.count - 1]
        (frame.block, frame.box, frame.marker, frame.hasOwnMarkerLine) = (index, nil, nil, false)
        let border = block.isTable ? nil : style.border
        let insets = (
            leading: Self.points(style.leadingIndent), trailing: Self.points(style.trailingIndent),
            start: (border?.width(of: .leading) ?? 0) + Self.points(style.padding.leading),
            end: (border?.width(of: .trailing) ?? 0) + Self.points(style.padding.trailing)
        )
        let hasRoom =
            frame.right - frame.left - insets.leading - insets.trailing - insets.start - insets.end >= minimumWidth
        let isRightToLeft = isRightToLeft[index]
        if hasRoom {
            frame.left += isRightToLeft ? insets.trailing : insets.leading
            frame.right -= isRightToLeft ? insets.leading : insets.trailing
        }
        if !block.isTable, style.hasBox {
            place()
            frame.box = Box(left: frame.left, right: frame.right, top: y, slot: backgrounds.count)
            frame.boxFrame = frames.count
            frame.hasContent = false
            backgrounds += [nil, nil]
            boxTop = boxTop ?? y
            y += (border?.width(of: .top) ?? 0) + Self.points(style.padding.top)
        }
        if hasRoom {
            frame.left += isRightToLeft ? insets.end : insets.start
            frame.right -= isRightToLeft ? insets.start : insets.end
        }
        addMarker(of: block, at: index, to: &frame)
        frames.append(frame)
        if frame.hasOwnMarkerLine { paragraph([], of: index) }
    }

    mutating func close() {
        let frame = frames[frames.count - 1]
        // An empty item still has a marker.
        if frame.marker != nil, hasRoomForLine() { paragraph([], of: frame.block) }
        frames.removeLast()
        let style = text.blocks[frame.block].style
        if let box = frame.box {
            let border = style.border
            y += (border?.width(of: .bottom) ?? 0) + Self.points(style.padding.bottom)
            let rectangle = LayoutRectangle(
                x: box.left, y: box.top, width: max(box.right - box.left, 0), height: y - box.top)
            let radius = Self.points(border?.cornerRadius ?? 0)
            if let color = style.background { backgrounds[box.slot] = .fill(rectangle, radius: radius, color) }
            if let border, !border.edges.isEmpty, border.width > 0 {
                backgrounds[box.slot + 1] = .stroke(
                    rectangle, border.placed(isRightToLeft: isRightToLeft[frame.block]))
            }
            if boxTop != nil || rows.isEmpty {
                addRow(of: frame.block, from: box.top)
            } else {
                rows[rows.count - 1].bottom = y
            }
        }
        spacing = max(spacing, Self.points(style.spacingAfter))
        if frames.count == 1 { y += Self.points(text.ends.below) }
    }

    /// Makes room for something in the innermost box: adds the spacing above it, unless it is the first thing there.
    mutating func place() {
        let box = frames[frames.count - 1].boxFrame
        if frames[box].hasContent { y += spacing }
        if box == 0, !frames[0].hasContent { spacingAbove = spacing }
        frames[box].hasContent = true
        spacing = 0
    }

    /// Adds the row from `top` to ``y``, with the beginnings of the boxes above it.
    mutating func addRow(of block: Int, from top: Double) {
        rows.append(LayoutRow(top: boxTop ?? top, bottom: y, block: block))
        boxTop = nil
    }

    // MARK: Markers

    private mutating func addMarker(of block: StyledText.Block, at index: Int, to frame: inout Frame) {
        let style = block.style.text
        switch block.kind {
        case .list:
            frame.markerWidth =
                text.items(of: index)
                .map { marker(of: $0.item, in: block.style.taskMarker, $0.style, at: index).width }.max() ?? 0
        case .footnotes: frame.markerWidth = marker("\(block.end - index).", nil, style, at: index).width
        case .item(let item) where !item.marker.isEmpty:
            let marker = marker(of: item, in: text.taskMarker(ofItem: index), style, at: index)
            set(marker, isNumber: item.number != nil, in: &frame)
        case .footnote(_, let number): set(marker("\(number).", nil, style, at: index), isNumber: true, in: &frame)
        default: break
        }
    }

    private func marker(
        of item: StyledText.Item, in tasks: ResolvedBlockStyle.TaskMarker?, _ style: ResolvedTextStyle, at block: Int
    ) -> Marker {
        if let shape = item.shape { return marker("", .bullet(shape), style, at: block) }
        guard let task = item.task, tasks.isCheckbox else { return marker(item.marker, nil, style, at: block) }
        // The box is drawn instead of its character.
        let color = tasks.color(of: task) ?? style.color
        return marker(String(item.marker.dropLast()), .checkbox(isChecked: task == .done, color), style, at: block)
    }

    private func marker(_ text: String, _ shape: Shape?, _ style: ResolvedTextStyle, at block: Int) -> Marker {
        var paragraph = TextParagraph()
        paragraph.isRightToLeft = isRightToLeft[block]
        // A line feed in a marker would begin another line.
        paragraph.text = text.replacingLineFeeds()
        paragraph.runs = [.init(range: 0..<paragraph.text.utf8.count, style: style)]
        let line = text.isEmpty ? nil : engine.lines(of: paragraph, width: .infinity, firstIndent: 0).first
        // The width doesn't include the space between the number and the box.
        let width = line.map { $0.width + (shape == nil ? 0 : style.fontSize / 4) } ?? 0
        return Marker(
            line: line, x: 0, shape: shape.map { ($0, width) }, style: style,
            width: width + (shape.map { $0.side * style.fontSize } ?? 0), isRightToLeft: isRightToLeft[block])
    }

    /// Numbers are aligned at their ends, bullets at their beginnings.
    private mutating func set(_ marker: Marker, isNumber: Bool, in frame: inout Frame) {
        var marker = marker
        let room = isNumber ? max(frame.markerWidth - marker.width, 0) : 0
        marker.x = marker.isRightToLeft ? frame.right - room - marker.width : frame.left + room
        frame.marker = marker
        let wide = max(frame.markerWidth, marker.width) + marker.style.fontSize / 2
        if frame.right - frame.left - wide < minimumWidth {
            frame.hasOwnMarkerLine = true
        } else if marker.isRightToLeft {
            frame.right -= wide
        } else {
            frame.left += wide
        }
    }

    /// Draws the pending markers of all open items beside a line.
    private mutating func drawMarkers(atBaseline baseline: Double) {
        for index in frames.indices {
            guard let marker = frames[index].marker else { continue }
            frames[index].marker = nil
            let end = marker.x + marker.width
            if let line = marker.line {
                let x = marker.isRightToLeft ? end - line.width : marker.x
                content.append(.text(line, at: .init(x: x, y: baseline), block: frames[index].block))
            }
            guard let (shape, distance) = marker.shape else { continue }
            let side = shape.side * marker.style.fontSize
            let x = marker.isRightToLeft ? end - distance - side : marker.x + distance
            var box = LayoutRectangle(x: x, y: baseline - side, width: side, height: side)
            switch shape {
            case .checkbox(let isChecked, let color):
                content.append(.checkbox(box, isChecked: isChecked, color))
            case .bullet(let bullet):
                // In the middle of lowercase letters, which are about half an em high.
                box.y -= marker.style.fontSize * 0.1
                content.append(bullet.command(in: box, marker.style.color))
            }
        }
    }

    // MARK: Leaves

    private mutating func leaf(_ index: Int) {
        let block = text.blocks[index]
        let runs = takeRuns(of: index)
        switch block.kind {
        case .thematicBreak:
            guard let rule = block.style.rule else { return paragraph(runs, of: index) }
            place()
            let frame = frames[frames.count - 1]
            let thickness = Self.points(rule.thickness)
            let height = max(block.style.text.fontSize, thickness)
            let room = max(frame.right - frame.left, 0)
            let width = rule.width(in: room)
            let free = rule.alignment.offset(in: room - width)
            let x = isRightToLeft[index] ? frame.right - width - free : frame.left + free
            if thickness > 0, width > 0 {
                let line = LayoutRectangle(x: x, y: y + (height - thickness) / 2, width: width, height: thickness)
                content.append(.rule(filling: line, along: .top, rule.color, rule.pattern))
            }
            drawMarkers(atBaseline: y + height)
            y += height
            addRow(of: index, from: y - height)
            lineCount += 1
            last = nil
        case .codeBlock:
            for (number, line) in sourceLines(of: runs).enumerated() {
                guard hasRoomForLine() else { return }
                if number > 0 { y += Self.points(block.style.lineSpacing) }
                paragraph(line, of: index)
            }
        default: paragraph(runs, of: index)
        }
    }

    /// A part of a run.
    struct Piece {
        var run: Int
        var range: Range<Int>
    }

    /// Returns the runs of a block. Runs are contiguous and in the order of the blocks.
    mutating func takeRuns(of block: Int) -> [Piece] {
        var pieces: [Piece] = []
        while nextRun < text.runs.count, text.runs[nextRun].block == block {
            pieces.append(.init(run: nextRun, range: text.runs[nextRun].range))
            nextRun += 1
        }
        return pieces
    }

    private func sourceLines(of pieces: [Piece]) -> [[Piece]] {
        var lines: [[Piece]] = [[]]
        for piece in pieces {
            var from = piece.range.lowerBound
            for (offset, byte) in text.substring(piece.range).utf8.enumerated() where byte == 0x0A {
                let end = piece.range.lowerBound + offset
                if from < end { lines[lines.count - 1].append(.init(run: piece.run, range: from..<end)) }
                lines.append([])
                from = end + 1
            }
            if from < piece.range.upperBound {
                lines[lines.count - 1].append(.init(run: piece.run, range: from..<piece.range.upperBound))
            }
        }
        return lines
    }

    /// - Parameter room: The width of the text, or `nil` in a cell, whose width depends on its images.
    func layoutParagraph(_ pieces: [Piece], of block: Int, room: Double?) -> LayoutParagraph {
        var paragraph = LayoutParagraph(style: text.blocks[block].style, isRightToLeft: isRightToLeft[block])
        var alignment: StyleSheet.Alignment?
        var isOnlyImages = true
        for piece in pieces {
            let run = text.runs[piece.run]
            let shown = text.substring(piece.range)
            let image = run.image.flatMap { index in
                imageSize(index).map { size in
                    LayoutParagraph.Image(
                        index: index, size: size, style: run.style, room: room ?? frames[frames.count - 1].width,
                        fillsRoom: room != nil)
                }
            }
            if image == nil {
                isOnlyImages = isOnlyImages && shown.utf8.allSatisfy { $0 == 0x20 }
            } else if alignment == nil {
                alignment = run.style.imageLayout?.alignment
            }
            paragraph.append(shown, piece.range, of: piece.run, run.style, image: image)
        }
        paragraph.finish()
        if isOnlyImages { paragraph.alignment = alignment }
        return paragraph
    }

    private mutating func paragraph(_ pieces: [Piece], of block: Int) {
        place()
        let frame = frames[frames.count - 1]
        let style = text.blocks[block].style
        let room = isRightToLeft[block] ? width - frame.right : frame.left
        let indent = Self.points(style.firstLineIndent, least: -room)
        put(
            layoutParagraph(pieces, of: block, room: frame.width), block, alignment: style.alignment, left: frame.left,
            right: frame.right, firstIndent: indent)
    }

    /// Adds the lines of a paragraph at ``y``, and moves below them.
    mutating func put(
        _ paragraph: LayoutParagraph, _ block: Int, alignment: StyleSheet.Alignment, left: Double, right: Double,
        firstIndent: Double
    ) {
        let style = text.blocks[block].style
        let room = max(right - left, 1)
        let firstIndent = firstIndent < room ? firstIndent : 0
        let lines = engine.lines(of: paragraph.paragraph, width: room, firstIndent: firstIndent)
        let size = style.text.fontSize * paragraph.scale
        let largest = paragraph.paragraph.runs.reduce(size) { max($0, $1.style.fontSize) }
        let height = style.lineHeight.map { $0 * largest }
        for (number, line) in lines.enumerated() {
            guard number == 0 || isInRow || hasRoomForLine() else { return }
            if number > 0 { y += Self.points(style.lineSpacing * paragraph.scale) }
            let top = y
            put(
                line,
                at: Spot(
                    block: block, paragraph: paragraph, range: line.range, alignment: alignment, left: left,
                    right: right,
                    indent: number == 0 ? firstIndent : 0, height: height, y: y))
            lineCount += 1
            addRow(of: block, from: top)
        }
    }

    /// Where a line is, and what has been drawn before it.
    struct Spot {
        var block: Int
        var paragraph: LayoutParagraph
        var range: Range<Int>
        var alignment: StyleSheet.Alignment
        var left: Double
        var right: Double
        var indent: Double
        /// The height, if it isn't the line's own.
        var height: Double?
        var y: Double
        var boxCount = 0
        var contentCount = 0

        /// The width for text.
        var room: Double { max(right - left, 1) - indent }
    }

    private mutating func put(_ line: any TextEngineLine, at spot: Spot) {
        let paragraph = spot.paragraph
        let natural = Self.points(line.ascent + line.descent)
        // As in CSS, a larger or smaller line height is divided equally above and below the text. Images keep their height.
        let height = spot.height.map { Self.points(paragraph.images.isEmpty ? $0 : max($0, natural)) } ?? natural
        let free = max(spot.room - line.width, 0)
        let offset = spot.indent + (paragraph.alignment ?? spot.alignment).offset(in: free)
        // A line that is too wide stays on the page.
        let x = paragraph.paragraph.isRightToLeft ? max(spot.right - offset - line.width, 0) : spot.left + offset
        let origin = LayoutPoint(x: x, y: y + (height - natural) / 2 + line.ascent)
        drawMarkers(atBaseline: origin.y)
        if lineLimit != nil {
            last = spot
            last?.boxCount = boxes.count
            last?.contentCount = content.count
        }
        drawBoxes(of: paragraph, line, origin)
        content.append(.text(line, at: origin, block: spot.block))
        for image in paragraph.images.overlapping(line.range, by: \.range) {
            guard let span = line.spans(of: image.range).first else { continue }
            content.append(
                .image(
                    image.index,
                    .init(
                        x: x + span.lowerBound, y: origin.y - image.size.height, width: image.size.width,
                        height: image.size.height), radius: image.radius))
        }
        lines.append(
            PlacedLine(
                line: line, origin: origin, rectangle: .init(x: x, y: y, width: line.width, height: height),
                block: spot.block, parts: paragraph.parts))
        y += height
    }

    // MARK: Line limit

    /// Returns whether another line may follow. If not, the last line gets an ellipsis.
    mutating func hasRoomForLine() -> Bool {
        guard let lineLimit, lineCount >= lineLimit else { return true }
        guard !isTruncated else { return false }
        isTruncated = true
        for index in frames.indices { frames[index].marker = nil }
        guard let spot = last else { return false }
        let (line, paragraph) = ellipsized(spot)
        boxes.removeSubrange(spot.boxCount...)
        content.removeSubrange(spot.contentCount...)
        lines.removeLast()
        // What is below the line has its place already.
        let bottom = y
        y = spot.y
        var shortened = spot
        shortened.paragraph = paragraph
        put(line, at: shortened)
        y = max(y, bottom)
        return false
    }

    /// Returns the longest beginning of a line that has room for an ellipsis after it.
    private func ellipsized(_ spot: Spot) -> (any TextEngineLine, LayoutParagraph) {
        func shortened(to end: Int) -> (line: any TextEngineLine, paragraph: LayoutParagraph)? {
            let paragraph = spot.paragraph.shortened(to: spot.range.lowerBound..<end)
            let lines = engine.lines(of: paragraph.paragraph, width: .infinity, firstIndent: 0)
            return lines.first.map { ($0, paragraph) }
        }
        let ends = spot.paragraph.characterBoundaries(in: spot.range)
        let count = partitionPoint(of: ends.count) { count in
            shortened(to: ends[count]).map { $0.line.width <= spot.room } ?? false
        }
        // `ends` isn't empty, and an ellipsis without room is shown anyway.
        return shortened(to: ends[max(count - 1, 0)]) ?? (lines[lines.count - 1].line, spot.paragraph)
    }

    private mutating func drawBoxes(of paragraph: LayoutParagraph, _ line: any TextEngineLine, _ origin: LayoutPoint) {
        for box in paragraph.boxes.overlapping(line.range, by: \.range) {
            guard let color = box.style.background else { continue }
            let form = box.style.backgroundBox
            let metrics = engine.metrics(of: box.style)
            let above =
                metrics.ascent + box.style.baseline + Self.points(form?.padding.top ?? 0)
                + (form?.border?.width(of: .top) ?? 0)
            let below =
                metrics.descent - box.style.baseline + Self.points(form?.padding.bottom ?? 0)
                + (form?.border?.width(of: .bottom) ?? 0)
            var corners: LayoutCorners = []
            let ends: (start: LayoutCorners, end: LayoutCorners) =
                paragraph.paragraph.isRightToLeft ? (.trailing, .leading) : (.leading, .trailing)
            if box.range.lowerBound >= line.range.lowerBound { corners.insert(ends.start) }
            if box.range.upperBound <= line.range.upperBound { corners.insert(ends.end) }
            for span in line.spans(of: box.range.clamped(to: line.range)) {
                let rectangle = LayoutRectangle(
                    x: origin.x + span.lowerBound, y: origin.y - above, width: span.upperBound - span.lowerBound,
                    height: max(above + below, 0))
                boxes.append(.fill(rectangle, radius: Self.points(form?.cornerRadius ?? 0), corners: corners, color))
                if let border = form?.border { boxes.append(.stroke(rectangle, border, corners: corners)) }
            }
        }
    }

    // MARK: Lengths

    private static let mostPoints = 10_000.0

    /// Limits a length to a finite range, because a style sheet may contain any number.
    static func points(_ length: Double, least: Double = 0) -> Double {
        length.isFinite ? min(max(length, least), mostPoints) : 0
    }
}

extension StyleSheet.Alignment {
    /// Returns the space before a line if `free` is left beside it.
    func offset(in free: Double) -> Double {
        switch self {
        case .leading, .justified: 0
        case .center: free / 2
        case .trailing: free
        }
    }
}

extension DrawingCommand {
    /// A straight line that fills a rectangle. A line with a pattern is the edge of a box, for which back ends have patterns anyway.
    static func rule(
        filling rectangle: LayoutRectangle, along edge: StyleSheet.Edge, _ color: StyleSheet.Tone,
        _ pattern: StyleSheet.Border.Pattern
    ) -> Self {
        guard pattern != .solid else { return .fill(rectangle, radius: 0, color) }
        let width = edge == .top ? rectangle.height : rectangle.width
        return .stroke(rectangle, .init(edges: [edge], width: width, color: color, pattern: pattern))
    }
}

extension ResolvedBlockStyle {
    /// Whether the block is a box of its own, which keeps the spacing of its content inside.
    var hasBox: Bool {
        background != nil || border.map { !$0.edges.isEmpty } == true || padding.top > 0 || padding.bottom > 0
    }
}

extension StyleSheet.Bullet {
    /// Returns the command that draws a shape.
    fileprivate func command(in box: LayoutRectangle, _ color: StyleSheet.Tone) -> DrawingCommand {
        switch self {
        case .disc: .fill(box, radius: box.width / 2, color)
        case .text, .square: .fill(box, radius: 0, color)
        case .circle:
            .stroke(
                box,
                .init(
                    edges: Set(StyleSheet.Edge.allCases), width: box.width / 6, color: color,
                    cornerRadius: box.width / 2))
        }
    }
}
