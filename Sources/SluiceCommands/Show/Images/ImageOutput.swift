import NativeMark

/// Text for a terminal with images, in pieces, so that an image can be left out without damage to the text around it.
///
/// A terminal takes what follows an unfinished escape sequence, including the next prompt, as a part of that sequence. Writing must
/// therefore stop between two pieces, or write ``closing`` after an unfinished image.
struct ImageOutput: Sendable, Hashable {
    enum Piece: Sendable, Hashable {
        case text(Substring)
        /// Shows one image. Afterward, the cursor is where it was before.
        case loadedImage(Substring)
    }

    private(set) var pieces: [Piece] = []

    init(_ output: String) {
        var rest = output[...]
        // Each image is between DECSC and DECRC, which the renderer uses for nothing else.
        while let start = rest.afterEscape("7") {
            let end = rest[start...].afterEscape("8").map { rest.utf8.index($0, offsetBy: -2) } ?? rest.endIndex
            pieces += [.text(rest[..<start]), .loadedImage(rest[start..<end])]
            rest = rest[end...]
        }
        if !rest.isEmpty { pieces.append(.text(rest)) }
    }

    /// Ends an unfinished image: the control string (ST, ECMA-48, section 8.3.143), kitty's transfer, and the style.
    static let closing = "\u{1B}\\\u{1B}_Gq=2,m=0;\u{1B}\\\u{1B}[0m"
}

extension Console {
    /// Writes the text in any case, and images only while the task isn't cancelled.
    func write(_ output: ImageOutput) async {
        for piece in output.pieces {
            switch piece {
            case .text(let text): await writeWhole(String(text), to: .output)
            case .loadedImage(let commands):
                guard !Task.isCancelled else { continue }
                await write(String(commands), to: .output)
                if Task.isCancelled { await writeWhole(ImageOutput.closing, to: .output) }
            }
        }
    }
}

extension Substring {
    /// Returns the index after the first pair of ESC and this character.
    func afterEscape(_ character: Unicode.Scalar) -> Index? {
        var rest = utf8[...]
        while let escape = rest.firstIndex(of: 0x1B) {
            rest = rest[escape...].dropFirst()
            if let next = rest.first, UInt32(next) == character.value { return rest.dropFirst().startIndex }
        }
        return nil
    }
}
