/// The lexical rules of a language.
struct Language: Sendable {
    /// The part of the lexer that reads the code.
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
    /// The bytes that begin a comment that extends to the end of the line: one or two bytes each.
    var lineComments: [[UInt8]] = []
    /// Whether a line comment begins only at the beginning of a line, or after white space or a semicolon.
    var commentsBeginWords = false
    /// The delimiters of other comments, and whether the comments can be nested.
    var blockComment: (begin: [UInt8], end: [UInt8], isNested: Bool)?
    /// The forms of literals, by quotation mark.
    var strings: [UInt8: StringForm] = [:]
    /// The letters that may precede a quotation mark, such as `rb` in Python. With `r` or `R`, backslashes aren't escapes.
    var stringPrefixes: [UInt8] = []
    /// Whether literals can have the form `#"…"#`, where a backslash is an escape only before the same number of `#`. In Rust, an `r`
    /// precedes them.
    var hasHashedStrings = false
    /// Whether a word that begins with an uppercase letter is a type.
    var capitalsAreTypes = false
    /// Whether a word before a parenthesis is a function.
    var marksCalls = true
    /// The byte that begins an annotation: `@` in most languages.
    var attributePrefix: UInt8?
    /// Whether `#` begins a directive, such as `#include`.
    var hasDirectives = false
    /// Whether `#[…]` is an attribute, as in Rust.
    var hasBracketedAttributes = false
    /// Whether `$name` and `${name}` are variables.
    var hasVariables = false
    /// Whether a quotation mark before a word begins a lifetime if no quotation mark follows the word.
    var hasLifetimes = false
    /// The byte that follows a key: `:` or `=`.
    var keySeparator: UInt8?
    /// Whether keys occur only at the beginning of a line.
    var keysBeginLines = false
    /// Whether a line in brackets is a section.
    var hasSections = false
    /// The bytes that words may contain in addition to letters, digits and `_`.
    var wordBytes: [UInt8] = []

    /// Where a literal ends, and which sequences in it are special.
    struct StringForm: Sendable {
        var spansLines = false
        /// Whether three quotation marks begin a multiline literal.
        var mayBeTripled = false
        var hasEscapes = true
        /// The delimiters of interpolated code. If `interpolationPrefix` is set, only literals whose prefix contains that letter have any.
        var interpolation: Interpolation?
        var interpolationPrefix: UInt8?
    }

    /// The bytes that begin interpolated code, and the brackets that nest in it and end it.
    struct Interpolation: Sendable {
        /// Whether the code begins with an escape, as in `\(`.
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

    /// A word of at most 16 bytes, stored in two integers because they are faster to look up than a string.
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

    /// The languages by name.
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

// MARK: - Languages with the syntax of C

extension Language {
    private static func likeC(_ configure: (inout Language) -> Void) -> Language {
        var language = Language()
        language.lineComments = [Array("//".utf8)]
        language.blockComment = (Array("/*".utf8), Array("*/".utf8), false)
        language.strings = [0x22: StringForm(), 0x27: StringForm()]
        language.constants = words("true false null")
        configure(&language)
        return language
    }

    static let swift = likeC {
        $0.keywords = words(
            """
            actor any as associatedtype async await borrowing break case catch class consume consuming continue copy default
            defer deinit discard distributed do dynamic each else enum extension fallthrough fileprivate final for func get
            guard if import in indirect infix init inout internal is isolated lazy let macro mutating nonisolated nonmutating
            open operator optional override package postfix precedencegroup prefix private protocol public repeat required
            rethrows return self sending set some static struct subscript super switch throw throws try typealias unowned
            unsafe var weak where while willSet didSet yield
            """)
        $0.types = words("Self Any")
        $0.constants = words("true false nil")
        $0.blockComment?.isNested = true
        $0.strings = [0x22: StringForm(mayBeTripled: true, interpolation: .backslash)]
        $0.hasHashedStrings = true
        $0.capitalsAreTypes = true
        $0.attributePrefix = 0x40
        $0.hasDirectives = true
        $0.hasVariables = true
    }

    /// C, C++ and Objective-C.
    static let c = likeC {
        $0.keywords = words(
            """
            alignas alignof and asm auto break case catch class co_await co_return co_yield concept const consteval constexpr
            constinit const_cast continue decltype default delete do dynamic_cast else enum explicit export extern final for
            friend goto if import inline module mutable namespace new noexcept not operator or override private protected public
            register reinterpret_cast requires restrict return sizeof static static_assert static_cast struct switch template
            this thread_local throw try typedef typeid typename union using virtual volatile while _Alignas _Alignof _Atomic
            _Generic _Noreturn _Static_assert _Thread_local self super in out inout
            """)
        $0.types = words(
            """
            void bool char short int long float double signed unsigned size_t ssize_t ptrdiff_t intptr_t uintptr_t int8_t
            int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t wchar_t char8_t char16_t char32_t off_t time_t FILE _Bool
            id instancetype BOOL NSInteger NSUInteger CGFloat SEL Class string vector
            """)
        $0.constants = words("true false NULL nullptr nil YES NO")
        $0.stringPrefixes = Array("uUL8".utf8)
        $0.attributePrefix = 0x40
        $0.hasDirectives = true
    }

