#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StyleSheet {
    /// Creates a sheet from JSON.
    ///
    /// ```json
    /// {
    ///   "base": "default",
    ///   "colors": { "accent": { "light": "#0A5FFF", "dark": "#6FB1FF" } },
    ///   "blocks": {
    ///     "heading1": { "textStyle": "largeTitle", "color": "accent", "spacingAfter": "0.5em" },
    ///     "orderedList": { "marker": { "numbers": ["decimal", "lowercaseLetters"] } },
    ///     "codeBlock": { "border": { "edges": ["leading"], "color": "border" }, "padding": "1em" }
    ///   },
    ///   "inlines": { "emphasis": { "color": "ansi:cyan", "italic": false } }
    /// }
    /// ```
    ///
    /// All parts are optional. The rules extend the base, which is ``default``, another sheet in ``named``, or `"empty"`. A length is a
    /// number of points or a string in `em` or `pt`. Unknown keys are errors.
    ///
    /// | color | |
    /// |---|---|
    /// | `accent` | a role |
    /// | `#RRGGBB`, `#RRGGBBAA` | sRGB, with or without alpha |
    /// | `color(display-p3 1 0.5 0 / 0.8)` | Display P3, as in CSS, with or without alpha |
    /// | `ansi:cyan` | one of the terminal's sixteen colors |
    /// | `standard` | the text color of the terminal or label |
    /// | `name:Brand` | a color from the app's asset catalog |
    /// | `{ "name": "Brand", "fallback": … }` | the same, with a fallback color |
    /// | `{ "light": …, "dark": … }` | one color for each appearance, and optionally `lightIncreasedContrast`, `darkIncreasedContrast` |
    ///
    /// - Throws: A ``NativeMarkError`` that names the key and says what to write instead.
    public init(json: String) throws(NativeMarkError) {
        self = try NativeMarkError.decoding(StyleSheet.self, from: json, .styleSheet) {
            NativeMarkError(styleSheet: $0)
        }
    }

    /// The sheet as JSON for ``init(json:)``, with keys in alphabetical order. Lengths that aren't finite become 0.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // The encoder fails only for non-finite numbers, which `encode(into:)` replaces.
        let data = (try? encoder.encode(self)) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }
}

extension StyleSheet: Codable {
    private enum Part: String, CaseIterable {
        case base, colors, blocks, inlines
    }

    /// Decodes a sheet in the format of ``init(json:)``, from any decoder with keyed containers.
    public init(from decoder: any Decoder) throws {
        let sheet = try decoder.object(of: Part.self, called: "part of a style sheet")
        switch try sheet.value(of: .base, { try $0.string(expected: "the name of a style sheet") }) {
        case nil: self = .default
        case "empty"?: self.init()
        case let name?:
            guard let base = StyleSheet.named[name] else {
                throw NativeMarkError(
                    .styleSheet, at: decoder.codingPath + [StyleKey("base")], "isn't a known style sheet: '\(name)'",
                    remedy: "Use one of: \((StyleSheet.named.keys + ["empty"]).sorted().joined(separator: ", "))")
            }
            self = base
        }
        if let colors = try sheet.value(of: .colors, { try $0.object(of: Role.self, called: "role") }) {
            self = setting(colors: try colors.values { try Paint(json: $1) })
        }
        if let blocks = try sheet.value(of: .blocks, { try $0.object(of: BlockSelector.self, called: "block") }) {
            self = setting(
                block: try blocks.values {
                    try $1.object(of: BlockStyle.Property.self, called: "style of a block")
                        .values { try BlockStyle($0, json: $1) }.map(\.value)
                })
        }
        if let inlines = try sheet.value(
            of: .inlines, { try $0.object(of: InlineSelector.self, called: "kind of text") })
        {
            self = setting(
                inline: try inlines.values {
                    try $1.object(of: InlineStyle.Property.self, called: "style of text")
                        .values { try InlineStyle($0, json: $1) }.map(\.value)
                })
        }
    }

