import NativeMark

/// What a terminal shows of an output: everything but escape sequences.
///
/// Knows the sequences of ``TerminalRenderer`` and no others, so that a stray ESC stays and is seen.
func shown(_ output: String) -> String {
    var result = String.UnicodeScalarView()
    var rest = output.unicodeScalars[...]
    while let scalar = rest.first {
        let next = rest.dropFirst().first
        if scalar == "\u{1B}", next == "[", let end = rest.firstIndex(of: "m"),
            rest[rest.index(rest.startIndex, offsetBy: 2)..<end].allSatisfy({
                "0123456789;".unicodeScalars.contains($0)
            })
        {
            rest = rest[rest.index(after: end)...]
        } else if scalar == "\u{1B}", next == "]", rest.starts(with: "\u{1B}]8;".unicodeScalars),
            let end = rest.dropFirst().firstIndex(of: "\u{1B}"), rest[end...].starts(with: "\u{1B}\\".unicodeScalars)
        {
            rest = rest[end...].dropFirst(2)
        } else {
            result.append(scalar)
            rest = rest.dropFirst()
        }
    }
    return String(result)
}

/// The output with ESC as a letter that one can see.
func visible(_ output: String) -> String {
    output.replacing("\u{1B}]8;", with: "⟦8;").replacing("\u{1B}\\", with: "⟧").replacing("\u{1B}[", with: "⎋")
}
