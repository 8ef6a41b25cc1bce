import NativeMark

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The output for a document that arrives in pieces: each block once, when it has ended, and on a terminal the open block as it looks so
/// far.
///
/// ```text
/// append(_:)     takes bytes that have arrived
/// draw()         the blocks that have ended, over what was drawn of them
/// finish()       the rest
/// ```
///
/// What was written stays, even if a link that it refers to is defined later. Of an open block that is higher than the screen, the last
/// lines are drawn.
struct StreamedText {
    /// The largest open block that is drawn, in bytes. Each drawing renders the whole block, so this bounds its time. It is more than fits
    /// on a screen.
    static let largestOpenBlock = 16 << 10

    private var stream = DocumentStream()
    private var terminal: TerminalStream
    /// The screen on which the open block is drawn; `nil` if there is none.
    private var screen: Console.Size?
    /// The last bytes, which are the beginning of a character.
    private var incomplete: [UInt8] = []
    private var writtenCount = 0
    /// The lines of the open block that are on the screen, above the cursor.
    private var drawn: [String] = []
    /// The rows that the drawn lines take, if the terminal may have wrapped them.
    private var wrappedRows: Int?

    init(terminal: TerminalStream, screen: Console.Size?) {
        self.terminal = terminal
        self.screen = screen
    }

    // MARK: Input

    /// Appends bytes, which may end within a character. Bytes that aren't UTF-8 become U+FFFD, the same as in the whole text.
    mutating func append(_ bytes: some Sequence<UInt8>) {
        incomplete += bytes
        let end = Self.endOfCharacters(incomplete)
        stream.append(String(decoding: incomplete[..<end], as: UTF8.self))
        incomplete.removeSubrange(..<end)
    }

    /// Returns the position of the last character if more bytes may belong to it, and otherwise the end. Whatever precedes the first byte of
    /// a character is decoded without it.
    private static func endOfCharacters(_ bytes: [UInt8]) -> Int {
        for length in 1...3 where length <= bytes.count {
            let byte = bytes[bytes.count - length]
            if byte & 0xC0 == 0x80 { continue }
            let wanted = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
            return wanted > length ? bytes.count - length : bytes.count
        }
        return bytes.count
    }

    // MARK: Output

    /// Returns the output that writes the blocks that have ended since the last call, and draws the open one.
    mutating func draw() -> String {
        var ended = ""
        while writtenCount < stream.count, writtenCount < stream.count - 1 || stream.lastBlockHasEnded {
            ended += terminal.append(stream.block(at: writtenCount).document)
            writtenCount += 1
        }
        return replace(ended, open: openLines(isFirst: !ended.isEmpty))
    }

    /// Returns the output that writes the rest of the text and its footnotes.
    mutating func finish() -> String {
        stream.append(String(decoding: incomplete, as: UTF8.self))
        incomplete = []
        stream.finish()
        let footnotes = stream.footnotes
        let rest = (writtenCount..<stream.count).map { stream.block(at: $0).document }
        let last = footnotes == nil ? rest.lastIndex { $0.root.firstChild != nil } : nil
        writtenCount = stream.count
        var output = ""
        for (index, document) in rest.enumerated() { output += terminal.append(document, isLast: index == last) }
        return replace(output + terminal.finish(footnotes: footnotes), open: [])
    }

    /// Returns the lines to draw of the open block. A block that is too large stays as it was drawn, unless that has been erased.
    private mutating func openLines(isFirst: Bool) -> [String] {
        guard let screen, terminal.renderer.width <= screen.columns, writtenCount < stream.count else { return [] }
        guard stream.tailLength <= Self.largestOpenBlock else { return isFirst || wrappedRows != nil ? [] : drawn }
        let lines = terminal.preview(stream.block(at: writtenCount).document).split(
            separator: "\n", omittingEmptySubsequences: false
        ).dropLast()
        // The cursor is on the row below.
        return lines.suffix(max(screen.rows - 1, 0)).map(String.init)
    }

    /// Returns the output that replaces the drawn lines. Lines that stay the same aren't written again.
    ///
    /// Each row is erased before it is written. If the whole screen were erased at once, tmux would keep each drawing in its history.
    private mutating func replace(_ ended: String, open: [String]) -> String {
        var rest = (ended + open.lazy.map { $0 + "\n" }.joined())[...]
        var same = 0
        while wrappedRows == nil, same < drawn.count, rest.utf8.starts(with: (drawn[same] + "\n").utf8) {
            rest = rest[rest.utf8.index(rest.startIndex, offsetBy: drawn[same].utf8.count + 1)...]
            same += 1
        }
        let rows = wrappedRows ?? drawn.count - same
        (drawn, wrappedRows) = (open, nil)
        guard rows > 0 else { return String(rest) }
        var output = "\r" + TerminalSequence.up(rows)
        var left = rows
        while left > 0, let end = rest.utf8.firstIndex(of: UInt8(ascii: "\n")) {
            output += TerminalSequence.eraseToEndOfLine + rest[...end]
            rest = rest[rest.utf8.index(after: end)...]
            left -= 1
        }
        return output + rest + (left > 0 ? TerminalSequence.eraseBelow : "")
    }

    // MARK: The terminal

    /// Changes the size of the screen and the width of what is written from now on.
    ///
    /// If a window gets narrower, most terminals wrap the lines on it, and then the drawn lines take more rows.
    mutating func resize(to screen: Console.Size?, width: Int) {
        guard screen != self.screen || width != terminal.renderer.width else { return }
        if let screen, !drawn.isEmpty {
            let rows = drawn.reduce(0) { $0 + max((Self.columns(of: $1) - 1) / max(screen.columns, 1) + 1, 1) }
            wrappedRows = min(rows, max(screen.rows - 1, 0))
        }
        self.screen = screen
        terminal.renderer.width = width
    }

    /// Leaves what is drawn of the open block, because another program may have written below it, and draws it again.
    mutating func forgetDrawing() {
        (drawn, wrappedRows) = ([], nil)
    }

    /// Returns the columns of a line, without its styles (CSI … m) and hyperlinks (OSC 8 … ST).
    private static func columns(of line: String) -> Int {
        var shown = ""
        var rest = line[...]
        while let escape = rest.utf8.firstIndex(of: 0x1B) {
            shown += rest[..<escape]
            let sequence = rest[escape...].utf8.dropFirst()
            let end =
                sequence.first == UInt8(ascii: "[")
                ? sequence.firstIndex(of: UInt8(ascii: "m")) : sequence.firstIndex(of: UInt8(ascii: "\\"))
            rest = end.map { rest[rest.utf8.index(after: $0)...] } ?? ""
        }
        return TerminalText.width(of: shown + rest)
    }
}
