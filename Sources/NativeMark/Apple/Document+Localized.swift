// Type-checked against stub modules by Scripts/checks/apple.py; run by no test of ours.
#if canImport(Darwin)
public import Foundation

extension Document {
    /// Parses what a string catalogue has in the person's language.
    ///
    ///     let document = Document(localized: "welcome")
    ///
    /// What is interpolated is markup as well: a name is put in with ``escaped(_:)``, or as an argument of
    /// ``init(localized:table:bundle:arguments:options:)``.
    public init(
        localized key: String.LocalizationValue, table: String? = nil, bundle: Bundle? = nil,
        locale: Locale = .current, options: Options = .init()
    ) {
        self.init(String(localized: key, table: table, bundle: bundle, locale: locale), options: options)
    }

    /// Parses what a string catalogue has for a resource, in its locale.
    public init(localized resource: LocalizedStringResource, options: Options = .init()) {
        self.init(String(localized: resource), options: options)
    }

    /// Parses what a string catalogue has for a key, with arguments put in as plain text.
    ///
    ///     Document(localized: "greeting", arguments: [name])   // "Hello **%@**"
    ///
    /// Arguments are put in as ``init(localized:in:languages:arguments:options:)`` says. A key that is not in the table is its
    /// own text. Variations by number are not chosen here: the system does that for interpolations only.
    public init(
        localized key: String, table: String? = nil, bundle: Bundle = .main, arguments: [any CustomStringConvertible],
        options: Options = .init()
    ) {
        let format = bundle.localizedString(forKey: key, value: nil, table: table)
        self.init(format: format, arguments: arguments, options: options)
    }
}
#endif
