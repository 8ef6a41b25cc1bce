#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TerminalLayout {
    /// Shows an image on its own lines. Returns `false` if the image isn't loaded or the terminal can't show images.
    ///
    /// The image takes as many lines as it has rows, independent of where the terminal leaves the cursor. The escape sequences first
    /// reserve the lines by moving down (IND, which scrolls if necessary and keeps the column) and up again. They save and restore the
    /// cursor around the image (DECSC, DECRC; nothing scrolls in between). The cells under the image are skipped, not overwritten.
    mutating func show(_ image: StyledText.Image) -> Bool {
        guard renderer.images.isProtocol, let data = imageData?(image), !data.bytes.isEmpty else { return false }
        let columns = min(max(data.columns, 1), top.width)
        let rows = min(max(data.rows, 1), 1_000)
        let text = Data(data.bytes).base64EncodedString()
        let command =
            renderer.images == .kitty
            ? Self.kitty(text, id: data.id, columns: columns, rows: rows)
            : Self.iTerm2(text, size: data.bytes.count, columns: columns, rows: rows)
        let down = String(repeating: "\u{1B}D", count: rows)
        let room = sequence("\u{1B}[\(columns)C", width: columns)
        line([sequence("\(down)\u{1B}[\(rows)A\u{1B}7\(command)\u{1B}8"), room])
        for _ in 1..<rows { line([room]) }
        return true
    }

    /// A control sequence leaves the cells that it covers unchanged.
    private func sequence(_ control: String, width: Int = 0) -> Segment {
        Segment(control, .init(style: filling(nil), link: nil), width: width)
    }

    /// Returns the commands of the kitty graphics protocol: show a PNG (f=100) immediately (a=T) in a number of cells, without responses
    /// (q=2) and without moving the cursor (C=1), in chunks of 4,096 bytes.
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

    /// Returns the command of iTerm2's protocol: show a file inline (inline=1), scaled to fit a number of cells.
    private static func iTerm2(_ data: String, size: Int, columns: Int, rows: Int) -> String {
        "\u{1B}]1337;File=inline=1;size=\(size);width=\(columns);height=\(rows);preserveAspectRatio=1:\(data)\u{7}"
    }
}
