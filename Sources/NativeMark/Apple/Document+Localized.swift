// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(Darwin)
public import Foundation

extension Document {
    /// Parses a localized string in the user's language.
    ///
    /// Interpolated values are parsed as Markdown. To insert a name as text, use ``escaped(_:)`` or the arguments of
    /// ``init(localized:table:bundle:arguments:options:)``.
    public init(
        localized key: String.LocalizationValue, table: String? = nil, bundle: Bundle? = nil,
        locale: Locale = .current, options: Options = .init()
    ) {
        self.init(String(localized: key, table: table, bundle: bundle, locale: locale), options: options)
    }

    /// Parses a localized string resource in its locale.
    public init(localized resource: LocalizedStringResource, options: Options = .init()) {
        self.init(String(localized: resource), options: options)
    }

    /// Parses a localized string, with arguments inserted as plain text.
    ///
    ///     Document(localized: "greeting", arguments: [name])   // "Hello **%@**"
    ///
    /// See ``init(localized:in:languages:arguments:options:)`` for how arguments are inserted. A key that isn't in the table is its own
    /// text. Variations by plural category aren't supported here; the system supports them only for interpolated values.
    public init(
        localized key: String, table: String? = nil, bundle: Bundle = .main, arguments: [any CustomStringConvertible],
        options: Options = .init()
    ) {
        let format = bundle.localizedString(forKey: key, value: nil, table: table)
        self.init(format: format, arguments: arguments, options: options)
    }
}
#endif
