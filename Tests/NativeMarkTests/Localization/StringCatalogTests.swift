import NativeMark
import Testing

@Suite struct `String catalogs` {
    private let catalog = try! StringCatalog(
        json: """
            {
              "sourceLanguage" : "en",
              "strings" : {
                "" : { },
                "only key" : { "comment" : "no texts", "extractionState" : "manual" },
                "welcome" : {
                  "localizations" : {
                    "en" : { "stringUnit" : { "state" : "translated", "value" : "Hello **%@**" } },
                    "de" : { "stringUnit" : { "state" : "needs_review", "value" : "Hallo **%@**" } },
                    "de-CH" : { "stringUnit" : { "state" : "translated", "value" : "Grüezi **%@**" } },
                    "ja" : { "stringUnit" : { "state" : "translated", "value" : "**%@**さん" } },
                    "fr" : { "stringUnit" : { "state" : "new", "value" : "Hello **%@**" } },
                    "it" : { "stringUnit" : { "state" : "translated", "value" : "" } },
                    "zh" : { "stringUnit" : { "state" : "translated", "value" : "你好 %@" } }
                  }
                },
                "files" : {
                  "localizations" : {
                    "en" : { "variations" : { "plural" : {
                      "one" : { "stringUnit" : { "state" : "translated", "value" : "%lld file of %@" } },
                      "other" : { "stringUnit" : { "state" : "translated", "value" : "%lld files of %@" } },
                      "zero" : { "stringUnit" : { "state" : "translated", "value" : "no file" } } } } },
                    "ru" : { "variations" : { "plural" : {
                      "one" : { "stringUnit" : { "state" : "translated", "value" : "%lld файл" } },
                      "few" : { "stringUnit" : { "state" : "translated", "value" : "%lld файла" } },
                      "many" : { "stringUnit" : { "state" : "translated", "value" : "%lld файлов" } },
                      "other" : { "stringUnit" : { "state" : "translated", "value" : "%lld файла." } } } } },
                    "de" : { "variations" : { "plural" : {
                      "other" : { "stringUnit" : { "state" : "translated", "value" : "%lld Dateien" } } } } }
                  }
                },
                "tap" : {
                  "localizations" : {
                    "en" : { "variations" : { "device" : {
                      "mac" : { "stringUnit" : { "state" : "translated", "value" : "Click" } },
                      "other" : { "stringUnit" : { "state" : "translated", "value" : "Tap" } } } } },
                    "de" : { "variations" : { "device" : {
                      "other" : { "variations" : { "plural" : {
                        "other" : { "stringUnit" : { "state" : "translated", "value" : "Tippe" } } } } } } } }
                  }
                }
              },
              "version" : "1.0"
            }
            """)

    @Test(arguments: [
        (["de"], "Hallo **%@**"), (["de-AT"], "Hallo **%@**"), (["de-CH-1996"], "Grüezi **%@**"),
        (["DE_ch"], "Grüezi **%@**"),
        (["ja-JP", "de"], "**%@**さん"), (["xx", "de"], "Hallo **%@**"), (["fr", "de"], "Hallo **%@**"),
        (["it"], "Hello **%@**"),
        (["zh-Hant", "ja"], "**%@**さん"), (["zh-Hant-TW", "ja"], "**%@**さん"), (["zh-CN"], "你好 %@"), ([], "Hello **%@**"),
        ([""], "Hello **%@**"),
        (["-"], "Hello **%@**"),
    ])
    func `a lookup falls back from a region to its language, then to the source`(_ languages: [String], _ text: String)
    {
        #expect(catalog.string("welcome", languages: languages) == text)
    }

    @Test func `a key without texts is its own text`() {
        #expect(catalog.string("only key", languages: ["de"]) == "only key")
        #expect(catalog.string("not there", languages: ["de"]) == "not there")
        #expect(catalog.string("", languages: ["de"]) == "")
        #expect(catalog.keys == ["", "files", "only key", "tap", "welcome"])
        #expect(catalog.languages == ["de", "de-CH", "en", "fr", "it", "ja", "ru", "zh"])
        #expect(catalog.sourceLanguage == "en")
    }

