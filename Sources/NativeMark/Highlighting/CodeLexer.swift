/// Finds the tokens of one code block. Looks at each byte a bounded number of times. It doesn't recurse; instead, a stack holds the
/// literals whose interpolated code is being read.
struct CodeLexer {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let language: Language
    private var position = 0
    private(set) var tokens: [CodeToken] = []
    /// The kind of token that each byte may begin.
    private let classes: [Class]
    private let wordBytes: [Bool]
    /// The literals that enclose the current position, outermost first.
    private var literals: [Literal] = []
    /// Interpolation isn't recognized in literals that are nested more deeply.
    private static let maximalDepth = 50

    private enum Class: UInt8 {
        case other
        case space
        case lineEnd
        case word
        case digit
        case quote
        case comment
        case sign
    }

    /// A literal whose interpolated code is being read.
    private struct Literal {
        var form: Language.StringForm
        var quote: UInt8
        var isTripled: Bool
        var hashes: Int
        /// The number of open brackets in the code.
        var openBrackets = 0
    }

    init(_ bytes: UnsafeBufferPointer<UInt8>, _ language: Language) {
        self.bytes = bytes
        self.language = language
        let classes = Self.classes(of: language)
        self.classes = classes
        wordBytes = (0..<256).map {
            classes[$0] == .word || classes[$0] == .digit || language.wordBytes.contains(UInt8($0))
        }
    }

    private static func classes(of language: Language) -> [Class] {
        var classes = [Class](repeating: .other, count: 256)
        for byte in 0..<256 {
            switch byte {
            case 0x09, 0x0D, 0x20: classes[byte] = .space
            case 0x0A: classes[byte] = .lineEnd
            case 0x30...0x39: classes[byte] = .digit
            case 0x41...0x5A, 0x5F, 0x61...0x7A, 0x80...0xFF: classes[byte] = .word
            default: break
            }
        }
        for comment in language.lineComments { classes[Int(comment[0])] = .comment }
        if let comment = language.blockComment { classes[Int(comment.begin[0])] = .comment }
        for quote in language.strings.keys { classes[Int(quote)] = .quote }
        // `#` may begin a literal, an attribute or a directive. Brackets are counted while interpolated code is read.
        for sign in [0x23, 0x24, 0x28, 0x29, 0x7B, 0x7D, 0x5B, 0x40] where classes[sign] == .other {
            classes[sign] = .sign
        }
        return classes
    }

    mutating func run() {
        switch language.form {
        case .code: readCode()
        case .markup: readMarkup()
        case .diff: readDiff()
        }
    }

    private mutating func readCode() {
        beginLine()
        while position < bytes.count {
            switch classes[Int(bytes[position])] {
            case .other, .space: position &+= 1
            case .lineEnd:
                position &+= 1
                endLiteralsOfLine()
                beginLine()
            case .word: readWord()
            case .digit: readNumber()
            case .quote: readString(from: position)
            case .comment: if !readComment() { readSign() }
            case .sign: readSign()
            }
        }
    }

    // MARK: Helpers

