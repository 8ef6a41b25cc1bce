import NativeMark

/// Draws a ``ProgressBoard`` as lines for a terminal: a bar for each running file, and one in total at the bottom.
///
/// ```text
/// song-017.wav      ━━━━━━━━━━━━━━──────  71 %   1.4 MB   2.1 MB/s  0:03
/// Total 17/300      ━━━━────────────────  21 %  12.3 MB   4.0 MB/s  0:12 left  2 to try again
/// ```
struct BarFrame {
    var board: ProgressBoard
    var size: Console.Size
    var time: Duration
    var styled: (String, TerminalStyle) -> String

    /// Each line is narrower than the terminal, and together they leave a row for the prompt.
    var lines: [String] {
        let width = max(size.columns - 1, 1)
        let most = max(size.rows - 2, 0)
        let running = board.rows.filter { !$0.value.isWaiting }.sorted { $0.key < $1.key }.map(\.value)
        var shown = running.prefix(most).map { line(for: $0, width: width) }
        let hidden = running.count - shown.count
        if hidden > 0, !shown.isEmpty {
            shown[shown.count - 1] = TerminalText.truncated("… and \(hidden + 1) more", toWidth: width)
        }
        return shown + [board.names.areOfQueue ? queue(width: width) : total(width: width)]
    }

    private func line(for row: ProgressBoard.Row, width: Int) -> String {
        let name = TerminalText.sanitized(row.name)
        let seconds = (time - row.began) / .seconds(1)
        let rate = seconds > 0 ? Double(row.received - row.resumed) / seconds : 0
        var tail = "\(right(Format.bytes(row.received), 8))  \(right(Format.rate(rate), 10))"
        var fraction = 0.0
        if let announced = row.announced {
            fraction = announced > 0 ? min(1, Double(row.received) / Double(announced)) : 1
            tail = "\(right("\(Int(fraction * 100)) %", 5))  \(tail)"
            if rate > 0, announced > row.received {
                tail += "  " + right(Format.clock(seconds: Double(announced - row.received) / rate), 5)
            }
        }
        return compose(name: name, fraction: fraction, tail: tail, width: width, style: .cyan)
    }

    private func total(width: Int) -> String {
        let fraction = board.fraction
        var tail = "\(right("\(Int(fraction * 100)) %", 5))  \(right(Format.bytes(board.bytes), 8))"
        tail += "  \(right(Format.rate(board.rate), 10))"
        let elapsed = time / .seconds(1)
        if fraction > 0, fraction < 1, elapsed >= 1 {
            tail += "  \(Format.clock(seconds: elapsed * (1 - fraction) / fraction)) left"
        }
        if board.waiting > 0 { tail += "  \(board.waiting) to try again" }
        if board.failed > 0 { tail += "  \(board.failed) failed" }
        let name = "Total \(board.finished)/\(board.names.count)"
        return compose(name: name, fraction: fraction, tail: tail, width: width, style: .green)
    }

    /// The counts of a queue, whose end isn't known.
    private func queue(width: Int) -> String {
        var text = "Queue  \(Format.counts(board.counts))"
        text += "  \(Format.bytes(board.bytes))  \(Format.rate(board.rate))"
        return TerminalText.truncated(text, toWidth: width)
    }

    /// A narrow terminal has no bar, and a very narrow one cuts the numbers off.
    private func compose(name: String, fraction: Double, tail: String, width: Int, style: TerminalStyle) -> String {
        let nameWidth = min(max(width / 4, 12), 40, width)
        let shownName = TerminalText.padded(
            TerminalText.truncated(name, toWidth: nameWidth, at: .middle), toWidth: nameWidth)
        let tailWidth = TerminalText.width(of: tail)
        let barWidth = min(width - nameWidth - tailWidth - 4, 40)
        if barWidth >= 5 { return "\(shownName)  \(bar(fraction, barWidth, style))  \(tail)" }
        return TerminalText.truncated("\(shownName)  \(tail)", toWidth: width)
    }

    private func bar(_ fraction: Double, _ width: Int, _ style: TerminalStyle) -> String {
        let full = min(width, Int(fraction * Double(width)))
        return styled(String(repeating: "━", count: full), style)
            + styled(String(repeating: "─", count: width - full), .dim)
    }

    private func right(_ text: String, _ width: Int) -> String {
        TerminalText.padded(text, toWidth: width, alignment: .trailing)
    }
}
