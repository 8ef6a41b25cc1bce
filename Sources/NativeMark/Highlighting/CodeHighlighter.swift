/// Finds the keywords, strings, comments and so on in code blocks. A style sheet gives each kind of token its style.
///
///     let text = StyledText(document, highlighter: .languages)
///
/// ``LanguageHighlighter`` knows the common languages. Write your own for others, or around a full parser:
///
///     struct ConfigurationHighlighter: CodeHighlighter {
///         func tokens(in code: String, language: String) -> [CodeToken] {
///             guard language == "conf" else { return LanguageHighlighter().tokens(in: code, language: language) }
///             var tokens: [CodeToken] = []
///             var start = 0
///             for line in code.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
///                 if line.first == UInt8(ascii: ";") { tokens.append(CodeToken(start..<start + line.count, .comment)) }
///                 start += line.count + 1
///             }
///             return tokens
///         }
///     }
public protocol CodeHighlighter: Sendable {
    /// Returns the tokens to style, in any order.
    ///
    /// `code` is the text of a code block as it is shown. `language` is the first word after the opening fence without the prefix
    /// `language-`, or an empty string. If tokens overlap, the common part belongs to the one that begins first.
    func tokens(in code: String, language: String) -> [CodeToken]
}

/// A part of a code block and its kind.
public struct CodeToken: Sendable, Hashable {
    /// The range in the code, as UTF-8 offsets. It is clamped to the code and rounded down to whole scalars.
    public var range: Range<Int>
    /// The kind, which determines the style: see ``StyleSheet/InlineSelector/token(_:)``.
    public var kind: Kind

    /// Creates a token.
    public init(_ range: Range<Int>, _ kind: Kind) {
        self.range = range
        self.kind = kind
    }

    /// The kinds of tokens that a style sheet can style.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A reserved word, or the name of a markup element.
        case keyword
        /// A type.
        case type
        /// A function where it is declared or called.
        case function
        /// A literal in quotation marks.
        case string
        /// A number.
        case number
        /// A constant of the language, such as `true` and `nil`.
        case constant
        /// A comment.
        case comment
        /// An annotation such as `@main`, or a directive such as `#include`.
        case attribute
        /// A variable with a sigil, such as `$HOME`.
        case variable
        /// A key or property before its value.
        case key
        /// An added line of a diff.
        case inserted
        /// A removed line of a diff.
        case deleted
    }
}

extension CodeHighlighter {
    /// Returns the tokens of a block in order and without overlaps. `word` is the first word after the fence.
    func tokens(in code: String, ofBlock word: String) -> [CodeToken] {
        tokens(in: code, language: word.hasPrefix("language-") ? String(word.dropFirst(9)) : word).cut(to: code)
    }
}

extension String {
    /// The language that an info string names. It ends at every character that separates classes in HTML, as in cmark: `&#10;` in an info
    /// string is a line feed.
    var firstWordOfInfo: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        return String(Substring(utf8.drop(while: isSpace).prefix { !isSpace($0) }))
    }
}

extension [CodeToken] {
    /// Returns the tokens sorted, clamped to whole scalars of the code, and without overlaps. If two overlap, the common part belongs to
    /// the one that begins first.
    func cut(to code: String) -> [CodeToken] {
        var code = code
        let sorted = isSorted ? self : self.sorted { $0.range.lowerBound < $1.range.lowerBound }
        return code.withUTF8 { bytes in
            func roundedDown(_ offset: Int) -> Int {
                var offset = Swift.min(Swift.max(offset, 0), bytes.count)
                while offset > 0, offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset -= 1 }
                return offset
            }
            var result: [CodeToken] = []
            result.reserveCapacity(sorted.count)
            var last = 0
            for token in sorted {
                let start = Swift.max(roundedDown(token.range.lowerBound), last)
                let end = roundedDown(token.range.upperBound)
                guard start < end else { continue }
                result.append(CodeToken(start..<end, token.kind))
                last = end
            }
            return result
        }
    }

    private var isSorted: Bool {
        zip(self, dropFirst()).allSatisfy { $0.range.lowerBound <= $1.range.lowerBound }
    }
}

// MARK: - The common languages

/// A highlighter for the common languages, by their names or the usual endings of their files.
///
///     let text = StyledText(document, highlighter: .languages)
///
/// | language | names |
/// |---|---|
/// | C, C++, Objective-C | `c`, `h`, `cpp`, `c++`, `cc`, `cxx`, `hpp`, `objc`, `objective-c`, `m`, `mm` |
/// | C# | `csharp`, `cs`, `c#` |
/// | CSS | `css`, `scss`, `less` |
/// | Diffs | `diff`, `patch` |
/// | Go | `go`, `golang` |
/// | HTML and XML | `html`, `xml`, `svg`, `xhtml`, `plist`, `vue` |
/// | Java | `java` |
/// | JavaScript and TypeScript | `javascript`, `js`, `jsx`, `mjs`, `cjs`, `typescript`, `ts`, `tsx` |
/// | JSON | `json`, `jsonc`, `json5`, `jsonl` |
/// | Kotlin | `kotlin`, `kt`, `kts` |
/// | PHP | `php` |
/// | Python | `python`, `py`, `python3` |
/// | Ruby | `ruby`, `rb` |
/// | Rust | `rust`, `rs` |
/// | Shell | `sh`, `shell`, `bash`, `zsh`, `console` |
/// | SQL | `sql`, `sqlite`, `postgresql`, `mysql` |
/// | Swift | `swift` |
/// | TOML and INI | `toml`, `ini`, `conf` |
/// | YAML | `yaml`, `yml` |
///
/// Case doesn't matter, and a suffix after a comma or brace is ignored (`rust,ignore`). Code in other languages has no tokens.
///
/// It reads the code from left to right and never fails: it knows comments, strings with their interpolations, numbers and words, but no
/// grammar, so it also works for a part of a program. It doesn't recognize regular expressions and here documents. Takes time and memory
/// linear in the length of the code.
public struct LanguageHighlighter: CodeHighlighter {
    /// Creates a highlighter.
    public init() {}

    /// Returns the tokens in order and without overlaps. There are none if the language is unknown.
    public func tokens(in code: String, language: String) -> [CodeToken] {
        guard let language = Language.named(language) else { return [] }
        var code = code
        return code.withUTF8 { bytes in
            var lexer = CodeLexer(bytes, language)
            lexer.run()
            return lexer.tokens
        }
    }
}

extension CodeHighlighter where Self == LanguageHighlighter {
    /// The highlighter for the common languages.
    public static var languages: LanguageHighlighter { LanguageHighlighter() }
}
