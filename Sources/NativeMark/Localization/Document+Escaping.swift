extension Document {
    /// A text as Markdown that shows this text, wherever text may stand: in a paragraph, a heading, a cell, a link's text.
    ///
    ///     Document("Hello **\(Document.escaped(name))**")      // a name such as `*x*` or `[a](b)` is no markup
    ///     Document(Document.escaped(text)).root.plainText      // text
    ///
    /// Punctuation gets a backslash, and white space that Markdown would take away is written as a number. Line feeds stay what
    /// they are, without beginning a new line of Markdown. U+0000 becomes U+FFFD, as in every document. Not for code, where
    /// backslashes show, nor for addresses: ``init(localized:in:languages:arguments:options:)`` does those as well. Linear.
    public static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count * 2)
        var last: Unicode.Scalar = "\n"
        let scalars = text.unicodeScalars
        for index in scalars.indices {
            let scalar = scalars[index]
            switch scalar.value {
            case 0x20:
                let after = scalars.index(after: index)
                let isInside = last.value > 0x20 && after < scalars.endIndex && scalars[after].value > 0x20
                result += isInside ? " " : "&#32;"
            case 0x01..<0x20: result += "&#\(scalar.value);"
            // A backslash does not hide a backtick from the first line of a block of code, which has none; and one in front of
            // the end of a cell would hide that.
            case 0x60, 0x5C: result += "&#\(scalar.value);"
            case 0x21...0x2F, 0x3A...0x40, 0x5B, 0x5D...0x5F, 0x7B...0x7E:
                result += "\\"
                result.unicodeScalars.append(scalar)
            // Emphasis does not begin in front of white space.
            case 0x80... where scalar.properties.isWhitespace: result += "&#\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
            last = scalar
        }
        return result
    }
}
