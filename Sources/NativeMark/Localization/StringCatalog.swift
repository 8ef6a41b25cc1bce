/// An app's strings in all its languages, read from an Xcode string catalog (`Localizable.xcstrings`).
///
///     let catalog = try StringCatalog(json: text)
///     Document(localized: "welcome", in: catalog, languages: ["de-AT", "en"], arguments: [name])
///
/// Use it where no compiled catalog is available: on Linux, in tests and in tools. On Apple platforms, the system reads an app's catalog
/// and chooses the language; see `Document(localized:)`.
///
/// A catalog supports plain values and variations by plural category. For variations by device, it uses the value for `other`. It doesn't
/// support named substitutions (`%#@name@`); they are shown as written.
public struct StringCatalog: Sendable, Hashable {
    /// The language of the keys.
    public var sourceLanguage: String
    var entries: [String: [String: Entry]] = [:]

    struct Entry: Sendable, Hashable {
        /// The text, if it doesn't vary by plural category.
        var value: String?
        var plurals: [PluralCategory: String] = [:]
    }

    /// All keys in alphabetical order.
    public var keys: [String] { entries.keys.sorted() }

    /// The languages of all texts and the source language, in alphabetical order.
    public var languages: [String] {
        entries.values.reduce(into: [sourceLanguage] as Set) { $0.formUnion($1.keys) }.sorted()
    }

    /// Returns the text for a key.
    ///
    ///     catalog.string("cart", languages: ["de-AT"], count: 2)      // "%lld Artikel"
    ///
    /// The method tries each language, followed by its more general forms (`de-AT`, then `de`), and then the source language. If no text is
    /// found, it returns the key. `zh-Hant` doesn't fall back to `zh`, because a language without its script may use another writing
    /// system. Empty texts and texts marked as new count as missing.
    ///
    /// `languages` are the user's preferred languages as BCP 47 tags, best first. `count` selects a variation by ``PluralCategory``.
    public func string(_ key: String, languages: [String], count: Int? = nil) -> String {
        let found = entries[key] ?? [:]
        for language in languages.flatMap(Self.fallbacks) + [sourceLanguage] {
            let name = Self.normalized(language)
            guard let match = found.first(where: { Self.normalized($0.key) == name })?.value else { continue }
            if let text = match.text(count: count, language: language) { return text }
        }
        return key
    }

    /// Returns a language and its more general forms, most specific first.
    private static func fallbacks(of language: String) -> [String] {
        // Limits the work for a malformed tag; real tags have only a few parts.
        var parts = language.split { $0 == "-" || $0 == "_" }.prefix(8)
        var result: [String] = []
        while let last = parts.last {
            result.append(parts.joined(separator: "-"))
            // A subtag of four letters is a script.
            if parts.count > 1, last.utf8.count == 4, last.allSatisfy(\.isLetter) { break }
            parts = parts.dropLast()
        }
        return result
    }

    private static func normalized(_ language: String) -> String {
        String(language.lowercased().map { $0 == "_" ? "-" : $0 })
    }
}

extension StringCatalog.Entry {
    func text(count: Int?, language: String) -> String? {
        guard value == nil else { return value }
        if count == 0, let zero = plurals[.zero] { return zero }
        let category = count.map { PluralCategory(of: $0, language: language) } ?? .other
        return plurals[category] ?? plurals[.other]
    }
}

