extension Document {
    /// Returns Markdown that shows a text literally wherever text may occur: in a paragraph, a heading, a table cell or a link's text.
    ///
    ///     Document("Hello **\(Document.escaped(name))**")      // `*x*` or `[a](b)` in a name isn't markup
    ///     Document(Document.escaped(text)).root.plainText      // text
    ///
    /// Punctuation gets a backslash. White space that Markdown would drop becomes a numeric entity, and so does U+FEFF; line feeds don't begin a new line of
    /// Markdown. U+0000 becomes U+FFFD, as in every document. Don't use the result in code, where backslashes show, or in addresses;
    /// ``init(localized:in:languages:arguments:options:)`` handles both. O(n).
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
            // The info string of a fenced code block can't contain a backtick, even after a backslash. A backslash at the end of a table
            // cell would escape the cell's delimiter.
            case 0x60, 0x5C: result += "&#\(scalar.value);"
            case 0x21...0x2F, 0x3A...0x40, 0x5B, 0x5D...0x5F, 0x7B...0x7E:
                result += "\\"
                result.unicodeScalars.append(scalar)
            // A byte order mark at the beginning of a text isn't part of it.
            case 0xFEFF: result += "&#\(scalar.value);"
            // An opening delimiter of emphasis isn't recognized before white space.
            case 0x80... where scalar.properties.isWhitespace: result += "&#\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
            last = scalar
        }
        return result
    }
}
