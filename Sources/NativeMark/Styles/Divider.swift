extension StyleSheet {
    /// What a thematic break looks like: a line, or a text such as three asterisks.
    ///
    ///     sheet.setting(block: [.thematicBreak: [.divider(.rule(thickness: .points(2), color: .accent, width: .fraction(0.5)))]])
    ///     sheet.setting(block: [.thematicBreak: [.divider(.ornament("* * *"))]])
    ///
    /// Without this style, a thematic break is a thin line in the color of the block's text, as wide as the block. The style has an effect
    /// only on ``BlockSelector/thematicBreak``.
    public enum Divider: Sendable, Hashable {
        /// A horizontal line. Without a color, it has the color of the block's text. The alignment matters if it is narrower than the
        /// block. Terminals show the box drawing character of its pattern.
        case rule(
            thickness: Length = .points(1), color: Color? = nil, width: Extent = .fraction(1),
            pattern: Border.Pattern = .solid, alignment: Alignment = .center)
        /// A line of text in the style of the block, such as `⁂`. At most 64 Unicode scalars are shown.
        case ornament(String, alignment: Alignment = .center)
    }

    /// A size that is fixed, or a part of the available width.
    public enum Extent: Sendable, Hashable {
        /// A fixed length.
        case length(Length)
        /// A part of the available width, from 0 to 1.
        case fraction(Double)
    }
}

extension ResolvedBlockStyle {
    /// What a thematic break looks like, with lengths in points.
    public enum Divider: Sendable, Hashable {
        /// A horizontal line.
        case rule(Rule)
        /// A line of text.
        case ornament(String, alignment: StyleSheet.Alignment)
    }

    /// A horizontal line.
    public struct Rule: Sendable, Hashable {
        /// The thickness in points.
        public var thickness: Double
        /// The color.
        public var color: StyleSheet.Tone
        /// The width. A ``StyleSheet/Extent/length(_:)`` is in points.
        public var width: StyleSheet.Extent
        /// The form of the line.
        public var pattern: StyleSheet.Border.Pattern
        /// The position of a line that is narrower than the block.
        public var alignment: StyleSheet.Alignment
    }

    /// The line of a thematic break, or `nil` if it is a text.
    var rule: Rule? {
        switch divider {
        case .rule(let rule): rule
        case .ornament: nil
        case nil:
            Rule(thickness: 1, color: text.color, width: .fraction(1), pattern: .solid, alignment: .center)
        }
    }
}

extension ResolvedBlockStyle.Rule {
    /// Returns the width in the unit of `available`: at most that, and at least 0. `unit` is a point.
    func width(in available: Double, unit: Double = 1) -> Double {
        let wanted =
            switch width {
            case .length(let length): length.points(atFontSize: 0) * unit
            case .fraction(let fraction): fraction * available
            }
        return wanted.isFinite ? min(max(wanted, 0), available) : available
    }
}

extension ResolvedStyleSheet {
    func resolved(_ divider: StyleSheet.Divider, in text: ResolvedTextStyle) -> ResolvedBlockStyle.Divider {
        switch divider {
        case .rule(let thickness, let color, let width, let pattern, let alignment):
            .rule(
                .init(
                    thickness: thickness.points(atFontSize: text.fontSize), color: color.map(tone) ?? text.color,
                    width: width.resolved(atFontSize: text.fontSize), pattern: pattern, alignment: alignment))
        case .ornament(let text, let alignment): .ornament(text, alignment: alignment)
        }
    }
}

extension StyleSheet.Extent {
    fileprivate func resolved(atFontSize size: Double) -> Self {
        switch self {
        case .length(let length): .length(.points(length.points(atFontSize: size)))
        case .fraction: self
        }
    }
}

extension StyleSheet.Divider {
    /// An ornament on one line.
    static func limited(_ ornament: String) -> String {
        String(StyleSheet.Marker.limited(ornament).map { $0.isNewline || $0 == "\t" ? " " : $0 })
    }
}

// MARK: - JSON

extension StyleSheet.Divider {
    private enum Part: String, CaseIterable {
        case ornament, thickness, color, width, pattern, alignment
    }

    /// Reads an ornament, or an object with an ornament or the parts of a line.
    init(json decoder: any Decoder) throws {
        if let ornament = try? decoder.singleValueContainer().decode(String.self) {
            self = .ornament(ornament)
            return
        }
        guard (try? decoder.container(keyedBy: StyleKey.self)) != nil else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a divider",
                remedy:
                    "Write an ornament such as \"* * *\", or a line such as { \"thickness\": 2, \"width\": \"50%\" }")
        }
        let object = try decoder.object(of: Part.self, called: "part of a divider")
        let alignment =
            try object.value(of: .alignment) {
                try $0.choice(of: StyleSheet.Alignment.self, called: "an alignment")
            } ?? .center
        let ornament = try object.value(of: .ornament) { try $0.string(expected: "an ornament") }
        let thickness = try object.value(of: .thickness) { try StyleSheet.Length(json: $0) }
        let color = try object.value(of: .color) { try StyleSheet.Color(json: $0) }
        let width = try object.value(of: .width) { try StyleSheet.Extent(json: $0) }
        let pattern = try object.value(of: .pattern) {
            try $0.choice(of: StyleSheet.Border.Pattern.self, called: "a pattern")
        }
        guard let ornament else {
            self = .rule(
                thickness: thickness ?? .points(1), color: color, width: width ?? .fraction(1),
                pattern: pattern ?? .solid, alignment: alignment)
            return
        }
        guard thickness == nil, color == nil, width == nil, pattern == nil else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "must be either a text or a line",
                remedy:
                    "Write either \"ornament\", or the \"thickness\", \"color\", \"width\" and \"pattern\" of a line")
        }
        self = .ornament(ornament, alignment: alignment)
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .ornament(let text, .center): try encoder.write(text)
        case .ornament(let text, let alignment):
            try encoder.write(["ornament": text, "alignment": alignment.rawValue])
        case .rule(let thickness, let color, let width, let pattern, let alignment):
            var container = encoder.container(keyedBy: StyleKey.self)
            try thickness.encode(into: container.superEncoder(forKey: "thickness"))
            try color?.encode(into: container.superEncoder(forKey: "color"))
            try width.encode(into: container.superEncoder(forKey: "width"))
            if pattern != .solid { try container.encode(pattern.rawValue, forKey: "pattern") }
            if alignment != .center { try container.encode(alignment.rawValue, forKey: "alignment") }
        }
    }
}

extension StyleSheet.Extent {
    /// Reads a length, or a percentage.
    init(json decoder: any Decoder) throws {
        guard let text = try? decoder.singleValueContainer().decode(String.self), text.hasSuffix("%") else {
            self = .length(try .init(json: decoder))
            return
        }
        guard let percent = Double(text.dropLast()), (0...100).contains(percent) else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a percentage from 0 to 100: '\(text)'",
                remedy: "Write a percentage such as \"50%\", or a length such as 12 or \"1.5em\"")
        }
        self = .fraction(percent / 100)
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .length(let length): try length.encode(into: encoder)
        case .fraction(let fraction):
            let limited = fraction.isFinite ? min(max(fraction, 0), 1) : 1
            // Of the numbers beside the product, the one that is read back as the same fraction.
            let percent = limited * 100
            let near = [percent, percent.nextDown, percent.nextUp].first {
                (0...100).contains($0) && $0 / 100 == limited
            }
            try encoder.write("\(near ?? percent)%")
        }
    }
}
