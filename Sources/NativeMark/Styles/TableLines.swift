extension StyleSheet {
    /// The lines of a table.
    ///
    ///     sheet.setting(block: [
    ///         .table: [.tableLines(.init([.rows], color: .secondary)), .alternateRowBackground(.codeBackground)],
    ///         .tableHeader: [.background(.codeBackground)],
    ///         .tableCell: [.padding(.all(.em(0.5)))],
    ///     ])
    ///
    /// A ``BlockStyle/border(_:)`` of the table replaces the outer lines. Without this style, the border of a table also draws lines between
    /// its columns and below its header. The style has an effect only on ``BlockSelector/table``.
    public struct TableLines: Sendable, Hashable {
        /// Where lines are.
        public var parts: Set<Part>
        /// The thickness. Terminals have only one thickness.
        public var width: Length
        /// The color of the lines.
        public var color: Color
        /// The form of the lines.
        public var pattern: Border.Pattern

        /// Creates lines, by default around the table and between all its cells.
        public init(
            _ parts: Set<Part> = Set(Part.allCases), width: Length = .points(1), color: Color = .border,
            pattern: Border.Pattern = .solid
        ) {
            self.parts = parts
            self.width = width
            self.color = color
            self.pattern = pattern
        }

        /// A place for lines in a table.
        public enum Part: String, Sendable, Hashable, CaseIterable {
            /// Around the table.
            case outer
            /// Below the header.
            case header
            /// Between the rows, and below the header.
            case rows
            /// Between the columns.
            case columns
        }
    }
}

extension ResolvedBlockStyle {
    /// The lines of a table, with the width in points.
    public struct TableLines: Sendable, Hashable {
        /// Where lines are.
        public var parts: Set<StyleSheet.TableLines.Part>
        /// The thickness in points.
        public var width: Double
        /// The color of the lines.
        public var color: StyleSheet.Tone
        /// The form of the lines.
        public var pattern: StyleSheet.Border.Pattern
    }

    /// The border around a table: its own, or its outer lines.
    var tableBorder: Border? {
        guard border == nil, let tableLines, tableLines.parts.contains(.outer) else { return border }
        return Border(
            edges: Set(StyleSheet.Edge.allCases), width: tableLines.width, color: tableLines.color,
            pattern: tableLines.pattern)
    }

    /// The line below the header of a table.
    var headerLine: Line? { line(tableLines?.parts.isDisjoint(with: [.header, .rows]) == false, isOfBorder: true) }
    /// The line between two rows of a table.
    var rowLine: Line? { line(tableLines?.parts.contains(.rows) == true, isOfBorder: false) }
    /// The line between two columns of a table.
    var columnLine: Line? { line(tableLines?.parts.contains(.columns) == true, isOfBorder: true) }

    /// A line within a table.
    struct Line {
        var width: Double
        var color: StyleSheet.Tone
        var pattern: StyleSheet.Border.Pattern
    }

    /// Returns the line if the style of the lines has it, or the line of the border without such a style.
    private func line(_ isIncluded: Bool, isOfBorder: Bool) -> Line? {
        if let tableLines {
            isIncluded ? .init(width: tableLines.width, color: tableLines.color, pattern: tableLines.pattern) : nil
        } else if isOfBorder, let border {
            Line(width: border.width, color: border.color, pattern: border.pattern)
        } else {
            nil
        }
    }
}

extension ResolvedStyleSheet {
    func resolved(_ lines: StyleSheet.TableLines, atFontSize size: Double) -> ResolvedBlockStyle.TableLines {
        .init(
            parts: lines.parts, width: lines.width.points(atFontSize: size), color: tone(of: lines.color),
            pattern: lines.pattern)
    }
}

// MARK: - JSON

extension StyleSheet.TableLines.Part: NamedInJSON {}

extension StyleSheet.TableLines {
    private enum Key: String, CaseIterable {
        case parts, width, color, pattern
    }

    /// Reads an array of parts, or an object.
    init(json decoder: any Decoder) throws {
        if (try? decoder.unkeyedContainer()) != nil {
            self.init(try Self.parts(json: decoder))
            return
        }
        guard (try? decoder.container(keyedBy: StyleKey.self)) != nil else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't an array of lines",
                remedy:
                    "Write [\"outer\", \"header\"], or { \"parts\": [\"rows\"], \"width\": 2, \"color\": \"border\" }")
        }
        let object = try decoder.object(of: Key.self, called: "part of a table's lines")
        self.init(
            try object.value(of: .parts) { try Self.parts(json: $0) } ?? Set(Part.allCases),
            width: try object.value(of: .width) { try .init(json: $0) } ?? .points(1),
            color: try object.value(of: .color) { try .init(json: $0) } ?? .border,
            pattern: try object.value(of: .pattern) {
                try $0.choice(of: StyleSheet.Border.Pattern.self, called: "a pattern")
            } ?? .solid)
    }

    private static func parts(json decoder: any Decoder) throws -> Set<Part> {
        Set(try decoder.elements(of: "lines") { try $0.choice(of: Part.self, called: "a line of a table") })
    }

    func encode(into encoder: any Encoder) throws {
        let parts = parts.map(\.rawValue).sorted()
        guard self != Self(self.parts) else { return try encoder.write(parts) }
        var container = encoder.container(keyedBy: StyleKey.self)
        try container.encode(parts, forKey: "parts")
        try width.encode(into: container.superEncoder(forKey: "width"))
        try color.encode(into: container.superEncoder(forKey: "color"))
        if pattern != .solid { try container.encode(pattern.rawValue, forKey: "pattern") }
    }
}
