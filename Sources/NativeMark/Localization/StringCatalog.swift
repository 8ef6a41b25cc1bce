/// The strings of an app in all its languages, from an Xcode string catalog (`Localizable.xcstrings`).
///
///     let catalog = try StringCatalog(json: text)
///     Document(localized: "welcome", in: catalog, languages: ["de-AT", "en"], arguments: [name])
///
/// Use it where no compiled catalog is available: on Linux, in tests and in tools. On Apple platforms, the system reads an app's
/// catalog and chooses the language: see `Document(localized:)`.
///
/// The type reads values and their variations by plural category. Of variations by device, it reads the one for `other`. It doesn't
/// support named substitutions (`%#@name@`): such a text is shown as written.
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
    /// The method looks for a text in this order: each of the languages, each followed by its more general languages (`de-AT`, `de`); the
    /// source language; the key itself. Removing the script would change the language's writing system, so `zh-Hant` doesn't fall back
    /// to `zh`. Texts that are marked as new or are empty count as missing.
    ///
    /// `languages` are the user's preferred languages as BCP 47 tags, best first. `count` chooses among variations by ``PluralCategory``.
    public func string(_ key: String, languages: [String], count: Int? = nil) -> String {
        let found = entries[key] ?? [:]
        for language in languages.flatMap(Self.fallbacks) + [sourceLanguage] {
            let name = Self.normalized(language)
            guard let match = found.first(where: { Self.normalized($0.key) == name })?.value else { continue }
            if let text = match.text(count: count, language: language) { return text }
        }
        return key
    }

    /// Most specific first.
    private static func fallbacks(of language: String) -> [String] {
        // Limits the work for a malformed tag; real tags have only a few parts.
        var parts = language.split { $0 == "-" || $0 == "_" }.prefix(8)
        var result: [String] = []
        while let last = parts.last {
            result.append(parts.joined(separator: "-"))
            // Four letters are a script.
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
    /// An argument is never markup: `*x*` or `[a](b)` is shown literally, also in code, tables and links. In part of an address, it is
    /// percent-encoded. See <doc:Localization> for all positions.
    ///
    /// Arguments are shown as their descriptions; pass a formatted string for a number with separators. The first integer argument chooses
    /// among variations by plural category. Without arguments the text isn't a format: `%%` stays as it is.
    ///
    /// - Parameters:
    ///   - key: The key. If the catalog doesn't contain it, the key is the text.
    ///   - catalog: The catalog that contains the string.
    ///   - languages: The user's preferred languages; see ``StringCatalog/string(_:languages:count:)``.
    ///   - arguments: The values for `%@`, `%lld` and so on in order, or by position for `%1$@`.
    ///   - options: The extensions of CommonMark to recognize.
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