extension Document {
    /// Parses the catalog's text for a key, with arguments inserted as plain text.
    ///
    ///     // "greeting": "Hello **%@**, you have %lld messages"
    ///     Document(localized: "greeting", in: catalog, languages: ["de-AT", "en"], arguments: ["*Ada*", 3])
    ///
    /// Arguments are never parsed as markup: `*x*` and `[a](b)` are shown literally, even in code, tables and links. In an address, an
    /// argument is percent-encoded where necessary. <doc:Localization> lists all positions.
    ///
    /// An argument is shown as its description, so pass a formatted string for a number that needs separators. The first integer argument
    /// selects a variation by plural category. If there are no arguments, the text isn't treated as a format: `%%` stays `%%`.
    ///
    /// - Parameters:
    ///   - key: The key. If the catalog doesn't contain it, the key itself is the text.
    ///   - catalog: The catalog to look in.
    ///   - languages: The user's preferred languages; see ``StringCatalog/string(_:languages:count:)``.
    ///   - arguments: The values for `%@`, `%lld` and so on in order, or by position for `%1$@`.
    ///   - options: The CommonMark extensions to recognize.
    public init(
        localized key: String, in catalog: StringCatalog, languages: [String],
        arguments: [any CustomStringConvertible] = [], options: Options = .init()
    ) {
        let count = arguments.lazy.compactMap { ($0 as? any BinaryInteger).map { Int(clamping: $0) } }.first
        let text = catalog.string(key, languages: languages, count: count)
        self.init(format: text, arguments: arguments, options: options)
    }

    init(format: String, arguments: [any CustomStringConvertible], options: Options) {
        guard !arguments.isEmpty else {
            self.init(format, options: options)
            return
        }
        let filled = LocalizedFormat(format).filled(with: arguments.map { String(describing: $0) }, options: options)
        self.init(filled, options: options)
    }
}

// MARK: - JSON

extension StringCatalog {
    /// Creates a catalog from the JSON that Xcode writes.
    ///
    /// ```json
    /// {
    ///   "sourceLanguage": "en",
    ///   "strings": {
    ///     "welcome": {
    ///       "localizations": {
    ///         "de": { "stringUnit": { "state": "translated", "value": "Hallo **%@**" } }
    ///       }
    ///     }
    ///   },
    ///   "version": "1.0"
    /// }
    /// ```
    ///
    /// Unknown keys are ignored, because new versions of Xcode add keys. If a key of the catalog has no texts, the key itself is the text.
    ///
    /// - Throws: A ``NativeMarkError`` that names the position in the JSON.
    public init(json: String) throws(NativeMarkError) {
        self = try NativeMarkError.decoding(CatalogFile.self, from: json, .stringCatalog) {
            NativeMarkError(stringCatalog: $0)
        }.catalog()
    }
}

/// The parts of the file that are read. The types aren't recursive, which limits the depth of nesting.
private struct CatalogFile: Decodable {
    var sourceLanguage: String
    var strings: [String: Key]

    struct Key: Decodable {
        var localizations: [String: Localization]?
    }

    struct Localization: Decodable {
        var stringUnit: Unit?
        var variations: Variations?
    }

    struct Variations: Decodable {
        var plural: [String: Variation]?
        var device: [String: DeviceVariation]?
    }

    struct DeviceVariation: Decodable {
        var stringUnit: Unit?
        var variations: PluralVariations?
    }

    struct PluralVariations: Decodable {
        var plural: [String: Variation]?
    }

    struct Variation: Decodable {
        var stringUnit: Unit?
    }

    struct Unit: Decodable {
        var state: String?
        var value: String

        /// The text, or `nil` if it isn't translated yet.
        var text: String? { state == "new" || value.isEmpty ? nil : value }
    }

    func catalog() throws(NativeMarkError) -> StringCatalog {
        var catalog = StringCatalog(sourceLanguage: sourceLanguage)
        for (key, entry) in strings {
            var languages: [String: StringCatalog.Entry] = [:]
            for (language, localization) in entry.localizations ?? [:] {
                let device = localization.variations?.device?["other"]
                let plurals = localization.variations?.plural ?? device?.variations?.plural ?? [:]
                var read = StringCatalog.Entry(value: (localization.stringUnit ?? device?.stringUnit)?.text)
                for (name, variation) in plurals {
                    guard let category = PluralCategory(rawValue: name) else {
                        throw NativeMarkError(
                            .stringCatalog, at: "strings.\(key).localizations.\(language).variations.plural.\(name)",
                            "isn't a plural category",
                            remedy: "Use one of: \(PluralCategory.allCases.map(\.rawValue).joined(separator: ", "))")
                    }
                    read.plurals[category] = variation.stringUnit?.text
                }
                languages[language] = read
            }
            catalog.entries[key] = languages
        }
        return catalog
    }
}

