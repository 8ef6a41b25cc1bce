/// What a lexer has to know about a language.
struct Language: Sendable {
    /// The parts of the lexer that read the text.
    enum Form: Sendable {
        case code
        case markup
        case diff
    }

    var form = Form.code
    var keywords: Set<Word> = []
    var types: Set<Word> = []
    var constants: Set<Word> = []
    var ignoresCase = false
    /// The bytes that begin a comment to the end of the line: one or two bytes each.
    var lineComments: [[UInt8]] = []
    /// Whether a line comment begins only after a space or at the beginning of a line.
    var commentsBeginWords = false
    /// The begin and the end of other comments, and whether they can be nested.
    var blockComment: (begin: [UInt8], end: [UInt8], isNested: Bool)?
    /// The literals by their quotation mark.
    var strings: [UInt8: StringForm] = [:]
    /// The letters that may precede a quotation mark, such as `rb` in Python. With `r` or `R`, backslashes aren't escapes.
    var stringPrefixes: [UInt8] = []
    /// `#"…"#`, where backslashes are escapes only before as many `#`. In Rust, an `r` precedes.
    var hasHashedStrings = false
    /// Whether a word that begins with an uppercase letter is a type.
    var capitalsAreTypes = false
    /// Whether a word before a parenthesis is a function.
    var marksCalls = true
    /// The byte before annotations: `@` in most languages.
    var attributePrefix: UInt8?
    /// Whether `#` begins a directive, such as `#include`.
    var hasDirectives = false
    /// Rust's `#[…]`.
    var hasBracketedAttributes = false
    /// Whether `$name` and `${name}` are variables.
    var hasVariables = false
    /// Whether a quotation mark before a word without one after it is a lifetime.
    var hasLifetimes = false
    /// The byte after keys: `:` or `=`.
    var keySeparator: UInt8?
    /// Where keys are words: only at the beginning of a line. Otherwise everywhere.
    var keysBeginLines = false
    /// Whether a line in brackets is a section.
    var hasSections = false
    /// Bytes other than letters, digits and `_` that words may contain.
    var wordBytes: [UInt8] = []

    /// How a literal ends, and what is special in it.
    struct StringForm: Sendable {
        var spansLines = false
        /// Whether three quotation marks begin a literal of several lines.
        var mayBeTripled = false
        var hasEscapes = true
        /// The code in a literal. `interpolationPrefix` is the letter before a literal that has any.
        var interpolation: Interpolation?
        var interpolationPrefix: UInt8?
    }

    /// The bytes that begin code in a literal, and the bytes that nest in it and end it.
    struct Interpolation: Sendable {
        /// For `\(`: an escape.
        var isEscape = false
        var begin: [UInt8]
        var open: UInt8
        var close: UInt8

        static let backslash = Self(isEscape: true, begin: Array("\\(".utf8), open: 0x28, close: 0x29)
        static let dollar = Self(begin: Array("${".utf8), open: 0x7B, close: 0x7D)
        static let hash = Self(begin: Array("#{".utf8), open: 0x7B, close: 0x7D)
        static let brace = Self(begin: Array("{".utf8), open: 0x7B, close: 0x7D)
        static let shell = Self(begin: Array("$(".utf8), open: 0x28, close: 0x29)
    }

    /// A word of at most 16 bytes in two integers, which is faster to look up than a string.
    struct Word: Hashable, Sendable {
        var first: UInt64 = 0
        var second: UInt64 = 0

        static let maximumLength = 16

        @inline(__always)
        init(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, ignoringCase: Bool) {
            for index in range {
                var byte = UInt64(bytes[index])
                if ignoringCase, 0x41...0x5A ~= byte { byte |= 0x20 }
                second = second << 8 | first >> 56
                first = first << 8 | byte
            }
        }

        init(_ word: Substring) {
            precondition(
                word.utf8.count <= Self.maximumLength, "A word of a language must have at most 16 bytes: \(word)")
            for byte in word.utf8 {
                second = second << 8 | first >> 56
                first = first << 8 | UInt64(byte)
            }
        }
    }

    static func words(_ list: String) -> Set<Word> {
        Set(list.split(whereSeparator: \.isWhitespace).map { Word($0) })
    }

    // MARK: Names

    static func named(_ name: String) -> Language? {
        let end = name.utf8.firstIndex { $0 == 0x2C || $0 == 0x7B } ?? name.endIndex
        return byName[String(name[..<end]).lowercased()]
    }

    /// Short names, and the language of each.
    static let byName: [String: Language] = {
        let languages: [(String, Language)] = [
            ("c h cpp c++ cc cxx hpp objc objective-c m mm", .c), ("csharp cs c#", .cSharp), ("css scss less", .css),
            ("diff patch", .diff), ("go golang", .go), ("html xml svg xhtml plist vue", .markup), ("java", .java),
            ("javascript js jsx mjs cjs typescript ts tsx", .javaScript), ("json jsonc json5 jsonl", .json),
            ("kotlin kt kts", .kotlin), ("php", .php), ("python py python3", .python), ("ruby rb", .ruby),
            ("rust rs", .rust), ("sh shell bash zsh console", .shell), ("sql sqlite postgresql mysql", .sql),
            ("swift", .swift), ("toml ini conf", .toml), ("yaml yml", .yaml),
        ]
        var result: [String: Language] = [:]
        for (names, language) in languages {
            for name in names.split(separator: " ") { result[String(name)] = language }
        }
        return result
    }()
}
