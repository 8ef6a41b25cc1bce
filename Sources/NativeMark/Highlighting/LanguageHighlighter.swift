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
