import SluiceCache

extension ImageHeader {
    /// The image is scaled down if it doesn't fit, but covers at least one cell.
    func cells(of cell: Console.CellSize, columns: Int, rows: Int) -> (columns: Int, rows: Int) {
        let wanted = (
            columns: Double(width) / Double(max(cell.width, 1)), rows: Double(height) / Double(max(cell.height, 1))
        )
        let scale = min(1, Double(columns) / wanted.columns, Double(rows) / wanted.rows)
        func fitted(_ length: Double, _ limit: Int) -> Int {
            max(min(Int((length * scale).rounded()), limit), 1)
        }
        return (fitted(wanted.columns, columns), fitted(wanted.rows, rows))
    }
}
