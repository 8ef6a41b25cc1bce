// What errors in JSON files have in common: where it is, and what the system's decoder says.

extension [any CodingKey] {
    /// The keys joined by dots, numbers of elements in brackets: `colors.accent[0]`.
    var joined: String {
        map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
            .reduce("") { $1.hasPrefix("[") || $0.isEmpty ? $0 + $1 : $0 + "." + $1 }
    }
}

extension DecodingError.Context {
    /// Why a text is no JSON at all, without a full stop.
    var whyNotJSON: String {
        let detail = underlyingError.map { "\($0)" } ?? debugDescription
        return "is not valid JSON: \(detail.hasSuffix(".") ? String(detail.dropLast()) : detail)"
    }
}