extension NativeMarkError {
    fileprivate init(stringCatalog error: DecodingError) {
        let found: (path: [any CodingKey], problem: String, remedy: String) =
            switch error {
            case .keyNotFound(let key, let context):
                (context.codingPath, "has no '\(key.stringValue)'", "Export the catalog from Xcode again")
            case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
                (
                    context.codingPath, type == String.self ? "isn't a string" : "isn't an object",
                    type == String.self ? "Write a string" : "Write { … } with names and values"
                )
            case .dataCorrupted(let context):
                (context.codingPath, context.whyNotJSON, "Look for a missing comma, quote or bracket")
            @unknown default: ([], "can't be read: \(error)", "Check that it is valid JSON")
            }
        self.init(.stringCatalog, at: found.path, found.problem, remedy: found.remedy, cause: error)
    }
}

// MARK: - Plural categories

/// A plural category of a language's grammar (CLDR 47, Language Plural Rules).
///
///     PluralCategory(of: 2, language: "pl")   // .few
///
/// Supports whole numbers in the languages below. In other languages, every number is ``other``.
///
/// | numbers as in | languages |
/// |---|---|
/// | English: 1 | en de nl sv da nb nn no fi et el hu bg tr |
/// | Italian: 1, millions | it es ca pt-PT |
/// | French: 0 and 1, millions | fr pt |
/// | Hindi: 0 and 1 | hi fa |
/// | Russian: 1, 2 to 4, the rest | ru uk |
/// | Polish | pl |
/// | Czech | cs sk |
/// | Hebrew: 1, 2 | he |
/// | Arabic: 0, 1, 2, 3 to 10, 11 to 99 | ar |
/// | Japanese: none | ja zh ko th vi id ms |
public enum PluralCategory: String, Sendable, Hashable, CaseIterable {
    /// Zero. If a text has a variation for this category, it is used for 0 in every language.
    case zero
    /// One, and numbers with the same grammar.
    case one
    /// Two.
    case two
    /// A few.
    case few
    /// Many.
    case many
    /// All other numbers. Every language has this category.
    case other

    /// Creates the category of a whole number in a language. The sign of a negative number is ignored.
    public init(of count: Int, language: String) {
        let number = count.magnitude
        let parts = language.lowercased().split { $0 == "-" || $0 == "_" }
        let isMillions = number != 0 && number % 1_000_000 == 0
        let (tens, ones) = (number % 100, number % 10)
        switch parts.first ?? "" {
        case "pt" where parts.dropFirst().contains("pt"), "it", "es", "ca":
            self = number == 1 ? .one : isMillions ? .many : .other
        case "fr", "pt": self = number < 2 ? .one : isMillions ? .many : .other
        case "hi", "fa": self = number < 2 ? .one : .other
        case "en", "de", "nl", "sv", "da", "nb", "nn", "no", "fi", "et", "el", "hu", "bg", "tr":
            self = number == 1 ? .one : .other
        case "ru", "uk":
            if ones == 1, tens != 11 {
                self = .one
            } else if (2...4).contains(ones), !(12...14).contains(tens) {
                self = .few
            } else {
                self = .many
            }
        case "pl":
            if number == 1 {
                self = .one
            } else if (2...4).contains(ones), !(12...14).contains(tens) {
                self = .few
            } else {
                self = .many
            }
        case "cs", "sk": self = number == 1 ? .one : (2...4).contains(number) ? .few : .other
        case "he", "iw": self = number == 1 ? .one : number == 2 ? .two : .other
        case "ar":
            switch (number, tens) {
            case (0, _): self = .zero
            case (1, _): self = .one
            case (2, _): self = .two
            case (_, 3...10): self = .few
            case (_, 11...99): self = .many
            default: self = .other
            }
        default: self = .other
        }
    }
}
