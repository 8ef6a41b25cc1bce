/// What a screen reader reads at a place of a layout: a block of text, or a link in it.
struct AccessiblePart: Sendable, Hashable {
    /// The index of the block in ``StyledText/blocks``.
    var block: Int
    /// The index of the link in ``StyledText/links``, or `nil` for the block itself.
    var link: Int?
    /// The text that is read.
    var label: String
    /// The rectangle around the lines.
    var rectangle: LayoutRectangle
}

extension TextLayout {
    /// The blocks with text in the order of the document, each followed by its links.
    ///
    /// A link that wraps is one part. The label of an item's first block begins with the item's marker.
    func accessibleParts(of text: StyledText) -> [AccessiblePart] {
        var parts: [AccessiblePart] = []
        var links: [AccessiblePart] = []
        var (lastBlock, lastRun) = (-1, -1)
        for line in lines {
            if line.block == lastBlock {
                parts[parts.count - 1].rectangle.formUnion(line.rectangle)
            } else {
                parts += links
                links = []
                let label = text.marker(before: line.block) + text.string(of: text.blocks[line.block])
                parts.append(.init(block: line.block, link: nil, label: label, rectangle: line.rectangle))
                lastBlock = line.block
            }
            for (run, rectangle) in line.references(in: text) {
                guard let link = text.runs[run].link else { continue }
                if links.last?.link != link {
                    links.append(.init(block: line.block, link: link, label: "", rectangle: rectangle))
                }
                links[links.count - 1].rectangle.formUnion(rectangle)
                // A run that wraps, or has text in both directions, has several rectangles.
                if run != lastRun { links[links.count - 1].label += text.string(of: text.runs[run]) }
                lastRun = run
            }
        }
        return parts + links
    }
}

extension StyledText {
    /// Returns the marker of the item that begins with a block, and a space.
    fileprivate func marker(before block: Int) -> String {
        guard let parent = blocks[block].parent, parent == block - 1, case .item(let item) = blocks[parent].kind else {
            return ""
        }
        return item.marker.isEmpty ? "" : item.marker + " "
    }
}

extension LayoutRectangle {
    mutating func formUnion(_ other: Self) {
        let (right, bottom) = (max(maxX, other.maxX), max(maxY, other.maxY))
        (x, y) = (min(x, other.x), min(y, other.y))
        (width, height) = (right - x, bottom - y)
    }
}
