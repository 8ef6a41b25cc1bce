// A color in JSON is a role, a tone, or an object. The object has either a tone for each appearance, or a name and a fallback.

extension StyleSheet.Tone {
    /// Reads `standard`, `ansi:red`, `#RRGGBB`, `#RRGGBBAA`, `color(display-p3 1 0.5 0 / 0.8)` and `name:Brand`.
    init?(text: String) {
        if text == "standard" {
            self = .standard
        } else if text.hasPrefix("ansi:"), let color = StyleSheet.ANSI(rawValue: String(text.dropFirst(5))) {
            self = .ansi(color)
        } else if text.hasPrefix("name:"), text.utf8.count > 5 {
            self = .named(String(text.dropFirst(5)), fallback: .standard)
        } else if text.hasPrefix("#"), let color = Self(hexadecimal: text.dropFirst()) {
            self = color
        } else if let color = Self(displayP3: text) {
            self = color
        } else {
            return nil
        }
    }

    private init?(hexadecimal digits: Substring) {
        guard [6, 8].contains(digits.utf8.count), digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: 16)
        else { return nil }
        self = digits.utf8.count == 6 ? .rgb(value) : .rgb(value >> 8, alpha: Double(value & 0xFF) / 255)
    }

    /// Reads the `color()` function of CSS Color 4, section 10. Components are numbers from 0 to 1 or percentages.
    private init?(displayP3 text: String) {
        guard text.hasPrefix("color("), text.hasSuffix(")") else { return nil }
        let parts = text.dropFirst(6).dropLast().split(separator: "/", omittingEmptySubsequences: false)
        let components = parts[0].split(separator: " ")
        guard parts.count <= 2, components.count == 4, components[0] == "display-p3" else { return nil }
        let alpha = parts.count == 2 ? parts[1].split(separator: " ") : ["1"]
        let numbers = (components.dropFirst() + alpha).map(Self.component)
        guard numbers.count == 4, let red = numbers[0], let green = numbers[1], let blue = numbers[2],
            let alpha = numbers[3]
        else { return nil }
        self = .displayP3(red: red, green: green, blue: blue, alpha: alpha)
    }

    private static func component(_ text: Substring) -> Double? {
        let number = text.hasSuffix("%") ? Double(text.dropLast()).map { $0 / 100 } : Double(text)
        return number.flatMap { 0...1 ~= $0 ? $0 : nil }
    }

    /// The text that `init(text:)` reads, or `nil` for an empty name or a name with a fallback.
    var text: String? {
        switch self {
        case .standard: return "standard"
        case .ansi(let color): return "ansi:\(color.rawValue)"
        case .rgb(let red, let green, let blue, let alpha):
            return "#" + ([red, green, blue] + (alpha == 255 ? [] : [alpha])).map(Self.hexadecimal).joined()
        case .displayP3(let red, let green, let blue, let alpha):
            let alpha = DisplayP3.clamped(alpha)
            let components = [red, green, blue].map { "\(DisplayP3.clamped($0))" }.joined(separator: " ")
            return "color(display-p3 \(components)\(alpha == 1 ? "" : " / \(alpha)"))"
        case .named(let name, .standard): return name.isEmpty ? nil : "name:\(name)"
        case .named: return nil
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    static let remedy =
        "\"#RRGGBB\", \"#RRGGBBAA\", \"color(display-p3 1 0.5 0)\" with components from 0 to 1, \"name:Brand\", "
        + "\"standard\", or one of " + StyleSheet.ANSI.allCases.map { "ansi:\($0.rawValue)" }.joined(separator: ", ")

    fileprivate init(json decoder: any Decoder) throws {
        guard let text = try? decoder.singleValueContainer().decode(String.self) else {
            let (name, fallback) = try decoder.namedColor()
            self = .named(name, fallback: try fallback.map { try Self(plainJSON: $0) } ?? .standard)
            return
        }
        self = try Self(text: text, at: decoder.codingPath)
    }

    private init(text: String, at path: [any CodingKey]) throws {
        guard let tone = Self(text: text) else {
            throw NativeMarkError(.styleSheet, at: path, "isn't a color: '\(text)'", remedy: "Write " + Self.remedy)
        }
        self = tone
    }

    /// Reads the fallback of a name. It can't be a name itself, so that one lookup in the asset catalog is enough.
    fileprivate init(plainJSON decoder: any Decoder) throws {
        self = try Self(text: try decoder.string(expected: "a color"), at: decoder.codingPath)
        if case .named = self {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "is a name, as the color that it replaces",
                remedy: "Write a color with components, such as \"#RRGGBB\"")
        }
    }

    fileprivate func encode(into encoder: any Encoder) throws {
        if let text { return try encoder.write(text) }
        guard case .named(let name, let fallback) = self else { return }
        var container = encoder.container(keyedBy: StyleKey.self)
        try container.encode(name, forKey: "name")
        try container.encode(fallback.withoutName.text, forKey: "fallback")
    }
}

