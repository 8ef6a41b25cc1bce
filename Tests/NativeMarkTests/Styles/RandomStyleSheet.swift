@testable import NativeMark

/// Writes JSON that is mostly a style sheet: known and unknown keys with values of the right and of the wrong kind.
struct RandomStyleSheet<Random: RandomNumberGenerator> {
    var random: Random

    private mutating func pick(_ values: [String]) -> String { values.randomElement(using: &random) ?? "" }

    private mutating func happens(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    mutating func sheet() -> String {
        var parts: [String] = []
        if happens(oneIn: 2) {
            parts.append("\"base\": \(pick(["\"default\"", "\"empty\"", "\"github\"", "\"empty\""]))")
        }
        if happens(oneIn: 2) {
            parts.append("\"colors\": \(object(StyleSheet.Role.allCases.map(\.rawValue)) { $0.paint() })")
        }
        for part in ["blocks", "inlines"] where !happens(oneIn: 3) {
            parts.append(
                "\"\(part)\": "
                    + object(part == "blocks" ? Self.blocks : StyleSheet.InlineSelector.allCases.map(\.name)) {
                        $0.rule(isBlock: part == "blocks")
                    })
        }
        if happens(oneIn: 40) { parts.append("\"\(pick(["colours", "", "blocks"]))\": \(anything())") }
        return "{ \(parts.shuffled(using: &random).joined(separator: ", ")) }"
    }

    private static var blocks: [String] {
        [
            "document", "paragraph", "headings", "heading1", "heading6", "blockQuote", "codeBlock", "lists",
            "orderedList", "bulletList", "item", "thematicBreak", "table", "tableHeader", "tableRow", "tableCell",
            "footnotes", "footnote",
        ]
    }

    /// Some keys appear twice.
    private mutating func object(_ keys: [String], _ value: (inout Self) -> String) -> String {
        let fields = (0..<Int.random(in: 0...4, using: &random)).map { _ in "\"\(pick(keys))\": \(value(&self))" }
        return "{ \(fields.joined(separator: ", ")) }"
    }

    private mutating func rule(isBlock: Bool) -> String {
        let text = [
            "textStyle", "fontSize", "fontDesign", "fontFamily", "fontWeight", "fontWidth", "color", "inlineBackground",
            "kerning", "baseline", "bold", "italic", "underline", "strikethrough",
        ]
        let block = [
            "alignment", "firstLineIndent", "leadingIndent", "trailingIndent", "spacingBefore", "spacingAfter",
            "lineSpacing", "lineHeight", "hyphenation", "marker", "border", "padding", "background",
        ]
        let fields = (0..<Int.random(in: 0...5, using: &random)).map { _ in
            let key = pick(isBlock ? text + block : text)
            return "\"\(happens(oneIn: 200) ? key + "s" : key)\": \(happens(oneIn: 60) ? anything() : value(of: key))"
        }
        return "{ \(fields.joined(separator: ", ")) }"
    }

    private mutating func value(of key: String) -> String {
        switch key {
        case "textStyle": return "\"\(pick(StyleSheet.TextStyle.allCases.map(\.rawValue)))\""
        case "fontDesign": return "\"\(pick(StyleSheet.FontDesign.allCases.map(\.rawValue)))\""
        case "fontWeight": return "\"\(pick(StyleSheet.FontWeight.allCases.map(\.rawValue)))\""
        case "fontWidth": return "\"\(pick(StyleSheet.FontWidth.allCases.map(\.rawValue)))\""
        case "alignment": return "\"\(pick(StyleSheet.Alignment.allCases.map(\.rawValue)))\""
        case "fontFamily": return string()
        case "color", "inlineBackground", "background": return color()
        case "bold", "italic", "underline", "strikethrough", "hyphenation": return pick(["true", "false"])
        case "lineHeight": return number()
        case "marker":
            return happens(oneIn: 3)
                ? "\"none\""
                : happens(oneIn: 2)
                    ? "{ \"bullets\": [\(string()), \(string())] }"
                    : "{ \"numbers\": [\"\(pick(StyleSheet.Numbering.allCases.map(\.rawValue)))\"] }"
        case "border":
            return "{ \"edges\": [\"\(pick(["top", "leading", "bottom", "trailing"]))\"], \"width\": \(length()), "
                + "\"color\": \(color()) }"
        case "padding": return happens(oneIn: 2) ? length() : "{ \"top\": \(length()), \"leading\": \(length()) }"
        default: return length()
        }
    }

    private mutating func number() -> String {
        pick([
            "0", "-0", "1", "0.5", "1.5", "-2", "17", "1e-320", "-1e-9", "1e9", "1e300", "-1e300", "0.1",
            "123456789012345678901",
            "\(Double.random(in: -4...40, using: &random))",
        ])
    }

    private mutating func length() -> String {
        happens(oneIn: 2) ? number() : "\"\(number())\(pick(["em", "pt"]))\""
    }

    private mutating func color() -> String {
        happens(oneIn: 3) ? "\"\(pick(StyleSheet.Role.allCases.map(\.rawValue)))\"" : paint()
    }

    private mutating func paint() -> String {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: "{ \"light\": \(tone()), \"dark\": \(tone()) }"
        case 1: "{ \"light\": \(tone()), \"dark\": \(tone()), \"darkIncreasedContrast\": \(tone()) }"
        case 2: "{ \"name\": \(string()), \"fallback\": { \"light\": \(tone()), \"dark\": \(tone()) } }"
        case 3: "{ \"name\": \(string()) }"
        default: tone()
        }
    }

    private mutating func tone() -> String {
        let byte = String(UInt32.random(in: 0...0xFFFFFF, using: &random) | 0x100_0000, radix: 16).dropFirst()
        return "\""
            + pick([
                "#\(byte)", "#\(byte)7f", "#\(byte)00", "standard",
                "ansi:\(pick(StyleSheet.ANSI.allCases.map(\.rawValue)))",
                "color(display-p3 \(Double.random(in: 0...1, using: &random)) 0 1e-7 / 50%)", "color(display-p3 1 1 1)",
            ]) + "\""
    }

    private mutating func string() -> String {
        "\""
            + pick([
                "Brand", "", "•", "</style>", "\\\\", "\\\"", "\\u0000\\u001b[31m", "\\n", "}", "url(x)", "日本語", "👨‍👩‍👧",
                "\\u202e", String(repeating: "x", count: 300),
            ]) + "\""
    }

    private mutating func anything() -> String {
        pick([
            "null", "true", "-1", "1e999", "[]", "{}", "[[[[[]]]]]", "\"\"", "\"accent\"",
            "{\"light\": {\"light\": {}}}",
            "{\"name\": {\"name\": {}}}", "[\"top\"]", "\"\\ud800\"", "0x10", "12em",
        ])
    }

    /// Returns the text with up to three bytes replaced, removed, inserted, or a piece repeated.
    mutating func mutated(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            let end = min(place + Int.random(in: 1...12, using: &random), bytes.count)
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<end)
            case 2:
                let new: [UInt8] = Array("0123456789\"{}[],:eE+-. \\/#".utf8)
                bytes.insert(new.randomElement(using: &random) ?? 0, at: place)
            default: bytes.insert(contentsOf: bytes[place..<end], at: place)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
