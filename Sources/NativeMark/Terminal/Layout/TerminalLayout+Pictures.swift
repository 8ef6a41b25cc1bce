#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TerminalLayout {
    /// Shows a picture on lines of its own. Returns false if there is none, or the terminal can show none.
    mutating func show(_ image: StyledText.Image) -> Bool {
        guard renderer.images != .none, let picture = picture?(image), !picture.bytes.isEmpty else { return false }
        let columns = min(max(picture.columns, 1), top.width)
        let rows = min(max(picture.rows, 1), 1_000)
        let data = Data(picture.bytes).base64EncodedString()
        switch renderer.images {
        case .none: break
        case .kitty:
            line([sequence(Self.kitty(data, columns: columns, rows: rows))])
            // The cursor stays (C=1): the lines below the first are ours to go down.
            for _ in 1..<rows { line([]) }
        case .iTerm2:
            line([
                sequence(
                    "\u{1B}]1337;File=inline=1;size=\(picture.bytes.count);width=\(columns);height=\(rows);"
                        + "preserveAspectRatio=1:\(data)\u{7}")
            ])
        }
        return true
    }

    /// A control of ours, which takes no columns of the line.
    private func sequence(_ control: String) -> Segment {
        Segment(control, .init(style: filling(nil), link: nil), width: 0)
    }

    /// The commands of the kitty graphics protocol: a PNG (f=100) to show at once (a=T) in so many cells, without answers
    /// (q=2), in pieces of 4,096 bytes.
    private static func kitty(_ data: String, columns: Int, rows: Int) -> String {
        var result = ""
        var rest = data.utf8[...]
        var control = "a=T,f=100,q=2,C=1,c=\(columns),r=\(rows),"
        while !rest.isEmpty {
            let piece = rest.prefix(4_096)
            rest = rest.dropFirst(piece.count)
            result += "\u{1B}_G\(control)m=\(rest.isEmpty ? 0 : 1);\(Substring(piece))\u{1B}\\"
            control = ""
        }
        return result
    }
}