private enum NamedColorPart: String, CaseIterable {
    case name, fallback
}

extension Decoder {
    /// Reads `{ "name": …, "fallback": … }`.
    fileprivate func namedColor() throws -> (name: String, fallback: (any Decoder)?) {
        let object = try object(of: NamedColorPart.self, called: "part of a color")
        guard let name = try object.value(of: .name, { try $0.string(expected: "the name of a color") }) else {
            throw NativeMarkError(
                .styleSheet, at: codingPath, "has no name",
                remedy: "Write \"name\" and, for terminals and HTML, \"fallback\"")
        }
        return (name, try object.value(of: .fallback) { $0 })
    }
}

extension StyleSheet.Paint {
    private enum Side: String, CaseIterable {
        case light, dark, lightIncreasedContrast, darkIncreasedContrast
    }

    init(json decoder: any Decoder) throws {
        guard let keys = try? decoder.container(keyedBy: StyleKey.self).allKeys.map(\.stringValue) else {
            self.init(try StyleSheet.Tone(json: decoder))
            return
        }
        if keys.contains("name") {
            let (name, fallback) = try decoder.namedColor()
            self = .named(name, fallback: try fallback.map { try Self(plainJSON: $0) } ?? .init(.standard))
        } else {
            try self.init(sides: decoder) { try StyleSheet.Tone(json: $0) }
        }
    }

    private init(plainJSON decoder: any Decoder) throws {
        if (try? decoder.singleValueContainer().decode(String.self)) != nil {
            self.init(try StyleSheet.Tone(plainJSON: decoder))
        } else {
            try self.init(sides: decoder) { try StyleSheet.Tone(plainJSON: $0) }
        }
    }

    private init(sides decoder: any Decoder, _ read: (any Decoder) throws -> StyleSheet.Tone) throws {
        let object = try decoder.object(of: Side.self, called: "appearance")
        guard let light = try object.value(of: .light, read), let dark = try object.value(of: .dark, read) else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "doesn't have a color for both appearances",
                remedy: "Write both \"light\" and \"dark\"")
        }
        self.init(
            light: light, dark: dark, lightIncreasedContrast: try object.value(of: .lightIncreasedContrast, read),
            darkIncreasedContrast: try object.value(of: .darkIncreasedContrast, read))
    }

    func encode(into encoder: any Encoder) throws {
        if let name = commonName {
            let plain = StyleSheet.Paint(
                light: light.withoutName, dark: dark.withoutName,
                lightIncreasedContrast: lightIncreasedContrast?.withoutName,
                darkIncreasedContrast: darkIncreasedContrast?.withoutName)
            var container = encoder.container(keyedBy: StyleKey.self)
            try container.encode(name, forKey: "name")
            try plain.encodeSides(into: container.superEncoder(forKey: "fallback"))
        } else {
            try encodeSides(into: encoder)
        }
    }

    /// The asset name, if all tones have the same one.
    private var commonName: String? {
        guard case .named(let name, _) = light else { return nil }
        let tones = [dark, lightIncreasedContrast, darkIncreasedContrast].compactMap { $0 }
        return tones.allSatisfy { if case .named(name, _) = $0 { true } else { false } } ? name : nil
    }

    private func encodeSides(into encoder: any Encoder) throws {
        if light == dark, lightIncreasedContrast == nil, darkIncreasedContrast == nil, let text = light.text {
            return try encoder.write(text)
        }
        var container = encoder.container(keyedBy: StyleKey.self)
        try light.encode(into: container.superEncoder(forKey: "light"))
        try dark.encode(into: container.superEncoder(forKey: "dark"))
        try lightIncreasedContrast?.encode(into: container.superEncoder(forKey: "lightIncreasedContrast"))
        try darkIncreasedContrast?.encode(into: container.superEncoder(forKey: "darkIncreasedContrast"))
    }
}

extension StyleSheet.Color {
    init(json decoder: any Decoder) throws {
        guard let text = try? decoder.singleValueContainer().decode(String.self) else {
            self = .paint(try .init(json: decoder))
            return
        }
        if let role = StyleSheet.Role(rawValue: text) {
            self = .role(role)
        } else if let tone = StyleSheet.Tone(text: text) {
            self = .paint(.init(tone))
        } else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a color: '\(text)'",
                remedy: "Write a role (\(StyleSheet.Role.allCases.map(\.rawValue).joined(separator: ", "))), "
                    + "{ \"light\": …, \"dark\": … }, " + StyleSheet.Tone.remedy)
        }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .role(let role): try encoder.write(role.rawValue)
        case .paint(let paint): try paint.encode(into: encoder)
        }
    }
}
