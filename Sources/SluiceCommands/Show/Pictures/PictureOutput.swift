import NativeMark

/// Text for a terminal with pictures in it, in pieces: a picture can be left out, and what is around it still is right.
///
/// An escape sequence that is cut off swallows what follows it, the next prompt too. So whoever stops does it between the
/// pieces, or closes the picture that was begun.
struct PictureOutput: Sendable, Hashable {
    enum Piece: Sendable, Hashable {
        /// Text, and controls that are complete.
        case text(Substring)
        /// The commands that show one picture. They move no cursor in the end.
        case picture(Substring)
    }

    private(set) var pieces: [Piece] = []

    init(_ output: String) {
        var rest = output[...]
        // Each stands between DECSC and DECRC, of which there is no other in what a renderer writes.
        while let start = rest.afterEscape("7") {
            let end = rest[start...].afterEscape("8").map { rest.utf8.index($0, offsetBy: -2) } ?? rest.endIndex
            pieces += [.text(rest[..<start]), .picture(rest[start..<end])]
            rest = rest[end...]
        }
        if !rest.isEmpty { pieces.append(.text(rest)) }
    }

    /// What ends a picture in the middle: the control string (ST, ECMA-48, section 8.3.143), kitty's transfer, the style.
    static let closing = "\u{1B}\\\u{1B}_Gq=2,m=0;\u{1B}\\\u{1B}[0m"
}

extension Console {
    /// Writes pictures as long as the task is not cancelled, and the text around them in any case.
    func write(_ output: PictureOutput) async {
        for piece in output.pieces {
            switch piece {
            case .text(let text): await writeWhole(String(text), to: .output)
            case .picture(let commands):
                guard !Task.isCancelled else { continue }
                await write(String(commands), to: .output)
                if Task.isCancelled { await writeWhole(PictureOutput.closing, to: .output) }
            }
        }
    }
}

extension Substring {
    /// The place behind the first ESC that is followed by this character.
    func afterEscape(_ character: Unicode.Scalar) -> Index? {
        var rest = utf8[...]
        while let escape = rest.firstIndex(of: 0x1B) {
            rest = rest[escape...].dropFirst()
            if let next = rest.first, UInt32(next) == character.value { return rest.dropFirst().startIndex }
        }
        return nil
    }
}
