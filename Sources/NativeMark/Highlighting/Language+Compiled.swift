/// Languages with the syntax of C.
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

    /// Also C++ and Objective-C.
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
