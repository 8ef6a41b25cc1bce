/// Finds the tokens of one code block. Looks at each byte a bounded number of times, and doesn't recurse: the literals whose code is being
/// read are on a stack.
struct CodeLexer {
    let bytes: UnsafeBufferPointer<UInt8>
    let language: Language
    var position = 0
    var tokens: [CodeToken] = []
    /// What each byte may begin.
    private let classes: [Class]
    private let wordBytes: [Bool]
    /// The literals around the current position, outermost first.
    var literals: [Literal] = []
    /// Literals that are nested more deeply have no code in them.
    static let maximalDepth = 50

    enum Class: UInt8 {
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
    struct Literal {
        var form: Language.StringForm
        var quote: UInt8
        var isTripled: Bool
        var hashes: Int
        /// The number of brackets that are open in the code.
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
        // `#` may begin a literal, an attribute or a directive, and brackets count while code in a literal is read.
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
            case .quote: readQuote()
            case .comment: if !readComment() { readSign() }
            case .sign: readSign()
            }
        }
    }

    // MARK: Help

    func byte(at index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

    func has(_ prefix: [UInt8], at index: Int) -> Bool {
        guard index + prefix.count <= bytes.count else { return false }
        for offset in prefix.indices where bytes[index + offset] != prefix[offset] { return false }
        return true
    }

    func isWord(_ byte: UInt8) -> Bool { wordBytes[Int(byte)] }

    func endOfWord(from start: Int) -> Int {
        var end = start
        while end < bytes.count, isWord(bytes[end]) { end &+= 1 }
        return end
    }

    func endOfLine(from start: Int) -> Int {
        var end = start
        while end < bytes.count, bytes[end] != 0x0A { end &+= 1 }
        return end
    }

    func afterSpaces(from start: Int) -> Int {
        var end = start
        while end < bytes.count, bytes[end] == 0x20 || bytes[end] == 0x09 { end &+= 1 }
        return end
    }

    mutating func append(_ range: Range<Int>, _ kind: CodeToken.Kind) {
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
            // After a period, as in `.default`, keywords are names.
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

    /// Reads a key or section at the beginning of a line.
    private mutating func beginLine() {
        guard language.keysBeginLines, literals.isEmpty, let separator = language.keySeparator else { return }
        var start = afterSpaces(from: position)
        // The items of a list in YAML.
        while byte(at: start) == 0x2D, byte(at: start + 1) == 0x20 { start = afterSpaces(from: start + 1) }
        position = start
        if language.hasSections, byte(at: start) == 0x5B {
            let end = endOfLine(from: start)
            var close = start
            while close < end, bytes[close] != 0x5D { close += 1 }
            append(start..<min(close + 1, end), .type)
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
