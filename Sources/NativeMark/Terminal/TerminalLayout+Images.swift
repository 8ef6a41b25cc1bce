#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The loaded images of a paragraph, heading or table.
///
/// | image | shown |
/// |---|---|
/// | not loaded | as its description |
/// | alone in its paragraph | on its own lines |
/// | among text or other images, with a `columnsInLine` that fits in a line | in the line, one row high |
/// | among text or other images, otherwise | on its own lines below the text; the description stays in the text |
///
/// In a paragraph that has only images, an image on its own lines has no description. In a table, images are in their cells or below the
/// table.
struct PlacedImages {
    /// The images in the lines, by image index.
    var inLine: [Int: TerminalRenderer.Image] = [:]
    /// The images below the text.
    var below: [Below] = []
    /// The runs of the text.
    var runs: ArraySlice<StyledText.Run>

    struct Below {
        var image: TerminalRenderer.Image
        var link: InlineText.Hyperlink?
        var layout: ResolvedTextStyle.ImageLayout?
    }
}

extension TerminalLayout {
    func placedImages(of runs: ArraySlice<StyledText.Run>, width: Int) -> PlacedImages {
        var placed = PlacedImages(runs: runs)
        guard renderer.images.isProtocol, let imageData else { return placed }
        var numbersBelow: Set<Int> = []
        for run in runs {
            guard let number = run.image, let image = imageData(text.images[number]), !image.bytes.isEmpty else {
                continue
            }
            if runs.count > 1, let columns = image.columnsInLine, columns > 0, columns <= width {
                placed.inLine[number] = image
            } else {
                let link = hyperlink(of: run)
                placed.below.append(.init(image: image, link: link, layout: run.style.imageLayout))
                // The target of a link stays in the text, unless the image is in a hyperlink.
                if link != nil || run.link == nil { numbersBelow.insert(number) }
            }
        }
        guard !placed.below.isEmpty, runs.allSatisfy({ $0.image != nil || isSpace($0) }) else { return placed }
        // Spaces after an image that isn't in the line are dropped too: they would begin a line or follow other spaces.
        var isBehind = true
        placed.runs =
            runs.filter { run in
                let isHidden = run.image.map { numbersBelow.contains($0) } ?? isBehind
                isBehind = isHidden
                return !isHidden
            }[...]
        return placed
    }

    private func isSpace(_ run: StyledText.Run) -> Bool {
        run.isLineBreak || text.string(of: run).allSatisfy { $0 == " " }
    }

    mutating func show(below images: [PlacedImages.Below]) {
        for (index, image) in images.enumerated() {
            if index > 0 { space(1) }
            show(image)
        }
    }

    /// Shows an image on its own lines. If it has a link, only the first line is a hyperlink.
    ///
    /// The image takes as many lines as it has rows, no matter where the terminal leaves the cursor. The escape sequences first reserve the
    /// lines by moving down (IND, which scrolls if necessary and keeps the column) and back up. They save and restore the cursor around the
    /// image (DECSC, DECRC), and nothing scrolls in between. The cursor skips the cells under the image and doesn't overwrite them.
    private mutating func show(_ placed: PlacedImages.Below) {
        let (columns, rows) = cells(of: placed)
        let before = Segment.spaces(offset(placed.layout?.alignment ?? .leading, top.width - columns), filling(nil))
        let first = shown(placed.image, columns: columns, rows: rows, isInLine: false, link: placed.link)
        line(before + [Segment(first.sequences, first.look, width: columns)])
        let room = Segment("\u{1B}[\(columns)C", .init(style: filling(nil)), width: columns)
        for _ in 1..<rows { line(before + [room]) }
    }

    /// Returns the size of an image in columns and rows: the app's, changed by the style.
    private func cells(of placed: PlacedImages.Below) -> (columns: Int, rows: Int) {
        let columns = max(placed.image.columns, 1)
        let rows = min(max(placed.image.rows, 1), 1_000)
        guard let size = placed.layout?.size, size != .natural else { return (min(columns, top.width), rows) }
        let scale = size.scale(
            width: Double(columns), height: Double(rows), room: Double(top.width),
            unit: (width: 2 / bodySize, height: 1 / bodySize))
        return (
            Int(min(max((Double(columns) * scale).rounded(), 1), Double(top.width))),
            Int(min(max((Double(rows) * scale).rounded(), 1), 1_000))
        )
    }

    /// Returns an image that is one row high.
    func inLine(_ image: TerminalRenderer.Image, link: InlineText.Hyperlink?) -> InlineText.Image {
        shown(image, columns: image.columnsInLine ?? 1, rows: 1, isInLine: true, link: link)
    }

    /// Returns the sequences that show an image and move the cursor to the end of its first row. If the image has a link, spaces fill the
    /// cells under that row, so that a click finds the link.
    private func shown(
        _ image: TerminalRenderer.Image, columns: Int, rows: Int, isInLine: Bool, link: InlineText.Hyperlink?
    ) -> InlineText.Image {
        let data = Data(image.bytes).base64EncodedString()
        let command =
            renderer.images == .kitty
            ? Self.kitty(data, id: image.id, columns: columns, rows: rows)
            : Self.iTerm2(data, size: image.bytes.count, columns: columns, rows: rows, keepsRatio: !isInLine)
        let spaces = link == nil ? "" : "\u{1B}7\(String(repeating: " ", count: columns))\u{1B}8"
        let reserved = "\(String(repeating: "\u{1B}D", count: rows))\u{1B}[\(rows)A"
        return .init(
            sequences: "\(reserved)\(spaces)\u{1B}7\(command)\u{1B}8\u{1B}[\(columns)C", columns: columns,
            look: .init(style: filling(nil), link: link))
    }

    /// Returns the commands of kitty's graphics protocol that show a PNG (f=100) immediately (a=T) in a number of cells, without responses
    /// (q=2) and without moving the cursor (C=1). The data is in chunks of 4,096 bytes.
    private static func kitty(_ data: String, id: UInt32?, columns: Int, rows: Int) -> String {
        var result = ""
        var rest = data.utf8[...]
        let name = id.map { "i=\($0)," } ?? ""
        var control = "a=T,f=100,\(name)q=2,C=1,c=\(columns),r=\(rows),"
        while !rest.isEmpty {
            let piece = rest.prefix(4_096)
            rest = rest.dropFirst(piece.count)
            result += "\u{1B}_G\(control)m=\(rest.isEmpty ? 0 : 1);\(Substring(piece))\u{1B}\\"
            control = "q=2,"
        }
        return result
    }

    /// Returns the command of iTerm2's protocol that shows a file inline (inline=1), scaled to fit a number of cells.
    ///
    /// An image in a line doesn't keep its aspect ratio, because WezTerm would compute the height from the width, and the image could be
    /// taller than the line.
    private static func iTerm2(_ data: String, size: Int, columns: Int, rows: Int, keepsRatio: Bool) -> String {
        let ratio = keepsRatio ? 1 : 0
        return
            "\u{1B}]1337;File=inline=1;size=\(size);width=\(columns);height=\(rows);preserveAspectRatio=\(ratio):\(data)\u{7}"
    }
}