    /// Encodes all rules, with `empty` as the base.
    public func encode(to encoder: any Encoder) throws {
        var sheet = encoder.container(keyedBy: StyleKey.self)
        try sheet.encode("empty", forKey: "base")
        var part = sheet.nestedContainer(keyedBy: StyleKey.self, forKey: "colors")
        for (role, paint) in colors { try paint.encode(into: part.superEncoder(forKey: StyleKey(role.rawValue))) }
        part = sheet.nestedContainer(keyedBy: StyleKey.self, forKey: "blocks")
        for (selector, styles) in blocks {
            var rule = part.nestedContainer(keyedBy: StyleKey.self, forKey: StyleKey(selector.name))
            for style in styles where !style.isIgnored {
                try style.encode(into: rule.superEncoder(forKey: StyleKey(style.property.name)))
            }
        }
        part = sheet.nestedContainer(keyedBy: StyleKey.self, forKey: "inlines")
        for (selector, styles) in inlines {
            var rule = part.nestedContainer(keyedBy: StyleKey.self, forKey: StyleKey(selector.name))
            for style in styles { try style.encode(into: rule.superEncoder(forKey: StyleKey(style.property.name))) }
        }
    }
}

extension NativeMarkError {
    fileprivate init(styleSheet error: DecodingError) {
        let context: DecodingError.Context? =
            switch error {
            case .dataCorrupted(let context), .keyNotFound(_, let context), .typeMismatch(_, let context),
                .valueNotFound(_, let context):
                context
            @unknown default: nil
            }
        self.init(
            .styleSheet, at: context?.codingPath ?? [],
            context?.whyNotJSON ?? "can't be read: \(error)",
            remedy: "Look for a missing comma, quote or bracket", cause: error)
    }
}

// MARK: - Styles

extension StyleSheet.InlineStyle {
    init(_ property: Property, json decoder: any Decoder) throws {
        self =
            switch property {
            case .textStyle: .textStyle(try decoder.choice(of: StyleSheet.TextStyle.self, called: "a text style"))
            case .fontSize: .fontSize(try .init(json: decoder))
            case .fontDesign: .fontDesign(try decoder.choice(of: StyleSheet.FontDesign.self, called: "a font design"))
            case .fontFamily: .fontFamily(try decoder.string(expected: "the name of a font family"))
            case .fontWeight: .fontWeight(try decoder.choice(of: StyleSheet.FontWeight.self, called: "a font weight"))
            case .fontWidth: .fontWidth(try decoder.choice(of: StyleSheet.FontWidth.self, called: "a font width"))
            case .color: .color(try .init(json: decoder))
            case .inlineBackground: .inlineBackground(try StyleSheet.InlineBackground(json: decoder))
            case .kerning: .kerning(try .init(json: decoder))
            case .baseline: .baseline(try .init(json: decoder))
            case .bold: .bold(try decoder.flag())
            case .italic: .italic(try decoder.flag())
            case .underline: .underline(try StyleSheet.TextLine?(json: decoder))
            case .strikethrough: .strikethrough(try StyleSheet.TextLine?(json: decoder))
            case .imageLayout: .imageLayout(try .init(json: decoder))
            }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .textStyle(let style): try encoder.write(style.rawValue)
        case .fontSize(let size): try size.encode(into: encoder)
        case .fontDesign(let design): try encoder.write(design.rawValue)
        case .fontFamily(let name): try encoder.write(name)
        case .fontWeight(let weight): try encoder.write(weight.rawValue)
        case .fontWidth(let width): try encoder.write(width.rawValue)
        case .color(let color): try color.encode(into: encoder)
        case .inlineBackground(let box): try box.encode(into: encoder)
        case .kerning(let length), .baseline(let length): try length.encode(into: encoder)
        case .bold(let flag), .italic(let flag): try encoder.write(flag)
        case .underline(let line), .strikethrough(let line): try line.encode(into: encoder)
        case .imageLayout(let layout): try layout.encode(into: encoder)
        }
    }
}

extension StyleSheet.BlockStyle {
    init(_ property: Property, json decoder: any Decoder) throws {
        switch property {
        case .text(let property): self = .text(try .init(property, json: decoder))
        case .block(let property): self = try .init(property, json: decoder)
        }
    }

