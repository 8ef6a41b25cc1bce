/// Lays out the blocks of a styled text in lines.
///
/// Open blocks are a stack of frames. Each frame stores the beginning of its lines, composed when the frame is opened, so that adding
/// a line doesn't visit the enclosing frames:
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
    /// A frame compares it with its own `lineCount` to choose the beginning of its next line.
    var lineCount = 0
    private var pendingSpace = 0
    /// The index of the outermost frame that was on top since the last line. Blank lines begin like its lines.
    private var lowestFrame = 0

    struct Frame {
        var block: Int
        /// The beginning of the first line after the frame was opened.
        var first: [Segment]
        var others: [Segment]
        var suffix: [Segment] = []
        /// The number of columns between the beginning and the suffix.
        var width: Int
        var background: StyleSheet.Tone?
        var lineCount: Int
        var markerWidth = 0
        /// The rows of padding below the last line. `borderBelow` is the border to close.
        var paddingBelow = 0
        var borderBelow: ResolvedBlockStyle.Border?
        /// The number of lines before the content of the innermost enclosing box.
        var boxStart = -1
    }

    init(
        text: StyledText, renderer: TerminalRenderer,
        imageData: ((StyledText.Image) -> TerminalRenderer.Image?)?
    ) {
        self.text = text
        self.renderer = renderer
        self.imageData = imageData
        bodySize = text.blocks.first?.style.text.fontSize ?? text.environment.size(of: .body)
        writer = TerminalWriter(
            renderer: renderer, bodySize: bodySize, appearance: text.environment.appearance,
            length: text.string.utf8.count)
        let width = renderer.isUnlimited ? renderer.width : min(renderer.width, TerminalRenderer.maximalWidth)
        frames = [Frame(block: -1, first: [], others: [], width: max(width, 1), lineCount: 0)]
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
        return writer.output
    }

    var top: Frame { frames[frames.count - 1] }

    // MARK: Lines

    /// Requests blank rows before the next line. Of several requests, the largest applies.
    mutating func space(_ rows: Int) {
        pendingSpace = max(pendingSpace, rows)
    }

    /// Adds a line to the innermost frame. The content must fit.
    mutating func line(_ content: [Segment]) {
        if lineCount > 0 {
            for _ in 0..<pendingSpace { blank(frames[lowestFrame]) }
        }
        let frame = top
        put(frame.lineCount == lineCount ? frame.first : frame.others, content, frame)
        lineCount += 1
        pendingSpace = 0
        lowestFrame = frames.count - 1
    }

    mutating func emptyLine() {
        line([])
    }

    private mutating func blank(_ frame: Frame) {
        put(frame.others, [], frame)
    }

    private mutating func put(_ prefix: [Segment], _ content: [Segment], _ frame: Frame) {
        var content = content
        let isFilled = writer.shows(frame.background)
        if isFilled {
            for index in content.indices where content[index].look.style.background == nil {
                content[index].look.style.background = frame.background
            }
        }
        if isFilled || !frame.suffix.isEmpty {
            let used = content.reduce(0) { $0 + $1.width }
            content += Segment.spaces(frame.width - used, filling(frame.background))
        }
        var line = prefix + content + frame.suffix
        if !isFilled { line.trimSpaces { writer.shows($0) } }
        writer.line(line)
    }

    func filling(_ background: StyleSheet.Tone?) -> ResolvedTextStyle {
        var style = ResolvedTextStyle(fontSize: bodySize)
        style.background = background
        return style
    }

    // MARK: Frames

    mutating func push(_ frame: Frame) {
        frames.append(frame)
    }

    private mutating func close() {
        let frame = top
        let block = text.blocks[frame.block]
        // An empty item still has a marker.
        if case .item = block.kind, frame.lineCount == lineCount { line([]) }
        // Spacing separates blocks, so the space below the last block in a box is added below the box.
        let due = pendingSpace
        if frame.paddingBelow > 0 || frame.borderBelow?.edges.contains(.bottom) == true { pendingSpace = 0 }
        for _ in 0..<frame.paddingBelow { emptyLine() }
        frames.removeLast()
        lowestFrame = min(lowestFrame, frames.count - 1)
        if let border = frame.borderBelow { horizontal(border, isTop: false, of: block) }
        space(max(due, rows(block.style.spacingAfter)))
    }

    // MARK: Lengths

    /// Returns a length in columns of half an em of body text, at most a line and at most 200.
    func columns(_ points: Double) -> Int {
        cells(points / (bodySize / 2), limit: min(top.width, 200))
    }

    /// Returns a length in rows of one em of body text, limited to 10, because a style sheet may contain any number.
    func rows(_ points: Double) -> Int {
        max(cells(points / bodySize, limit: 10), 0)
    }

    private func cells(_ count: Double, limit: Int) -> Int {
        guard count.isFinite else { return 0 }
        return Int(min(max(count.rounded(), -Double(limit)), Double(limit)))
    }
}

extension StyledText.Block {
    var isLeaf: Bool {
        switch kind {
        case .paragraph, .heading, .codeBlock, .thematicBreak, .tableCell: true
        default: false
        }
    }

    var isCode: Bool {
        if case .codeBlock = kind { true } else { false }
    }

    var isTable: Bool {
        if case .table = kind { true } else { false }
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
