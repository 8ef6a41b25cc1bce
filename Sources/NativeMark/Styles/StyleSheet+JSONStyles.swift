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
            case .inlineBackground: .inlineBackground(try .init(json: decoder))
            case .kerning: .kerning(try .init(json: decoder))
            case .baseline: .baseline(try .init(json: decoder))
            case .bold: .bold(try decoder.flag())
            case .italic: .italic(try decoder.flag())
            case .underline: .underline(try decoder.flag())
            case .strikethrough: .strikethrough(try decoder.flag())
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
        case .color(let color), .inlineBackground(let color): try color.encode(into: encoder)
        case .kerning(let length), .baseline(let length): try length.encode(into: encoder)
        case .bold(let flag), .italic(let flag), .underline(let flag), .strikethrough(let flag):
            try encoder.write(flag)
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
            }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .text(let style): try style.encode(into: encoder)
        case .alignment(let alignment): try encoder.write(alignment.rawValue)
        case .firstLineIndent(let length), .leadingIndent(let length), .trailingIndent(let length),
            .spacingBefore(let length), .spacingAfter(let length), .lineSpacing(let length):
            try length.encode(into: encoder)
        case .lineHeight(let multiple): try encoder.write(multiple.isFinite ? multiple : 0)
        case .hyphenation(let flag): try encoder.write(flag)
        case .marker(let marker): try marker.encode(into: encoder)
        case .border(let border): try border.encode(into: encoder)
        case .padding(let padding): try padding.encode(into: encoder)
        case .background(let color): try color.encode(into: encoder)
        }
    }
}

extension StyleSheet.Marker {
    private enum Kind: String, CaseIterable {
        case numbers, bullets
    }

    init(json decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            guard text == "none" else {
                throw NativeMarkError(
                    .styleSheet, at: decoder.codingPath, "isn't a marker: '\(text)'",
                    remedy: "Write \"none\", { \"numbers\": [\"decimal\"] } or { \"bullets\": [\"•\"] }")
            }
            self = .none
            return
        }
        let object = try decoder.object(of: Kind.self, called: "kind of marker")
        guard object.decoders.count == 1, let (kind, values) = object.decoders.first else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "must have one kind of marker, but has \(object.decoders.count)",
                remedy: "Write either \"numbers\" or \"bullets\"")
        }
        switch kind {
        case .numbers:
            self = .numbers(
                try values.elements(of: "numberings") {
                    try $0.choice(of: StyleSheet.Numbering.self, called: "a numbering")
                })
        case .bullets: self = .bullets(try values.elements(of: "bullets") { try $0.string(expected: "a bullet") })
        }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .none: try encoder.write("none")
        case .numbers(let numberings):
            var container = encoder.container(keyedBy: StyleKey.self)
            try container.encode(numberings.map(\.rawValue), forKey: "numbers")
        case .bullets(let bullets):
            var container = encoder.container(keyedBy: StyleKey.self)
            try container.encode(bullets, forKey: "bullets")
        }
    }
}

extension Encoder {
    func write(_ value: some Encodable) throws {
        var container = singleValueContainer()
        try container.encode(value)
    }
}