    static let cSharp = likeC {
        $0.keywords = words(
            """
            abstract add as async await base break case catch checked class const continue default delegate do else enum event
            explicit extern finally fixed for foreach from get global goto group if implicit in init interface internal into is
            join let lock nameof namespace new not on operator or orderby out override params partial private protected public
            readonly record ref remove required return sealed select set sizeof stackalloc static struct switch this throw try
            typeof unchecked unsafe using value var virtual volatile when where while with yield
            """)
        $0.types = words(
            """
            bool byte char decimal double dynamic float int long nint nuint object sbyte short string uint ulong ushort void
            """)
        $0.capitalsAreTypes = true
        $0.hasDirectives = true
    }

    static let java = likeC {
        $0.keywords = words(
            """
            abstract assert break case catch class const continue default do else enum exports extends final finally for goto if
            implements import instanceof interface module native new non-sealed open package permits private protected public
            record requires return sealed static strictfp super switch synchronized this throw throws transient try var
            volatile when while yield
            """)
        $0.types = words("boolean byte char double float int long short void")
        $0.strings = [0x22: StringForm(mayBeTripled: true), 0x27: StringForm()]
        $0.capitalsAreTypes = true
        $0.attributePrefix = 0x40
    }

    static let kotlin = likeC {
        $0.keywords = words(
            """
            abstract actual annotation as break by catch class companion const constructor continue crossinline data do else enum
            expect external final finally for fun get if import in infix init inline inner interface internal is lateinit
            noinline object open operator out override package private protected public reified return sealed set super suspend
            tailrec this throw try typealias typeof val value var vararg when where while
            """)
        $0.blockComment?.isNested = true
        $0.strings = [0x22: StringForm(mayBeTripled: true, interpolation: .dollar), 0x27: StringForm()]
        $0.capitalsAreTypes = true
        $0.attributePrefix = 0x40
    }

    static let javaScript = likeC {
        $0.keywords = words(
            """
            abstract as asserts async await break case catch class const continue debugger declare default delete do else enum
            export extends finally for from function get if implements import in infer instanceof interface is keyof let module
            namespace new of out override package private protected public readonly require return satisfies set static super
            switch this throw try type typeof unique var void while with yield
            """)
        $0.types = words("any bigint boolean never number object string symbol unknown")
        $0.constants = words("true false null undefined NaN Infinity")
        $0.strings[0x60] = StringForm(spansLines: true, interpolation: .dollar)
        $0.capitalsAreTypes = true
        $0.attributePrefix = 0x40
        $0.wordBytes = [0x24]
    }

    static let go = likeC {
        $0.keywords = words(
            """
            break case chan const continue default defer else fallthrough for func go goto if import interface map package range
            return select struct switch type var
            """)
        $0.types = words(
            """
            any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint
            uint8 uint16 uint32 uint64 uintptr
            """)
        $0.constants = words("true false nil iota")
        $0.strings[0x60] = StringForm(spansLines: true, hasEscapes: false)
    }

    static let rust = likeC {
        $0.keywords = words(
            """
            as async await box break const continue crate dyn else enum extern fn for gen if impl in let loop macro_rules match
            mod move mut pub ref return self static struct super trait type union unsafe use where while yield
            """)
        $0.types = words(
            """
            bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize Self
            """)
        $0.constants = words("true false")
        $0.blockComment?.isNested = true
        $0.strings = [0x22: StringForm(spansLines: true), 0x27: StringForm()]
        $0.stringPrefixes = Array("brc".utf8)
        $0.hasHashedStrings = true
        $0.hasLifetimes = true
        $0.capitalsAreTypes = true
        $0.hasBracketedAttributes = true
    }

    static let php = likeC {
        $0.keywords = words(
            """
            abstract and array as break callable case catch class clone const continue declare default do echo else elseif empty
            enddeclare endfor endforeach endif endswitch endwhile enum extends final finally fn for foreach function global goto
            if implements include include_once instanceof insteadof interface isset list match namespace new or print private
            protected public readonly require require_once return static switch throw trait try unset use var while xor yield
            """)
        $0.types = words("bool float int iterable mixed never object string void self parent")
        $0.constants.formUnion(words("TRUE FALSE NULL"))
        $0.lineComments.append([0x23])
        $0.strings = [0x22: StringForm(spansLines: true), 0x27: StringForm(spansLines: true)]
        $0.hasBracketedAttributes = true
        $0.capitalsAreTypes = true
        $0.hasVariables = true
    }

