/// The layout of a text on pages, one page at a time.
///
///     for page in LayoutPages(text, size: .init(width: 480, height: 720), engine: engine) {
///         for command in page.commands { draw(command) }       // moved up by page.top
///     }
///
/// No page ends inside of a line or a row of a table, after a heading, after the header of a table, or after the first line of a paragraph
/// or before its last one, unless something is higher than a page. Boxes are open where a page ends.
///
/// Keeps one page and one section. Takes linear time.
public struct LayoutPages: Sequence, IteratorProtocol {
    private var sections: LayoutSections
    private var breaks: PageBreaks
    /// The pages that are complete but haven't been returned.
    private var complete: ArraySlice<LayoutPage> = []
    /// What begins on the last page, in the order of drawing.
    private var commands: [DrawingCommand] = []
    private var lines: [PlacedLine] = []
    private var isAtEnd = false
    private var count = 0

    /// `size` is the room for the text on a page. The other parameters are those of ``LayoutSections``.
    public init(
        _ text: StyledText, size: LayoutSize, engine: any TextEngine,
        imageSize: @escaping (_ index: Int) -> LayoutSize? = { _ in nil }
    ) {
        let height = Swift.max(size.height, 1)
        sections = LayoutSections(text, width: size.width, engine: engine) { index in
            // An image that is higher than a page is shown smaller.
            guard let image = imageSize(index), image.height > height else { return imageSize(index) }
            return LayoutSize(width: image.width * height / image.height, height: height)
        }
        breaks = PageBreaks(height: height, text: text)
    }

    /// Lays out the next page, or returns `nil` at the end.
    public mutating func next() -> LayoutPage? {
        while complete.isEmpty, !isAtEnd {
            if let section = sections.next() {
                commands += section.commands
                lines += section.lines
                fill(breaks.add(section.rows))
            } else {
                isAtEnd = true
                fill(breaks.finish())
            }
        }
        return complete.popFirst()
    }

    /// Distributes what has been laid out among new pages. What reaches below the last one is kept for the pages after it.
    private mutating func fill(_ extents: [PageBreaks.Extent]) {
        guard let last = extents.last else { return }
        var pages = extents.map { extent -> LayoutPage in
            count += 1
            return LayoutPage(number: count, top: extent.top, bottom: extent.bottom)
        }
        /// Returns the first page whose end is below `y`.
        func page(at y: Double) -> Int {
            var (low, high) = (0, pages.count)
            while low < high {
                let middle = (low + high) / 2
                if pages[middle].bottom > y { high = middle } else { low = middle + 1 }
            }
            return low
        }
        var kept: [DrawingCommand] = []
        for command in commands {
            let (top, bottom) = command.extent
            var number = page(at: top)
            while number < pages.count, pages[number].top < bottom || top == bottom {
                pages[number].commands.append(command)
                number += 1
                if command.isWhole { break }
            }
            if command.isWhole ? top >= last.bottom : bottom > last.bottom { kept.append(command) }
        }
        commands = kept
        for line in lines where line.middle < last.bottom { pages[page(at: line.middle)].lines.append(line) }
        lines.removeAll { $0.middle < last.bottom }
        complete += pages
    }
}

/// A page of a ``LayoutPages``: the part of the layout from `top` to `bottom`, in the coordinates of the document.
public struct LayoutPage: Sendable {
    /// The number of the page, from 1.
    public var number: Int
    /// The top of the page, in the coordinates of the document.
    public var top: Double
    /// The bottom of what is on the page, in the coordinates of the document.
    public var bottom: Double
    /// What to draw, from back to front. Boxes and images may reach above and below the page.
    public var commands: [DrawingCommand] = []
    /// The lines of text on the page, in the order of the document.
    public var lines: [PlacedLine] = []

    /// Returns whether a command reaches above or below the page, so that it must be clipped.
    public func cuts(_ command: DrawingCommand) -> Bool {
        let (top, bottom) = command.extent
        return !command.isWhole && (top < self.top || bottom > self.bottom)
    }
}

