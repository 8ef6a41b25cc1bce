import NativeMark

/// What a terminal shows of an output: everything except escape sequences. The cells of an image are `▒`.
///
/// Knows the sequences of ``TerminalRenderer`` and no others, so that a stray ESC stays and is seen.
func shown(_ output: String) -> String {
    var result = String.UnicodeScalarView()
    var rest = output.unicodeScalars[...]
    while let scalar = rest.first {
        guard scalar == "\u{1B}", let sequence = Sequence(rest) else {
            result.append(scalar)
            rest = rest.dropFirst()
            continue
        }
        if case .cells(let count) = sequence.kind {
            result.append(contentsOf: repeatElement("▒", count: count))
        }
        rest = sequence.rest
    }
    return String(result)
}

/// An escape sequence at the beginning of an output.
private struct Sequence {
    enum Kind {
        case invisible
        /// Moves the cursor over an image.
        case cells(Int)
    }

    var kind = Kind.invisible
    var rest: Substring.UnicodeScalarView

    init?(_ text: Substring.UnicodeScalarView) {
        let scalars = text.dropFirst()
        rest = scalars.dropFirst()
        switch scalars.first {
        case "D": return
        case "[":
            let parameters = rest.prefix { "0123456789;".unicodeScalars.contains($0) }
            rest = rest[parameters.endIndex...].dropFirst()
            switch text[parameters.endIndex...].first {
            case "m": return
            case "A": guard parameters.allSatisfy({ $0 != ";" }) else { return nil }
            case "C":
                guard let count = Int(String(parameters)) else { return nil }
                kind = .cells(count)
            default: return nil
            }
        case "]":
            guard text.starts(with: "\u{1B}]8;".unicodeScalars), let end = rest.firstIndex(of: "\u{1B}"),
                rest[end...].starts(with: "\u{1B}\\".unicodeScalars)
            else { return nil }
            rest = rest[end...].dropFirst(2)
        case "7":
            // The cursor returns at the end of spaces, or of commands with base64.
            rest = rest.drop { $0 == " " }
            while rest.starts(with: "\u{1B}_G".unicodeScalars) || rest.starts(with: "\u{1B}]1337;File=".unicodeScalars)
            {
                rest = rest.dropFirst(2).drop { $0.value >= 0x20 && $0.value < 0x7F }
                guard rest.first == "\u{7}" || rest.starts(with: "\u{1B}\\".unicodeScalars) else { return nil }
                rest = rest.dropFirst(rest.first == "\u{7}" ? 1 : 2)
            }
            guard rest.starts(with: "\u{1B}8".unicodeScalars) else { return nil }
            rest = rest.dropFirst(2)
        default: return nil
        }
    }
}

/// The output with ESC as a letter that one can see.
func visible(_ output: String) -> String {
    output.replacing("\u{1B}]8;", with: "⟦8;").replacing("\u{1B}\\", with: "⟧").replacing("\u{1B}[", with: "⎋")
}
