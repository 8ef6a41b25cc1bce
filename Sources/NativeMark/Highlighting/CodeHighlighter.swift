/// Finds keywords, strings, comments and other tokens in code blocks. A style sheet defines a style for each kind of token.
///
///     let text = StyledText(document, highlighter: .languages)
///
/// ``LanguageHighlighter`` supports common languages. Write your own highlighter for other languages, or to use a full parser:
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
    /// `code` is the text of a code block as it is displayed. `language` is the first word after the opening fence, without the prefix
    /// `language-`, or an empty string. If tokens overlap, the overlap belongs to the one that begins first.
    func tokens(in code: String, language: String) -> [CodeToken]
}

/// A part of a code block and its kind.
public struct CodeToken: Sendable, Hashable {
    /// The range in the code, as UTF-8 offsets. It is clamped to the code, and its bounds are rounded down to scalar boundaries.
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
        /// The name of a function in a declaration or call.
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
    /// The first word of an info string, which names the language. It ends at any character that separates classes in HTML, as in cmark. An
    /// info string can contain a line feed, written as `&#10;`.
    var firstWordOfInfo: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        return String(Substring(utf8.drop(while: isSpace).prefix { !isSpace($0) }))
    }
}

extension [CodeToken] {
    /// Returns the tokens sorted, clamped to the code, rounded to scalar boundaries, and without overlaps. If two tokens overlap, the
    /// overlap belongs to the one that begins first.
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

/// A highlighter for common languages. It accepts their names and their usual file extensions.
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
/// The highlighter reads the code from left to right and never fails. It recognizes comments, strings with their interpolations, numbers
/// and words. It doesn't know any grammar, so it also works for parts of programs. It doesn't recognize regular expressions or here
/// documents. Takes time and memory linear in the length of the code.
public struct LanguageHighlighter: CodeHighlighter {
    /// Creates a highlighter.
    public init() {}

    /// Returns the tokens in order and without overlaps. For an unknown language, there are none.
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
    /// The highlighter for common languages.
    public static var languages: LanguageHighlighter { LanguageHighlighter() }
}