    private init(_ property: BlockProperty, json decoder: any Decoder) throws {
        self =
            switch property {
            case .alignment: .alignment(try decoder.choice(of: StyleSheet.Alignment.self, called: "an alignment"))
            case .firstLineIndent: .firstLineIndent(try .init(json: decoder))
            case .leadingIndent: .leadingIndent(try .init(json: decoder))
            case .trailingIndent: .trailingIndent(try .init(json: decoder))
            case .spacingBefore: .spacingBefore(try .init(json: decoder))
            case .spacingAfter: .spacingAfter(try .init(json: decoder))
            case .lineSpacing: .lineSpacing(try .init(json: decoder))
            case .lineHeight: .lineHeight(try decoder.number(expected: "a multiple of the font size", example: "1.5"))
            case .hyphenation: .hyphenation(try decoder.flag())
            case .marker: .marker(try .init(json: decoder))
            case .border: .border(try .init(json: decoder))
            case .padding: .padding(try .init(json: decoder))
            case .background: .background(try .init(json: decoder))
            case .divider: .divider(try .init(json: decoder))
            case .tableLines: .tableLines(try .init(json: decoder))
            case .taskMarker: .taskMarker(try .init(json: decoder))
            case .alternateRowBackground: .alternateRowBackground(try .init(json: decoder))
            }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .text(let style): try style.encode(into: encoder)
        case .alignment(let alignment): try encoder.write(alignment.rawValue)
        case .firstLineIndent(let length), .leadingIndent(let length), .trailingIndent(let length),
            .spacingBefore(let length), .spacingAfter(let length), .lineSpacing(let length):
            try length.encode(into: encoder)
        case .lineHeight(let multiple): try encoder.write(multiple)
        case .hyphenation(let flag): try encoder.write(flag)
        case .marker(let marker): try marker.encode(into: encoder)
        case .border(let border): try border.encode(into: encoder)
        case .padding(let padding): try padding.encode(into: encoder)
        case .background(let color), .alternateRowBackground(let color): try color.encode(into: encoder)
        case .divider(let divider): try divider.encode(into: encoder)
        case .tableLines(let lines): try lines.encode(into: encoder)
        case .taskMarker(let marker): try marker.encode(into: encoder)
        }
    }

    /// Whether the style has no effect, because JSON has no form for its number.
    fileprivate var isIgnored: Bool {
        if case .lineHeight(let multiple) = self { !multiple.isFinite } else { false }
    }
}

extension StyleSheet.Length {
    init(json decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let points = try? value.decode(Double.self) {
            self = .points(points)
            return
        }
        let text = (try? value.decode(String.self)) ?? ""
        let number = Double(text.dropLast(2)).flatMap { $0.isFinite ? $0 : nil }
        switch (text.suffix(2), number) {
        case ("em", let number?): self = .em(number)
        case ("pt", let number?): self = .points(number)
        default:
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a length" + (text.isEmpty ? "" : ": '\(text)'"),
                remedy: "Write points as a number, or a string such as \"1.5em\" or \"12pt\"")
        }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .points(let points): try encoder.write(points.isFinite ? points : 0)
        case .em(let ems): try encoder.write("\(ems.isFinite ? ems : 0)em")
        }
    }
}

extension StyleSheet.InlineBackground {
    private enum Part: String, CaseIterable {
        case color, padding, cornerRadius, border
    }

    /// Reads a color, or an object with the parts of a box. An object without these parts is a color for light and dark.
    init(json decoder: any Decoder) throws {
        let keys = try? decoder.container(keyedBy: StyleKey.self).allKeys
        guard keys?.contains(where: { Part(rawValue: $0.stringValue) != nil }) == true else {
            self.init(try StyleSheet.Color(json: decoder))
            return
        }
        let object = try decoder.object(of: Part.self, called: "part of a background")
        guard let color = try object.value(of: .color, { try StyleSheet.Color(json: $0) }) else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "has no color", remedy: "Add \"color\", such as \"codeBackground\""
            )
        }
        self.init(
            color, padding: try object.value(of: .padding) { try .init(json: $0) } ?? .init(),
            cornerRadius: try object.value(of: .cornerRadius) { try .init(json: $0) } ?? .points(0),
            border: try object.value(of: .border) { try .init(json: $0) })
    }

    func encode(into encoder: any Encoder) throws {
        guard self != Self(color) else { return try color.encode(into: encoder) }
        var container = encoder.container(keyedBy: StyleKey.self)
        try color.encode(into: container.superEncoder(forKey: "color"))
        try padding.encode(into: container.superEncoder(forKey: "padding"))
        try cornerRadius.encode(into: container.superEncoder(forKey: "cornerRadius"))
        try border?.encode(into: container.superEncoder(forKey: "border"))
    }
}

extension StyleSheet.TextLine? {
    private enum Part: String, CaseIterable {
        case pattern, color
    }