    private func byte(at index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

    private func has(_ prefix: [UInt8], at index: Int) -> Bool {
        guard index + prefix.count <= bytes.count else { return false }
        for offset in prefix.indices where bytes[index + offset] != prefix[offset] { return false }
        return true
    }

    private func isWord(_ byte: UInt8) -> Bool { wordBytes[Int(byte)] }

    /// Returns the first position from `start` on whose byte doesn't satisfy a condition.
    @inline(__always) private func end(from start: Int, while condition: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, condition(bytes[end]) { end &+= 1 }
        return end
    }

    private func endOfWord(from start: Int) -> Int { end(from: start, while: isWord) }

    private func endOfLine(from start: Int) -> Int { end(from: start) { $0 != 0x0A } }

    private func afterSpaces(from start: Int) -> Int { end(from: start) { $0 == 0x20 || $0 == 0x09 } }

    private mutating func append(_ range: Range<Int>, _ kind: CodeToken.Kind) {
        if !range.isEmpty { tokens.append(CodeToken(range, kind)) }
    }

    // MARK: Words and numbers

    private mutating func readWord() {
        let start = position
        let end = endOfWord(from: start)
        position = end
        if end < bytes.count, classes[Int(bytes[end])] == .quote || bytes[end] == 0x23, readPrefixedString(start..<end)
        {
            return
        }
        if let kind = kind(of: start..<end) { append(start..<end, kind) }
    }

    private func kind(of range: Range<Int>) -> CodeToken.Kind? {
        if let separator = language.keySeparator, !language.keysBeginLines {
            let next = afterSpaces(from: range.upperBound)
            if byte(at: next) == separator { return .key }
        }
        let isCall = language.marksCalls && byte(at: range.upperBound) == 0x28
        if range.count <= Language.Word.maximumLength {
            let word = Language.Word(bytes, range, ignoringCase: language.ignoresCase)
            // After a period, as in `.default`, keywords are ordinary names.
            let isMember = range.lowerBound > 0 && bytes[range.lowerBound - 1] == 0x2E
            if !isMember {
                if language.keywords.contains(word) { return .keyword }
                if language.constants.contains(word) { return .constant }
            }
            if language.types.contains(word) { return .type }
        }
        if language.capitalsAreTypes, 0x41...0x5A ~= bytes[range.lowerBound] { return .type }
        return isCall ? .function : nil
    }

    private mutating func readNumber() {
        let start = position
        let isHexadecimal = bytes[start] == 0x30 && byte(at: start + 1) | 0x20 == 0x78
        while position < bytes.count {
            let byte = bytes[position]
            if byte == 0x2E {
                // `1..<2` and `1.description` end before the period.
                guard 0x30...0x39 ~= self.byte(at: position + 1) else { break }
            } else if byte == 0x2B || byte == 0x2D {
                guard !isHexadecimal, bytes[position - 1] | 0x20 == 0x65 else { break }
            } else if byte >= 0x80 || !(0x30...0x39 ~= byte || 0x41...0x5A ~= byte & 0xDF || byte == 0x5F) {
                break
            }
            position &+= 1
        }
        append(start..<position, .number)
    }

    // MARK: Lines

    /// Reads a key or section header at the beginning of a line.
    private mutating func beginLine() {
        guard language.keysBeginLines, literals.isEmpty, let separator = language.keySeparator else { return }
        var start = afterSpaces(from: position)
        // Skips the markers of YAML list items.
        while byte(at: start) == 0x2D, byte(at: start + 1) == 0x20 { start = afterSpaces(from: start + 1) }
        position = start
        if language.hasSections, byte(at: start) == 0x5B {
            let end = endOfLine(from: start)
            append(start..<min(self.end(from: start) { $0 != 0x5D && $0 != 0x0A } + 1, end), .type)
            position = end
            return
        }
        let end = endOfWord(from: start)
        let next = afterSpaces(from: end)
        // In YAML, `a:b` is one word.
        let after = byte(at: next + 1)
        guard end > start, byte(at: next) == separator, separator != 0x3A || after <= 0x20 else { return }
        append(start..<end, .key)
        position = next
    }

    private mutating func readDiff() {
        while position < bytes.count {
            let end = endOfLine(from: position)
            switch bytes[position] {
            case 0x2B: append(position..<end, .inserted)
            case 0x2D: append(position..<end, .deleted)
            case 0x40: append(position..<end, .attribute)
            case 0x64, 0x69, 0x49: append(position..<end, .comment)
            default: break
            }
            position = end + 1
        }
    }
}

// MARK: - Literals, signs and comments

extension CodeLexer {
    /// Reads a literal after a prefix such as `r` or `r#`. Returns `false` if there is no literal.
    private mutating func readPrefixedString(_ prefix: Range<Int>) -> Bool {
        guard prefix.count <= 3,
            prefix.allSatisfy({ language.stringPrefixes.contains(bytes[$0]) || bytes[$0] == 0x72 }),
            !language.stringPrefixes.isEmpty
        else { return false }
        let quote =
            language.hasHashedStrings ? end(from: prefix.upperBound) { $0 == 0x23 } : prefix.upperBound
        let hashes = quote - prefix.upperBound
        guard hashes == 0 || hasRaw(prefix), language.strings[byte(at: quote)] != nil else { return false }
        position = quote
        readString(from: prefix.lowerBound, prefix: prefix, hashes: hashes)
        return true
    }

    private func hasRaw(_ prefix: Range<Int>) -> Bool { prefix.contains { bytes[$0] | 0x20 == 0x72 } }

