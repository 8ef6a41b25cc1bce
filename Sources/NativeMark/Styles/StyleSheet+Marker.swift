extension StyleSheet {
    /// What stands in front of the items of a list.
    ///
    ///     sheet.setting(block: [
    ///         .list(.ordered): [.marker(.numbers([.decimal, .lowercaseLetters, .lowercaseRoman]))],   // 1. then a. then i.
    ///         .list(.bullets): [.marker(.bullets(["–"]))],
    ///     ])
    ///
    /// The first of the values is for a list that is in no other list of its kind, the next for one inside it, and so on,
    /// from the beginning again after the last.
    public enum Marker: Sendable, Hashable {
        /// Nothing.
        case none
        /// Numbers in some script, with the dot or bracket that the document has.
        case numbers([Numbering])
        /// Bullets. A list with numbers has numbers nevertheless.
        case bullets([String])
    }

    /// How a number is written.
    public enum Numbering: String, Sendable, Hashable, CaseIterable {
        /// 1, 2, 3
        case decimal
        /// a, b, … z, aa, ab
        case lowercaseLetters
        /// A, B, … Z, AA, AB
        case uppercaseLetters
        /// i, ii, iii
        case lowercaseRoman
        /// I, II, III
        case uppercaseRoman

        /// The number in this script, or in digits where the script has no such number: none has 0, Roman ends at 3,999.
        ///
        ///     StyleSheet.Numbering.lowercaseLetters.text(of: 28)   // "ab"
        ///     StyleSheet.Numbering.uppercaseRoman.text(of: 2026)   // "MMXXVI"
        public func text(of number: Int) -> String {
            guard number > 0 else { return String(number) }
            return switch self {
            case .decimal: String(number)
            case .lowercaseLetters: Self.letters(of: number, from: "a")
            case .uppercaseLetters: Self.letters(of: number, from: "A")
            case .lowercaseRoman: number < 4_000 ? Self.roman(of: number).lowercased() : String(number)
            case .uppercaseRoman: number < 4_000 ? Self.roman(of: number) : String(number)
            }
        }

        private static func letters(of number: Int, from first: Unicode.Scalar) -> String {
            var left = number
            var letters: [Character] = []
            while left > 0 {
                let letter = UInt8(first.value) + UInt8((left - 1) % 26)
                letters.append(Character(Unicode.Scalar(letter)))
                left = (left - 1) / 26
            }
            return String(letters.reversed())
        }

        private static func roman(of number: Int) -> String {
            let values = [
                (1_000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
                (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
            ]
            var left = number
            var text = ""
            for (value, letters) in values {
                while left >= value {
                    text += letters
                    left -= value
                }
            }
            return text
        }
    }
}

extension StyleSheet.Marker {
    /// The text in front of an item.
    ///
    /// - Parameters:
    ///   - number: The item's number, or `nil` in a list of bullets.
    ///   - delimiter: What the document has behind the number.
    ///   - depth: How many lists of this kind the list is in, from 0.
    func text(number: Int?, delimiter: Character, depth: Int) -> String {
        switch (self, number) {
        case (.none, _): ""
        case (.numbers(let scripts), let number?):
            (scripts.isEmpty ? .decimal : scripts[depth % scripts.count]).text(of: number) + String(delimiter)
        case (.bullets, let number?): String(number) + String(delimiter)
        case (.bullets(let bullets), nil): bullets.isEmpty ? "" : bullets[depth % bullets.count]
        case (.numbers, nil): "•"
        }
    }
}
