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
    /// All parts are optional. The rules are added to those of the base: ``default``, another one of ``named``, or `"empty"`. A length is
    /// a number of points or a string in `em` or `pt`. Unknown keys are errors.
    ///
    /// | color | |
    /// |---|---|
    /// | `accent` | a role |
    /// | `#RRGGBB`, `#RRGGBBAA` | sRGB, with or without alpha |
    /// | `color(display-p3 1 0.5 0 / 0.8)` | Display P3, as in CSS, with or without alpha |
    /// | `ansi:cyan` | one of the terminal's sixteen colors |
    /// | `standard` | the text color of the terminal or label |
    /// | `name:Brand` | a color of the app's asset catalog |
    /// | `{ "name": "Brand", "fallback": … }` | the same, with the color to show elsewhere |
    /// | `{ "light": …, "dark": … }` | one color for each appearance, and optionally `lightIncreasedContrast`, `darkIncreasedContrast` |
    ///
    /// - Throws: A ``NativeMarkError`` that names the key and says what to write instead.
    public init(json: String) throws(NativeMarkError) {
        do {
            self = try JSONDecoder().decode(StyleSheet.self, from: Data(json.utf8))
        } catch let error as NativeMarkError {
            throw error
        } catch let error as DecodingError {
            throw NativeMarkError(styleSheet: error)
        } catch {
            throw NativeMarkError(.styleSheet, at: [], "can't be read: \(error)", remedy: "Check that it is valid JSON")
        }
    }

    /// The sheet as JSON that ``init(json:)`` reads, with its keys in alphabetical order. Lengths that aren't finite are written as 0.
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

    /// Creates a sheet from any decoder with keyed containers, in the format of ``init(json:)``.
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
                block: try blocks.values { _, decoder in
                    try decoder.object(of: BlockStyle.Property.self, called: "style of a block")
                        .values { try BlockStyle($0, json: $1) }.map(\.value)
                })
        }
        if let inlines = try sheet.value(
            of: .inlines, { try $0.object(of: InlineSelector.self, called: "kind of text") })
        {
            self = setting(
                inline: try inlines.values { _, decoder in
                    try decoder.object(of: InlineStyle.Property.self, called: "style of text")
                        .values { try InlineStyle($0, json: $1) }.map(\.value)
                })
        }
    }

    /// Encodes all rules, with the base `empty`.
    public func encode(to encoder: any Encoder) throws {
        var sheet = encoder.container(keyedBy: StyleKey.self)
        try sheet.encode("empty", forKey: "base")
        var part = sheet.nestedContainer(keyedBy: StyleKey.self, forKey: "colors")
        for (role, paint) in colors { try paint.encode(into: part.superEncoder(forKey: StyleKey(role.rawValue))) }
        part = sheet.nestedContainer(keyedBy: StyleKey.self, forKey: "blocks")
        for (selector, styles) in blocks {
            var rule = part.nestedContainer(keyedBy: StyleKey.self, forKey: StyleKey(selector.name))
            for style in styles {
                try style.encode(into: rule.superEncoder(forKey: StyleKey(style.property.name)))
            }
        }
        part = sheet.nestedContainer(keyedBy: StyleKey.self, forKey: "inlines")
        for (selector, styles) in inlines {
            var rule = part.nestedContainer(keyedBy: StyleKey.self, forKey: StyleKey(selector.rawValue))
            for style in styles {
                try style.encode(into: rule.superEncoder(forKey: StyleKey(style.property.name)))
            }
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