    @Test func `a number selects a variation`() {
        func files(_ count: Int?, _ language: String) -> String {
            catalog.string("files", languages: [language], count: count)
        }
        #expect(
            files(1, "en") == "%lld file of %@" && files(2, "en") == "%lld files of %@"
                && files(nil, "en") == "%lld files of %@")
        #expect(files(0, "en") == "no file" && files(-1, "en") == "%lld file of %@")
        #expect(files(21, "ru") == "%lld файл" && files(3, "ru") == "%lld файла" && files(11, "ru") == "%lld файлов")
        #expect(files(1, "de") == "%lld Dateien" && files(1, "xx") == "%lld file of %@")
    }

    @Test func `the variation for other devices is used`() {
        #expect(catalog.string("tap", languages: ["en"]) == "Tap")
        #expect(catalog.string("tap", languages: ["de"]) == "Tippe")
    }

    @Test func `a document is made from a key, a language and arguments`() {
        func text(_ key: String, _ language: String, _ arguments: any CustomStringConvertible...) -> String {
            Document(localized: key, in: catalog, languages: [language], arguments: arguments).root.plainText
        }
        let name = "*Ada* [x](y)"
        #expect(text("welcome", "de-AT", name) == "Hallo \(name)")
        #expect(text("welcome", "ja", name).replacing("\u{2060}", with: "") == "\(name)さん")
        #expect(text("files", "en", "x", 1) == "x file of 1")
        #expect(text("files", "en", UInt8(1), "y") == "1 file of y")
        #expect(text("files", "ru", 5) == "5 файлов")
        #expect(text("files", "en", UInt64.max, "y") == "18446744073709551615 files of y")
        let document = Document(localized: "welcome", in: catalog, languages: ["ja"], arguments: [name])
        #expect(document.nodes { $0.kind == .strong }.count == 1)
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        var json: String
        var keyPath: String
        var words: [String]

        init(_ json: String, _ keyPath: String, _ words: String...) {
            self.json = json
            self.keyPath = keyPath
            self.words = words
        }

        var testDescription: String { String(json.prefix(80)) }
    }

    @Test(arguments: [
        Mistake("", "", "JSON", "comma"), Mistake("{", "", "JSON"), Mistake("[]", "", "object"),
        Mistake("{}", "", "sourceLanguage"),
        Mistake(#"{"sourceLanguage": 1, "strings": {}}"#, "sourceLanguage", "string"),
        Mistake(#"{"sourceLanguage": "en"}"#, "", "strings"),
        Mistake(#"{"sourceLanguage": "en", "strings": []}"#, "strings", "object"),
        Mistake(#"{"sourceLanguage": "en", "strings": {"a": 1}}"#, "strings.a", "object"),
        Mistake(
            #"{"sourceLanguage": "en", "strings": {"a": {"localizations": {"de": {"stringUnit": {"state": "x"}}}}}}"#,
            "strings.a.localizations.de.stringUnit", "value"),
        Mistake(
            #"{"sourceLanguage": "en", "strings": {"a": {"localizations": {"de": {"stringUnit": {"value": null}}}}}}"#,
            "strings.a.localizations.de.stringUnit.value", "string"),
        Mistake(
            #"{"sourceLanguage": "en", "strings": {"a": {"localizations": {"de": {"variations": {"plural": {"lots": {}}}}}}}}"#,
            "strings.a.localizations.de.variations.plural.lots", "isn't a plural category", "few"),
        Mistake(String(repeating: "[", count: 100_000), "", "JSON"),
        Mistake(String(repeating: #"{"strings":"#, count: 100_000), "", "JSON"),
    ])
    func `the error of a broken catalog names the place and the remedy`(_ mistake: Mistake) throws {
        let error = try #require(throws: NativeMarkError.self) { try StringCatalog(json: mistake.json) }
        #expect(error.subject == mistake.keyPath)
        for word in mistake.words { #expect("\(error)".contains(word), "\(error)") }
        #expect("\(error)".hasSuffix(".") && !"\(error)".hasSuffix(".."))
    }
}

@Suite struct `Plural categories` {
    @Test(arguments: [
        ("en", "other one other other other other other other other other"),
        ("de-AT", "other one other other other other other other other other"),
        ("fr", "one one other other other other other other other many"),
        ("pt", "one one other other other other other other other many"),
        ("pt-PT", "other one other other other other other other other many"),
        ("es", "other one other other other other other other other many"),
        ("ru", "many one few many many many one few many many"),
        ("pl", "many one few many many many many few many many"),
        ("cs", "other one few other other other other other other other"),
        ("he", "other one two other other other other other other other"),
        ("ar", "zero one two few many many many many other other"),
        ("ja", "other other other other other other other other other other"),
        ("xx", "other other other other other other other other other other"),
        ("", "other other other other other other other other other other"),
    ])
    func `numbers have the plural categories of the language`(_ language: String, _ categories: String) {
        let numbers = [0, 1, 2, 5, 11, 14, 21, 22, 100, 1_000_000]
        let found = numbers.map { PluralCategory(of: $0, language: language).rawValue }
        #expect(found.joined(separator: " ") == categories)
    }

    @Test func `the sign makes no difference`() {
        #expect(PluralCategory(of: -1, language: "en") == .one)
        #expect(PluralCategory(of: .min, language: "en") == .other)
    }
}
