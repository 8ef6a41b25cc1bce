/// Literals, the code in them, and comments.
extension CodeLexer {
    mutating func readQuote() {
        readString(from: position, prefix: 0..<0, hashes: 0)
    }

    /// Reads a literal after letters such as `r`, or after `#`. Returns `false` if it is none.
    mutating func readPrefixedString(_ prefix: Range<Int>) -> Bool {
        guard prefix.count <= 3,
            prefix.allSatisfy({ language.stringPrefixes.contains(bytes[$0]) || bytes[$0] == 0x72 }),
            !language.stringPrefixes.isEmpty
        else { return false }
        var quote = prefix.upperBound
        if language.hasHashedStrings { while byte(at: quote) == 0x23 { quote += 1 } }
        let hashes = quote - prefix.upperBound
        guard hashes == 0 || hasRaw(prefix), language.strings[byte(at: quote)] != nil else { return false }
        position = quote
        readString(from: prefix.lowerBound, prefix: prefix, hashes: hashes)
        return true
    }

    private func hasRaw(_ prefix: Range<Int>) -> Bool { prefix.contains { bytes[$0] | 0x20 == 0x72 } }

    /// Reads a literal whose quotation mark is at the current position, after letters and `#` from `start` on.
    private mutating func readString(from start: Int, prefix: Range<Int>, hashes: Int) {
        let quote = bytes[position]
        guard var form = language.strings[quote] else {
            position += 1
            return
        }
        if language.hasLifetimes, quote == 0x27, prefix.isEmpty, readLifetime() { return }
        let isTripled = form.mayBeTripled && byte(at: position + 1) == quote && byte(at: position + 2) == quote
        if isTripled { form.spansLines = true }
        if hasRaw(prefix) { form.hasEscapes = false }
        if let letter = form.interpolationPrefix, !prefix.contains(where: { bytes[$0] | 0x20 == letter }) {
            form.interpolation = nil
        }
        position += isTripled ? 3 : 1
        readLiteral(Literal(form: form, quote: quote, isTripled: isTripled, hashes: hashes), from: start)
    }

    /// `'a` in Rust, unless it is the literal `'a'`.
    private mutating func readLifetime() -> Bool {
        let end = endOfWord(from: position + 1)
        guard end > position + 1, byte(at: end) != 0x27 else { return false }
        append(position..<end, .attribute)
        position = end
        return true
    }

    /// Reads the rest of a literal, up to its end or the beginning of code in it. The token begins at `start`.
    private mutating func readLiteral(_ literal: Literal, from start: Int) {
        let form = literal.form
        while position < bytes.count {
            let byte = bytes[position]
            if byte == literal.quote, endsLiteral(literal) {
                position += (literal.isTripled ? 3 : 1) + literal.hashes
                break
            }
            if byte == 0x0A, !form.spansLines { break }
            if let code = form.interpolation, begins(code, in: literal) {
                append(start..<position, .string)
                position += code.begin.count + (code.isEscape ? literal.hashes : 0)
                literals.append(literal)
                return
            }
            let next = self.byte(at: position + 1)
            // `{{` is a brace in Python.
            let isBrace = form.interpolation?.begin == [byte] && next == byte
            let isEscape = byte == 0x5C && form.hasEscapes && literal.hashes == 0 && next != 0x0A
            position += isBrace || isEscape ? 2 : 1
        }
        position = min(position, bytes.count)
        // A literal before a colon is a key.
        let isKey =
            literals.isEmpty && language.keySeparator.map { self.byte(at: afterSpaces(from: position)) == $0 } == true
        append(start..<position, isKey ? .key : .string)
    }

    private func endsLiteral(_ literal: Literal) -> Bool {
        var index = position + 1
        if literal.isTripled {
            guard byte(at: index) == literal.quote, byte(at: index + 1) == literal.quote else { return false }
            index += 2
        }
        for offset in 0..<literal.hashes where byte(at: index + offset) != 0x23 { return false }
        return true
    }

    private func begins(_ code: Language.Interpolation, in literal: Literal) -> Bool {
        guard bytes[position] == code.begin[0], literals.count < Self.maximalDepth else { return false }
        if code.isEscape {
            for offset in 0..<literal.hashes where byte(at: position + 1 + offset) != 0x23 { return false }
            return byte(at: position + 1 + literal.hashes) == code.begin[1]
        }
        return has(code.begin, at: position) && !(code.begin.count == 1 && byte(at: position + 1) == code.begin[0])
    }