    /// Reads `true`, `false`, a pattern, or an object with a pattern and a color.
    init(json decoder: any Decoder) throws {
        let value = try? decoder.singleValueContainer()
        if let isOn = try? value?.decode(Bool.self) {
            self = isOn ? StyleSheet.TextLine() : nil
        } else if (try? value?.decode(String.self)) != nil {
            self = StyleSheet.TextLine(try Self.pattern(json: decoder))
        } else if (try? decoder.container(keyedBy: StyleKey.self)) != nil {
            let object = try decoder.object(of: Part.self, called: "part of a line")
            self = StyleSheet.TextLine(
                try object.value(of: .pattern) { try Self.pattern(json: $0) } ?? .single,
                color: try object.value(of: .color) { try .init(json: $0) })
        } else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a line",
                remedy: "Write true or false, \"wavy\", or { \"pattern\": \"dotted\", \"color\": \"accent\" }")
        }
    }

    private static func pattern(json decoder: any Decoder) throws -> StyleSheet.TextLine.Pattern {
        try decoder.choice(of: StyleSheet.TextLine.Pattern.self, called: "a pattern")
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case nil: try encoder.write(false)
        case let line? where line == StyleSheet.TextLine(): try encoder.write(true)
        case let line?:
            guard let color = line.color else { return try encoder.write(line.pattern.rawValue) }
            var container = encoder.container(keyedBy: StyleKey.self)
            try container.encode(line.pattern.rawValue, forKey: "pattern")
            try color.encode(into: container.superEncoder(forKey: "color"))
        }
    }
}

extension StyleSheet.Border {
    private enum Part: String, CaseIterable {
        case edges, width, color, pattern, cornerRadius
    }

    init(json decoder: any Decoder) throws {
        let object = try decoder.object(of: Part.self, called: "part of a border")
        let edges = try object.value(of: .edges) {
            try $0.elements(of: "edges") { try $0.choice(of: StyleSheet.Edge.self, called: "an edge") }
        }
        self.init(
            edges: Set(edges ?? StyleSheet.Edge.allCases),
            width: try object.value(of: .width) { try .init(json: $0) } ?? .points(1),
            color: try object.value(of: .color) { try .init(json: $0) } ?? .border,
            pattern: try object.value(of: .pattern) {
                try $0.choice(of: StyleSheet.Border.Pattern.self, called: "a pattern")
            } ?? .solid,
            cornerRadius: try object.value(of: .cornerRadius) { try .init(json: $0) } ?? .points(0))
    }

    func encode(into encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: StyleKey.self)
        try container.encode(edges.map(\.rawValue).sorted(), forKey: "edges")
        try width.encode(into: container.superEncoder(forKey: "width"))
        try color.encode(into: container.superEncoder(forKey: "color"))
        if pattern != .solid { try container.encode(pattern.rawValue, forKey: "pattern") }
        if cornerRadius != .points(0) { try cornerRadius.encode(into: container.superEncoder(forKey: "cornerRadius")) }
    }
}

extension StyleSheet.Padding {
    init(json decoder: any Decoder) throws {
        guard (try? decoder.container(keyedBy: StyleKey.self)) != nil else {
            self = .all(try .init(json: decoder))
            return
        }
        let object = try decoder.object(of: StyleSheet.Edge.self, called: "edge")
        let sides = try object.values { try StyleSheet.Length(json: $1) }
        self.init(
            top: sides[.top] ?? .points(0), leading: sides[.leading] ?? .points(0),
            bottom: sides[.bottom] ?? .points(0),
            trailing: sides[.trailing] ?? .points(0))
    }

    func encode(into encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: StyleKey.self)
        try top.encode(into: container.superEncoder(forKey: "top"))
        try leading.encode(into: container.superEncoder(forKey: "leading"))
        try bottom.encode(into: container.superEncoder(forKey: "bottom"))
        try trailing.encode(into: container.superEncoder(forKey: "trailing"))
    }
}

// MARK: - Keys and values

struct StyleKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringLiteral name: String) { self.init(name) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

/// A type with a fixed set of values that have names in JSON.
protocol NamedInJSON: Hashable {
    static var allNamed: [Self] { get }
    var name: String { get }
}

extension NamedInJSON where Self: RawRepresentable, RawValue == String, Self: CaseIterable {
    static var allNamed: [Self] { Array(allCases) }
    var name: String { rawValue }
}

extension StyleSheet.Role: NamedInJSON {}
extension StyleSheet.InlineStyle.Property: NamedInJSON {}
extension StyleSheet.Alignment: NamedInJSON {}
extension StyleSheet.TextStyle: NamedInJSON {}
extension StyleSheet.FontDesign: NamedInJSON {}
extension StyleSheet.FontWeight: NamedInJSON {}
extension StyleSheet.FontWidth: NamedInJSON {}
extension StyleSheet.Numbering: NamedInJSON {}
extension StyleSheet.TextLine.Pattern: NamedInJSON {}
extension StyleSheet.Border.Pattern: NamedInJSON {}
extension StyleSheet.Edge: NamedInJSON {}
extension StyleSheet.ANSI: NamedInJSON {}
extension StyleSheet.InlineSelector: NamedInJSON {
    static var allNamed: [Self] { allCases }
}

extension StyleSheet.BlockSelector: NamedInJSON {
    static var allNamed: [Self] { allCases }
}

extension StyleSheet.BlockStyle.Property: NamedInJSON {
    static var allNamed: [Self] {
        StyleSheet.InlineStyle.Property.allCases.map { .text($0) }
            + StyleSheet.BlockStyle.BlockProperty.allCases.map { .block($0) }
    }