extension PlacedLine {
    fileprivate var middle: Double { rectangle.y + rectangle.height / 2 }
}

extension DrawingCommand {
    /// Whether the command belongs to one page. Others are cut where a page ends.
    fileprivate var isWhole: Bool {
        switch self {
        case .text, .checkbox: true
        case .fill, .stroke, .image: false
        }
    }

    /// The top and the bottom. For text and checkboxes, both are the middle of the line.
    var extent: (top: Double, bottom: Double) {
        switch self {
        case .fill(let rectangle, _, _, _), .stroke(let rectangle, _, _), .image(_, let rectangle, _):
            return (rectangle.y, rectangle.maxY)
        case .text(let line, let origin, _):
            let middle = origin.y + (line.descent - line.ascent) / 2
            return (middle, middle)
        case .checkbox(let rectangle, _, _):
            let middle = rectangle.y + rectangle.height / 2
            return (middle, middle)
        }
    }
}

// MARK: - Page breaks

/// Decides where pages end, from the rows of one section after another.
struct PageBreaks {
    struct Extent: Hashable {
        var top: Double
        var bottom: Double
    }

    private let height: Double
    private let text: StyledText
    /// The rows of the page that isn't complete.
    private var rows: [Row] = []
    /// Where that page begins, if it isn't the top of its first row.
    private var top: Double?
    private var isEmpty = true

    private struct Row {
        var row: LayoutRow
        /// Whether a page may end above the row.
        var mayBegin: Bool
    }

    init(height: Double, text: StyledText) {
        self.height = height
        self.text = text
    }

    /// Adds the rows of a section. Returns the pages that they complete.
    mutating func add(_ rows: [LayoutRow]) -> [Extent] {
        // The number of rows of the same block up to each row, and after it.
        var before = Array(repeating: 0, count: rows.count)
        var after = before
        for index in rows.indices.dropFirst() where rows[index].block == rows[index - 1].block {
            before[index] = before[index - 1] + 1
        }
        for index in rows.indices.dropLast().reversed() where rows[index].block == rows[index + 1].block {
            after[index] = after[index + 1] + 1
        }
        var pages: [Extent] = []
        for (index, row) in rows.enumerated() {
            let previous = index > 0 ? rows[index - 1] : self.rows.last?.row
            let isInside = before[index] > 0
            let mayBegin =
                !keepsNext(previous) && (!isInside || before[index] >= 2 && after[index] >= 1)
            pages += add(Row(row: row, mayBegin: mayBegin))
        }
        return pages
    }

    /// Returns the last page. A text without rows has one empty page.
    mutating func finish() -> [Extent] {
        guard let last = rows.last else { return isEmpty ? [Extent(top: 0, bottom: 0)] : [] }
        return [Extent(top: start, bottom: last.row.bottom)]
    }

    private var start: Double { top ?? rows.first?.row.top ?? 0 }

    private func keepsNext(_ row: LayoutRow?) -> Bool {
        guard let row else { return false }
        return switch text.blocks[row.block].kind {
        case .heading, .tableRow(0): true
        default: false
        }
    }

    private mutating func add(_ row: Row) -> [Extent] {
        isEmpty = false
        rows.append(row)
        var pages: [Extent] = []
        while let last = rows.last, last.row.bottom - start > height + 1e-6 {
            guard rows.count > 1 else {
                // The row is higher than a page, which cuts it.
                pages.append(Extent(top: start, bottom: start + height))
                top = start + height
                continue
            }
            // Without a good place, the page ends above the row that doesn't fit.
            let end = rows.indices.dropFirst().last { rows[$0].mayBegin } ?? rows.count - 1
            pages.append(Extent(top: start, bottom: rows[end - 1].row.bottom))
            rows.removeFirst(end)
            top = nil
        }
        return pages
    }
}
