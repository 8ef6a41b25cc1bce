/// Script languages, query languages and formats of data.
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
