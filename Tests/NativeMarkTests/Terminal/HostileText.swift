extension String {
    /// Up to 30 pieces in random order: scalars that join, mark, reverse or control, and some of any kind.
    static func hostile(using random: inout some RandomNumberGenerator) -> String {
        let pieces: [Unicode.Scalar] = [
            "a", "b", ".", "1", " ", "日", "ﾊ", "\u{FF9E}", "\u{301}", "\u{200B}", "\u{200D}", "\u{FE0F}", "\u{FE0E}",
            "\u{20E3}", "👩", "❤", "🔥", "\u{1F3FD}", "\u{1F1EF}", "\u{1F1F5}", "\u{E0067}", "\u{E007F}", "\u{1100}",
            "\u{1161}", "\u{11AB}", "\u{AC00}", "\u{915}", "\u{94D}", "\u{937}", "\u{93F}", "\u{600}", "\u{1B}", "\r",
            "\n",
            "\t", "\u{9B}", "\u{202E}", "\u{2066}", "\u{2028}", "…",
        ]
        var result = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...30, using: &random) {
            if Int.random(in: 0..<10, using: &random) == 0,
                let any = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random))
            {
                result.append(any)
            } else if let piece = pieces.randomElement(using: &random) {
                result.append(piece)
            }
        }
        return String(result)
    }
}
