import NativeMark
import SluiceCache

extension ImageHeader {
    /// The size in pixels as a terminal shows the image.
    ///
    /// iTerm2 decodes images with AppKit, which applies the orientation; its documentation says nothing about it. WezTerm (20240203) doesn't
    /// apply it: there, such a photo lies, and is smaller than its cells. The terminals with kitty's protocol decode PNG without metadata.
    func shownSize(by images: TerminalRenderer.ImageProtocol) -> (width: Int, height: Int) {
        images == .iTerm2 ? orientedSize : (width, height)
    }

    /// Returns the cells of an image with this size in pixels. The image is scaled down if it doesn't fit, but covers at least one cell.
    static func cells(
        for size: (width: Int, height: Int), of cell: Console.CellSize, columns: Int, rows: Int
    ) -> (columns: Int, rows: Int) {
        let wanted = (
            columns: Double(size.width) / Double(max(cell.width, 1)),
            rows: Double(size.height) / Double(max(cell.height, 1))
        )
        let scale = min(1, Double(columns) / wanted.columns, Double(rows) / wanted.rows)
        func fitted(_ length: Double, _ limit: Int) -> Int {
            max(min(Int((length * scale).rounded()), limit), 1)
        }
        return (fitted(wanted.columns, columns), fitted(wanted.rows, rows))
    }

    /// Returns the columns of an image at a height of one row, larger or smaller than it is; `nil` if the image is higher than two rows or
    /// wouldn't fit into a line. Badges are 20 pixels high, which is one or two rows.
    static func columnsInLine(
        for size: (width: Int, height: Int), of cell: Console.CellSize, columns: Int
    ) -> Int? {
        guard size.height > 0, size.height <= 2 * cell.height else { return nil }
        let wanted = Double(size.width) / Double(size.height) * Double(cell.height) / Double(max(cell.width, 1))
        let fitted = max(Int(wanted.rounded()), 1)
        return fitted <= columns ? fitted : nil
    }
}
