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