    static let css: Language = likeC {
        $0.lineComments = []
        $0.constants = words("inherit initial unset revert none auto")
        $0.attributePrefix = 0x40
        $0.keySeparator = 0x3A
        $0.wordBytes = [0x2D]
    }
}

// MARK: - Script languages, query languages and formats of data

extension Language {
    private static func configured(_ configure: (inout Language) -> Void) -> Language {
        var language = Language()
        configure(&language)
        return language
    }

    static let python = configured {
        $0.keywords = words(
            """
            and as assert async await break case class continue def del elif else except finally for from global if import in is
            lambda match nonlocal not or pass raise return try type while with yield self cls
            """)
        $0.types = words("bool bytes complex dict float frozenset int list object set str tuple")
        $0.constants = words("True False None Ellipsis NotImplemented")
        $0.lineComments = [[0x23]]
        let form = StringForm(mayBeTripled: true, interpolation: .brace, interpolationPrefix: 0x66)
        $0.strings = [0x22: form, 0x27: form]
        $0.stringPrefixes = Array("rbfuRBFU".utf8)
        $0.capitalsAreTypes = true
        $0.attributePrefix = 0x40
    }

    static let ruby = configured {
        $0.keywords = words(
            """
            alias and attr_accessor attr_reader attr_writer begin break case class def defined do else elsif end ensure extend for
            if in include module next not or private protected public raise redo require require_relative rescue retry return
            self super then undef unless until when while yield
            """)
        $0.constants = words("true false nil __FILE__ __LINE__")
        $0.lineComments = [[0x23]]
        $0.strings = [
            0x22: StringForm(spansLines: true, interpolation: .hash), 0x27: StringForm(spansLines: true),
            0x60: StringForm(interpolation: .hash),
        ]
        $0.capitalsAreTypes = true
        $0.attributePrefix = 0x40
        $0.hasVariables = true
    }

    static let shell = configured {
        $0.keywords = words(
            """
            if then else elif fi for while until do done case esac in function select time return exit break continue local export
            readonly declare set unset shift source alias eval exec trap cd echo printf read test
            """)
        $0.constants = words("true false")
        $0.lineComments = [[0x23]]
        $0.commentsBeginWords = true
        $0.strings = [
            0x22: StringForm(spansLines: true, interpolation: .shell),
            0x27: StringForm(spansLines: true, hasEscapes: false),
        ]
        $0.hasVariables = true
        $0.wordBytes = [0x2D]
    }

    static let sql = configured {
        $0.ignoresCase = true
        $0.keywords = words(
            """
            add all alter analyze and any as asc begin between by cascade case cast check collate column commit conflict
            constraint create cross current_date current_time database default delete desc distinct do drop each else end except
            exists explain false fetch filter first for foreign from full function grant group having if ignore ilike immediate in
            index inner insert instead intersect into is join key lateral left like limit listen lock materialized natural
            not nothing notify of offset on or order outer over partition pragma primary procedure recursive references rename
            replace returning revoke right rollback row rows savepoint schema select set skip locked strict table temporary then
            to transaction trigger truncate union unique update upsert using vacuum values view when where window with without
            """)
        $0.types = words(
            """
            bigint bigserial binary blob boolean bytea char character date datetime decimal double float int integer interval
            json jsonb numeric real serial smallint text time timestamp timestamptz tinyint uuid varchar
            """)
        $0.constants = words("null true false")
        $0.lineComments = [Array("--".utf8)]
        $0.blockComment = (Array("/*".utf8), Array("*/".utf8), false)
        let form = StringForm(spansLines: true, hasEscapes: false)
        $0.strings = [0x22: form, 0x27: form, 0x60: form]
    }

    static let json = configured {
        $0.constants = words("true false null NaN Infinity")
        $0.lineComments = [Array("//".utf8)]
        $0.blockComment = (Array("/*".utf8), Array("*/".utf8), false)
        $0.strings = [0x22: StringForm(), 0x27: StringForm()]
        $0.keySeparator = 0x3A
        $0.marksCalls = false
    }

    static let yaml = configured {
        $0.constants = words("true false null yes no on off True False Yes No")
        $0.lineComments = [[0x23]]
        $0.commentsBeginWords = true
        $0.strings = [0x22: StringForm(spansLines: true), 0x27: StringForm(spansLines: true, hasEscapes: false)]
        $0.keySeparator = 0x3A
        $0.keysBeginLines = true
        $0.marksCalls = false
        $0.wordBytes = Array("-./".utf8)
    }

    static let toml = configured {
        $0.constants = words("true false inf nan")
        $0.lineComments = [[0x23], [0x3B]]
        $0.commentsBeginWords = true
        $0.strings = [0x22: StringForm(mayBeTripled: true), 0x27: StringForm(mayBeTripled: true, hasEscapes: false)]
        $0.keySeparator = 0x3D
        $0.keysBeginLines = true
        $0.hasSections = true
        $0.marksCalls = false
        $0.wordBytes = Array("-.".utf8)
    }

    static let markup = configured { $0.form = .markup }
    static let diff = configured { $0.form = .diff }
}
