/// Lays the blocks of a styled text out in lines, one after the other.
///
/// The blocks that are open are a stack of frames. Each has what its lines begin with, composed from those around it when it
/// is opened, so that a line costs no walk up the tree:
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
    /// The blocks that the frames are of, and how the next line of each begins, depend on how many lines there are.
    var lineCount = 0
    /// The blank lines that are due in front of the next line.
    private var pendingSpace = 0
    /// The outermost frame that was on top since the last line: what blank lines begin with.
    private var lowestFrame = 0

    struct Frame {
        var block: Int
        /// What the next line begins with if there was none since the frame was opened.
        var first: [Segment]
        var others: [Segment]
        var suffix: [Segment] = []
        /// The columns between the two.
        var width: Int
        /// The colour behind the lines.
        var background: StyleSheet.Tone?
        var lineCount: Int
        /// The columns of the widest marker, for lists.
        var markerWidth = 0
        /// What comes below the last line: rows of padding, and whether there is a line.
        var paddingBelow = 0
        var borderBelow: ResolvedBlockStyle.Border?
        /// How many lines there were behind the upper border and padding of the innermost box that it is in.
        var boxStart = -1
    }

    init(
        text: StyledText, renderer: TerminalRenderer,
        imageData: ((StyledText.Image) -> TerminalRenderer.Image?)?
    ) {
        self.text = text
        self.renderer = renderer
        self.imageData = imageData
        bodySize = StyleSheet.TextStyle.body.size(at: text.environment.sizeCategory)
        writer = TerminalWriter(renderer: renderer, bodySize: bodySize)
        frames = [Frame(block: -1, first: [], others: [], width: max(renderer.width, 1), lineCount: 0)]
    }

    /// All lines.
    mutating func render() -> String {
        // The runs of a block stand together: those of its text, as no block has both text and blocks in it.
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

    /// Rows of nothing in front of the next line; between two blocks the larger number holds.
    mutating func space(_ rows: Int) {
        pendingSpace = max(pendingSpace, rows)
    }

    /// Puts a line into the innermost frame. Its content must fit.
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

    /// A line of the innermost frame with nothing in it: padding, or room between lines.
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

    /// Plain text on a background.
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
        // An item without anything in it still has a marker.
        if case .item = block.kind, frame.lineCount == lineCount { line([]) }
        // Room is between blocks: what the last one in a box has below it comes below the box.
        let due = pendingSpace
        if frame.paddingBelow > 0 || frame.borderBelow?.edges.contains(.bottom) == true { pendingSpace = 0 }
        for _ in 0..<frame.paddingBelow { emptyLine() }
        frames.removeLast()
        lowestFrame = min(lowestFrame, frames.count - 1)
        if let border = frame.borderBelow { horizontal(border, isTop: false, of: block) }
        space(max(due, rows(block.style.spacingAfter)))
    }

    // MARK: Lengths

    /// Columns for points, of half an em of body text each; at most a line, and at most 200.
    func columns(_ points: Double) -> Int {
        cells(points / (bodySize / 2), limit: min(top.width, 200))
    }

    /// Rows for points, of an em of body text each. No more than ten: a length of a thousand is no wish.
    func rows(_ points: Double) -> Int {
        max(cells(points / bodySize, limit: 10), 0)
    }

    private func cells(_ count: Double, limit: Int) -> Int {
        guard count.isFinite else { return 0 }
        return Int(min(max(count.rounded(), -Double(limit)), Double(limit)))
    }
}

extension StyledText.Block {
    /// Whether it has text of its own, and not blocks.
    var isLeaf: Bool {
        switch kind {
        case .paragraph, .heading, .codeBlock, .thematicBreak, .tableCell: true
        default: false
        }
    }

    var isTable: Bool {
        if case .table = kind { true } else { false }
    }
}

extension [Segment] {
    /// Takes spaces at the end away that nobody would see.
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
