/// The strings of an app in all its languages, out of a string catalogue of Xcode (`Localizable.xcstrings`).
///
///     let catalog = try StringCatalog(json: text)
///     Document(localized: "welcome", in: catalog, languages: ["de-AT", "en"], arguments: [name])
///
/// For where there is no compiled catalogue: on Linux, in tests, in tools. On Apple's platforms the system reads the catalogue
/// of an app, and chooses the language: see `Document(localized:)`.
///
/// Of a catalogue are read the values, and their variations by number; of those by device, the one for other devices.
/// Substitutions (`%#@name@`) are not: such a text is shown as it stands.
public struct StringCatalog: Sendable, Hashable {
    /// The language that the keys are written in.
    public var sourceLanguage: String
    /// By key and language.
    var entries: [String: [String: Entry]] = [:]

    /// What a catalogue has for one key in one language.
    struct Entry: Sendable, Hashable {
        /// The text, if it is the same for all numbers.
        var value: String?
        /// The text for each kind of number.
        var plurals: [PluralCategory: String] = [:]
    }

    /// All keys, in alphabetical order.
    public var keys: [String] { entries.keys.sorted() }

    /// The languages that any key has a text in, in alphabetical order.
    public var languages: [String] {
        entries.values.reduce(into: [sourceLanguage] as Set) { $0.formUnion($1.keys) }.sorted()
    }

    /// The text for a key.
    ///
    ///     catalog.string("cart", languages: ["de-AT"], count: 2)      // "%lld Artikel"
    ///
    /// Asked in this order: each of the languages, and what is left of it without its last part (`de-AT`, `de`); the language
    /// of the source; the key itself. A part that says how a language is written is not left out: `zh-Hant` is not `zh`. Texts
    /// that are new, or empty, count as missing.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - languages: What a person reads, as BCP 47 has it, best first.
    ///   - count: What the text counts, for one with variations by number: see ``PluralCategory``.
    public func string(_ key: String, languages: [String], count: Int? = nil) -> String {
        let found = entries[key] ?? [:]
        for language in languages.flatMap(Self.fallbacks) + [sourceLanguage] {
            let name = Self.normalized(language)
            guard let match = found.first(where: { Self.normalized($0.key) == name })?.value else { continue }
            if let text = match.text(count: count, language: language) { return text }
        }
        return key
    }

    /// The language and those that it is a kind of, narrowest first.
    private static func fallbacks(of language: String) -> [String] {
        // No language has more than a few parts.
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
    /// Parses what a catalogue has for a key, with arguments put in as plain text.
    ///
    ///     // "greeting": "Hello **%@**, you have %lld messages"
    ///     Document(localized: "greeting", in: catalog, languages: ["de-AT", "en"], arguments: ["*Ada*", 3])
    ///
    /// An argument is never markup: a name `*x*` or `[a](b)` is shown as it is, also in code, in a table and in a link. In an
    /// address it is percent-encoded, so that it adds no part to it; an address that is one argument and nothing else is kept,
    /// and is no link if it would run something, see ``Document``. In code, line feeds are spaces.
    ///
    /// Arguments are shown as they describe themselves: whoever wants a number with separators gives a text. Of variations by
    /// number, the first argument that is an integer chooses one. Without arguments nothing is replaced, and a percent sign is a
    /// percent sign.
    ///
    /// - Parameters:
    ///   - key: The key. If the catalogue does not have it, it is the text.
    ///   - catalog: The texts.
    ///   - languages: What a person reads, best first: see ``StringCatalog/string(_:languages:count:)``.
    ///   - arguments: What stands for `%@`, `%lld` and the like, in order, or by number for `%1$@`.
    ///   - options: What is read beside CommonMark.
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