    /// Counts a bracket in the code of a literal. The last one ends the code.
    private mutating func countBracket(_ byte: UInt8) {
        position += 1
        guard var literal = literals.last, let code = literal.form.interpolation else { return }
        if byte == code.open {
            literals[literals.count - 1].openBrackets += 1
        } else if byte == code.close {
            literals[literals.count - 1].openBrackets -= 1
            guard literal.openBrackets == 0 else { return }
            literals.removeLast()
            literal.openBrackets = 0
            readLiteral(literal, from: position)
        }
    }

    /// Code in a literal of one line ends with the line.
    mutating func endLiteralsOfLine() {
        guard let index = literals.firstIndex(where: { !$0.form.spansLines }) else { return }
        literals.removeSubrange(index...)
    }

    // MARK: Signs

    mutating func readSign() {
        let byte = bytes[position]
        switch byte {
        case 0x28, 0x29, 0x7B, 0x7D: countBracket(byte)
        case 0x23 where language.hasHashedStrings && language.stringPrefixes.isEmpty && readHashes(): break
        case 0x23
        where language.hasBracketedAttributes
            && (self.byte(at: position + 1) == 0x5B || self.byte(at: position + 1) == 0x21):
            readBracketedAttribute()
        case 0x23 where language.hasDirectives: readName(.attribute)
        case 0x40 where language.attributePrefix == 0x40: readName(.attribute)
        case 0x24 where language.hasVariables: readVariable()
        default: position += 1
        }
    }

    private mutating func readHashes() -> Bool {
        var quote = position
        while byte(at: quote) == 0x23 { quote += 1 }
        guard byte(at: quote) == 0x22 else {
            position = quote - 1  // The last one may begin a directive.
            return false
        }
        let start = position
        position = quote
        readString(from: start, prefix: 0..<0, hashes: quote - start)
        return true
    }

    /// Reads a sign and the word after it. Spaces may separate them, as in `# include`.
    private mutating func readName(_ kind: CodeToken.Kind) {
        let start = position
        let first = kind == .attribute && bytes[start] == 0x23 ? afterSpaces(from: start + 1) : start + 1
        let end = endOfWord(from: first)
        position = max(end, start + 1)
        if end > first { append(start..<end, kind) }
    }

    private mutating func readVariable() {
        let start = position
        let next = byte(at: start + 1)
        if next == 0x7B {
            var end = start + 2
            while end < bytes.count, bytes[end] != 0x7D, bytes[end] != 0x0A { end += 1 }
            position = min(end + 1, bytes.count)
        } else if isWord(next) || next == 0x40 || next == 0x3F || next == 0x23 || next == 0x21 {
            position = isWord(next) ? endOfVariable(from: start + 1) : start + 2
        } else {
            position += 1
            return
        }
        append(start..<position, .variable)
    }

    private func endOfVariable(from start: Int) -> Int {
        var end = start
        while end < bytes.count, isWord(bytes[end]), bytes[end] != 0x2D { end += 1 }
        return end
    }

    /// `#[derive(Debug)]` and `#![no_std]`.
    private mutating func readBracketedAttribute() {
        let start = position
        var depth = 0
        while position < bytes.count {
            if bytes[position] == 0x5B { depth += 1 }
            if bytes[position] == 0x5D { depth -= 1 }
            position += 1
            if depth == 0, bytes[position - 1] == 0x5D || bytes[position - 1] == 0x0A { break }
        }
        append(start..<position, .attribute)
    }

    // MARK: Comments

    /// Returns `false` if no comment begins here.
    mutating func readComment() -> Bool {
        let start = position
        let follows = start == 0 || bytes[start - 1] <= 0x20 || bytes[start - 1] == 0x3B
        if !language.commentsBeginWords || follows, language.lineComments.contains(where: { has($0, at: start) }),
            !(language.hasBracketedAttributes && has([0x23, 0x5B], at: start))
        {
            position = endOfLine(from: start)
            append(start..<position, .comment)
            return true
        }
        guard let comment = language.blockComment, has(comment.begin, at: start) else {
            return false
        }
        position += comment.begin.count
        var depth = 1
        while position < bytes.count, depth > 0 {
            if has(comment.end, at: position) {
                depth -= 1
                position += comment.end.count
            } else if comment.isNested, has(comment.begin, at: position) {
                depth += 1
                position += comment.begin.count
            } else {
                position += 1
            }
        }
        append(start..<position, .comment)
        return true
    }
}
