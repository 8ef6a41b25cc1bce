// Shared by the errors of style sheets and string catalogs: the path to a value, and the decoder's message.

extension [any CodingKey] {
    /// The keys joined by dots, with array indices in brackets: `colors.accent[0]`.
    var joined: String {
        map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
            .reduce("") { $1.hasPrefix("[") || $0.isEmpty ? $0 + $1 : $0 + "." + $1 }
    }
}

extension DecodingError.Context {
    /// The rest of a sentence that says why a text isn't JSON, without a period.
    var whyNotJSON: String {
        let detail = underlyingError.map { "\($0)" } ?? debugDescription
        return "isn't valid JSON: \(detail.hasSuffix(".") ? String(detail.dropLast()) : detail)"
    }
}
