/// A text with places for arguments in the format of string catalogs: `%@`, `%lld`, `%2$@`, and `%%` for a percent sign.
///
/// Flags, widths and precisions are parsed but ignored: an argument is shown as its description. A percent sign that doesn't begin a
/// specifier stays, and so does a specifier without an argument.
struct LocalizedFormat: Sendable, Hashable {
    private(set) var parts: [Part] = []

    enum Part: Sendable, Hashable {
        case text(String)
        /// The index of an argument, and the specifier as written.
        case argument(Int, written: String)
    }

    init(_ format: String) {
        let bytes = Array(format.utf8)
        var place = 0
        var textStart = 0
        var next = 0
        func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "%"), let found = Self.specifier(in: bytes, at: place) else {
                place += 1
                continue
            }
            if textStart < place { parts.append(.text(string(textStart..<place))) }
            if found.isPercentSign {
                parts.append(.text("%"))
            } else {
                let index = found.position.map { $0 - 1 } ?? next
                if found.position == nil { next += 1 }
                parts.append(.argument(index, written: string(place..<found.end)))
            }
            place = found.end
            textStart = place
        }
        if textStart < bytes.count { parts.append(.text(string(textStart..<bytes.count))) }
    }

    /// Parses `%`, a position with `$`, flags, width and precision, a length, and a letter. The space flag isn't recognized, because
    /// "100 % sure" contains no specifier.
    private static func specifier(
        in bytes: [UInt8], at start: Int
    ) -> (position: Int?, isPercentSign: Bool, end: Int)? {
        var place = start + 1
        func skip(_ isWanted: (UInt8) -> Bool) -> Range<Int> {
            let from = place
            while place < bytes.count, isWanted(bytes[place]) { place += 1 }
            return from..<place
        }
        if place < bytes.count, bytes[place] == UInt8(ascii: "%") { return (nil, true, place + 1) }
        var position: Int?
        let digits = skip(\.isDigit)
        if !digits.isEmpty, place < bytes.count, bytes[place] == UInt8(ascii: "$") {
            // A position with five or more digits exceeds any number of arguments.
            guard digits.count < 5, let number = Int(String(decoding: bytes[digits], as: UTF8.self)), number > 0 else {
                return nil
            }
            position = number
            place += 1
        }
        let flags = skip { $0.isDigit || "+-#.".utf8.contains($0) }
        _ = skip { "hlqztjL".utf8.contains($0) }
        guard place < bytes.count, "@diuoxXfFeEgGaAcCsSp".utf8.contains(bytes[place]) else { return nil }
        // A named substitution.
        if bytes[place] == UInt8(ascii: "@"), bytes[flags].contains(UInt8(ascii: "#")) { return nil }
        return (position, false, place + 1)
    }
}
