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

extension StyleSheet.Tone {
    init?(name: String) {
        if name == "standard" {
            self = .standard
        } else if name.hasPrefix("ansi:"), let color = StyleSheet.ANSI(rawValue: String(name.dropFirst(5))) {
            self = .ansi(color)
        } else if name.hasPrefix("#"), name.utf8.count == 7, name.dropFirst().allSatisfy(\.isHexDigit),
            let value = UInt32(name.dropFirst(), radix: 16)
        {
            self = .rgb(value)
        } else {
            return nil
        }
    }

    var name: String {
        switch self {
        case .standard: "standard"
        case .ansi(let color): "ansi:\(color.rawValue)"
        case .rgb(let red, let green, let blue): "#" + [red, green, blue].map(Self.hexadecimal).joined()
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    fileprivate init(json decoder: any Decoder) throws {
        let text = try decoder.string(expected: "a color")
        guard let tone = Self(name: text) else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a color: '\(text)'",
                remedy: "Write \"#RRGGBB\", \"standard\", or one of "
                    + StyleSheet.ANSI.allCases.map { "ansi:\($0.rawValue)" }.joined(separator: ", "))
        }
        self = tone
    }
}

extension StyleSheet.Paint {
    private enum Side: String, CaseIterable {
        case light, dark
    }

    init(json decoder: any Decoder) throws {
        if (try? decoder.singleValueContainer().decode(String.self)) != nil {
            self.init(try .init(json: decoder))
            return
        }
        let object = try decoder.object(of: Side.self, called: "appearance")
        guard let light = try object.value(of: .light, { try StyleSheet.Tone(json: $0) }),
            let dark = try object.value(of: .dark, { try StyleSheet.Tone(json: $0) })
        else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "doesn't have a color for both appearances",
                remedy: "Write both \"light\" and \"dark\"")
        }
        self.init(light: light, dark: dark)
    }

    func encode(into encoder: any Encoder) throws {
        guard light != dark else { return try encoder.write(light.name) }
        var container = encoder.container(keyedBy: StyleKey.self)
        try container.encode(light.name, forKey: "light")
        try container.encode(dark.name, forKey: "dark")
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
        } else if let tone = StyleSheet.Tone(name: text) {
            self = .paint(.init(tone))
        } else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a color: '\(text)'",
                remedy: "Write a role (\(StyleSheet.Role.allCases.map(\.rawValue).joined(separator: ", "))), "
                    + "\"#RRGGBB\", \"ansi:red\" or another ANSI color, or { \"light\": …, \"dark\": … }")
        }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .role(let role): try encoder.write(role.rawValue)
        case .paint(let paint): try paint.encode(into: encoder)
        }
    }
}

extension StyleSheet.Border {
    private enum Part: String, CaseIterable {
        case edges, width, color
    }

    init(json decoder: any Decoder) throws {
        let object = try decoder.object(of: Part.self, called: "part of a border")
        let edges = try object.value(of: .edges) {
            try $0.elements(of: "edges") { try $0.choice(of: StyleSheet.Edge.self, called: "an edge") }
        }
        self.init(
            edges: Set(edges ?? StyleSheet.Edge.allCases),
            width: try object.value(of: .width) { try .init(json: $0) } ?? .points(1),
            color: try object.value(of: .color) { try .init(json: $0) } ?? .border)
    }

    func encode(into encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: StyleKey.self)
        try container.encode(edges.map(\.rawValue).sorted(), forKey: "edges")
        try width.encode(into: container.superEncoder(forKey: "width"))
        try color.encode(into: container.superEncoder(forKey: "color"))
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
