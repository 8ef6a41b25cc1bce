struct StyleKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringLiteral name: String) { self.init(name) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

/// A value with a name in JSON, from a fixed set of values.
protocol NamedInJSON: Hashable {
    static var allNamed: [Self] { get }
    var name: String { get }
}

extension NamedInJSON where Self: RawRepresentable, RawValue == String, Self: CaseIterable {
    static var allNamed: [Self] { Array(allCases) }
    var name: String { rawValue }
}

extension StyleSheet.Role: NamedInJSON {}
extension StyleSheet.InlineSelector: NamedInJSON {}
extension StyleSheet.InlineStyle.Property: NamedInJSON {}
extension StyleSheet.Alignment: NamedInJSON {}
extension StyleSheet.TextStyle: NamedInJSON {}
extension StyleSheet.FontDesign: NamedInJSON {}
extension StyleSheet.FontWeight: NamedInJSON {}
extension StyleSheet.FontWidth: NamedInJSON {}
extension StyleSheet.Numbering: NamedInJSON {}
extension StyleSheet.Edge: NamedInJSON {}
extension StyleSheet.ANSI: NamedInJSON {}
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
    /// Throws an error for a key that isn't in the set.
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