    var name: String {
        switch self {
        case .text(let property): property.rawValue
        case .block(let property): property.rawValue
        }
    }
}

/// A JSON object with known keys only.
struct ObjectInJSON<Key: Hashable> {
    var decoders: [(key: Key, decoder: any Decoder)]

    func value<Value>(of key: Key, _ read: (any Decoder) throws -> Value) throws -> Value? {
        try decoders.first { $0.key == key }.map { try read($0.decoder) }
    }

    func values<Value>(_ read: (Key, any Decoder) throws -> Value) throws -> [Key: Value] {
        var result: [Key: Value] = [:]
        for (key, decoder) in decoders { result[key] = try read(key, decoder) }
        return result
    }
}

extension Decoder {
    /// Reads an object. Throws an error for a key that isn't in the set.
    func object<Key: NamedInJSON>(of type: Key.Type, called what: String) throws -> ObjectInJSON<Key> {
        try object(named: Dictionary(uniqueKeysWithValues: Key.allNamed.map { ($0.name, $0) }), called: what)
    }

    func object<Key: RawRepresentable & CaseIterable & Hashable>(
        of type: Key.Type, called what: String
    ) throws -> ObjectInJSON<Key> where Key.RawValue == String {
        try object(named: Dictionary(uniqueKeysWithValues: Key.allCases.map { ($0.rawValue, $0) }), called: what)
    }

    private func object<Key: Hashable>(named keys: [String: Key], called what: String) throws -> ObjectInJSON<Key> {
        guard let container = try? container(keyedBy: StyleKey.self) else {
            throw NativeMarkError(
                .styleSheet, at: codingPath, "isn't an object", remedy: "Write { … } with names and values")
        }
        return ObjectInJSON(
            decoders: try container.allKeys.map { key in
                guard let known = keys[key.stringValue] else {
                    throw NativeMarkError(
                        .styleSheet, at: codingPath + [key], "isn't a known \(what)",
                        remedy: "Use one of: \(keys.keys.sorted().joined(separator: ", "))")
                }
                return (known, try container.superDecoder(forKey: key))
            })
    }

    func string(expected: String) throws -> String {
        guard let text = try? singleValueContainer().decode(String.self) else {
            throw NativeMarkError(.styleSheet, at: codingPath, "isn't \(expected)", remedy: "Write a string")
        }
        return text
    }

    func choice<Value: NamedInJSON>(of type: Value.Type, called what: String) throws -> Value {
        let text = try string(expected: what)
        guard let value = Value.allNamed.first(where: { $0.name == text }) else {
            throw NativeMarkError(
                .styleSheet, at: codingPath, "isn't \(what): '\(text)'",
                remedy: "Use one of: \(Value.allNamed.map(\.name).joined(separator: ", "))")
        }
        return value
    }

    func flag() throws -> Bool {
        guard let value = try? singleValueContainer().decode(Bool.self) else {
            throw NativeMarkError(
                .styleSheet, at: codingPath, "isn't a Boolean", remedy: "Write true or false")
        }
        return value
    }

    func number(expected: String, example: String) throws -> Double {
        guard let value = try? singleValueContainer().decode(Double.self) else {
            throw NativeMarkError(
                .styleSheet, at: codingPath, "isn't \(expected)", remedy: "Write a number such as \(example)")
        }
        return value
    }

    func elements<Value>(of what: String, _ read: (any Decoder) throws -> Value) throws -> [Value] {
        guard var container = try? unkeyedContainer() else {
            throw NativeMarkError(
                .styleSheet, at: codingPath, "isn't an array of \(what)", remedy: "Write [ … ] with \(what)")
        }
        var values: [Value] = []
        while !container.isAtEnd { values.append(try read(container.superDecoder())) }
        return values
    }
}

extension Encoder {
    func write(_ value: some Encodable) throws {
        var container = singleValueContainer()
        try container.encode(value)
    }
}
