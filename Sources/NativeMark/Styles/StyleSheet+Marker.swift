extension StyleSheet {
    /// The marker of the items of a list.
    ///
    ///     sheet.setting(block: [
    ///         .list(.ordered): [.marker(.numbers([.decimal, .lowercaseLetters, .lowercaseRoman]))],   // 1., then a., then i.
    ///         .list(.bullets): [.marker(.bullets(["–"]))],
    ///     ])
    ///
    /// The first value is for lists that aren't inside another list of their kind, the next value for lists one level deeper, and so
    /// on. After the last value, the first is used again.
    public enum Marker: Sendable, Hashable {
        /// No marker.
        case none
        /// Numbers, followed by the period or parenthesis of the document. An empty array means decimal numbers. Bullet lists get `•`.
        case numbers([Numbering])
        /// Bullets, of which the first 64 Unicode scalars are shown. An empty array means no bullets. Ordered lists keep decimal numbers.
        case bullets([String])
    }

    /// The format of a number.
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

        /// Returns the number as text. Numbers that a format can't express (0 and below; for Roman above 3,999) become decimal digits.
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
    /// `number` is `nil` in a bullet list, `delimiter` is the character after the number in the document, and `depth` is the number of
    /// enclosing lists of the same kind.
    func text(number: Int?, delimiter: Character, depth: Int) -> String {
        switch (self, number) {
        case (.none, _): ""
        case (.numbers(let scripts), let number?):
            (scripts.isEmpty ? .decimal : scripts[depth % scripts.count]).text(of: number) + String(delimiter)
        case (.bullets, let number?): String(number) + String(delimiter)
        // Each item repeats the bullet.
        case (.bullets(let bullets), nil):
            bullets.isEmpty ? "" : String(bullets[depth % bullets.count].unicodeScalars.prefix(64))
        case (.numbers, nil): "•"
        }
    }
}