    /// Reads a literal. Its quotation mark is at the current position, and its prefix of letters and `#` begins at `start`.
    private mutating func readString(from start: Int, prefix: Range<Int> = 0..<0, hashes: Int = 0) {
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

    /// Reads a Rust lifetime such as `'a`. Returns `false` for the literal `'a'`.
    private mutating func readLifetime() -> Bool {
        let end = endOfWord(from: position + 1)
        guard end > position + 1, byte(at: end) != 0x27 else { return false }
        append(position..<end, .attribute)
        position = end
        return true
    }

    /// Reads the rest of a literal, up to its end or the beginning of interpolated code. The token begins at `start`.
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
            // In Python, `{{` is a literal brace.
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

    /// Counts a bracket in interpolated code. An unmatched closing bracket ends the code.
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

    /// Ends single-line literals, and the code in them, at the end of a line.
    private mutating func endLiteralsOfLine() {
        guard let index = literals.firstIndex(where: { !$0.form.spansLines }) else { return }
        literals.removeSubrange(index...)
    }

    // MARK: Signs

    private mutating func readSign() {
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
        let quote = end(from: position) { $0 == 0x23 }
        guard byte(at: quote) == 0x22 else {
            position = quote - 1  // The last one may begin a directive.
            return false
        }
        let start = position
        position = quote
        readString(from: start, hashes: quote - start)
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
            position = min(end(from: start + 2) { $0 != 0x7D && $0 != 0x0A } + 1, bytes.count)
        } else if isWord(next) || next == 0x40 || next == 0x3F || next == 0x23 || next == 0x21 {
            position = isWord(next) ? end(from: start + 1) { isWord($0) && $0 != 0x2D } : start + 2
        } else {
            position += 1
            return
        }
        append(start..<position, .variable)
    }

    /// Reads an attribute such as `#[derive(Debug)]` or `#![no_std]`.
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
    private mutating func readComment() -> Bool {
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

// MARK: - HTML and XML

extension CodeLexer {
    private static let commentBegin = Array("<!--".utf8)
    private static let commentEnd = Array("-->".utf8)
    private static let dataBegin = Array("<![CDATA[".utf8)
    private static let dataEnd = Array("]]>".utf8)

    private mutating func readMarkup() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x3C: readTag()
            case 0x26: readEntity()
            default: position += 1
            }
        }
    }

    private mutating func readTag() {
        let start = position
        if has(Self.commentBegin, at: start) {
            skip(past: Self.commentEnd)
            return append(start..<position, .comment)
        }
        if has(Self.dataBegin, at: start) {
            skip(past: Self.dataEnd)
            return append(start..<position, .string)
        }
        position += 1
        let sign = byte(at: position)
        if sign == 0x2F || sign == 0x21 || sign == 0x3F { position += 1 }
        let end = endOfName(from: position)
        guard end > position else { return }
        append(start..<end, sign == 0x21 || sign == 0x3F ? .attribute : .keyword)
        position = end
        readAttributes()
    }

    private mutating func readAttributes() {
        while position < bytes.count {
            let start = position
            switch bytes[start] {
            case 0x3E:
                position += 1
                return append(start..<position, .keyword)
            case 0x3C: return
            case 0x22, 0x27:
                position = min(end(from: start + 1) { $0 != bytes[start] } + 1, bytes.count)
                append(start..<position, .string)
            default:
                position = max(endOfName(from: start), start + 1)
                if position > start + 1 || isName(bytes[start]) {
                    append(start..<position, byte(at: afterSpaces(from: position)) == 0x3D ? .key : .attribute)
                }
            }
        }
    }

    private mutating func readEntity() {
        let start = position
        var end = start + 1
        while end < bytes.count, end - start < 32, isName(bytes[end]) || bytes[end] == 0x23 { end += 1 }
        position = byte(at: end) == 0x3B ? end + 1 : start + 1
        if position > start + 2 { append(start..<position, .constant) }
    }

    private mutating func skip(past end: [UInt8]) {
        while position < bytes.count, !has(end, at: position) { position += 1 }
        position = min(position + end.count, bytes.count)
    }

    private func isName(_ byte: UInt8) -> Bool {
        isWord(byte) || byte == 0x2D || byte == 0x3A || byte == 0x2E
    }

    private func endOfName(from start: Int) -> Int { end(from: start, while: isName) }
}
