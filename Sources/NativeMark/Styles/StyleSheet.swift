/// How the parts of a document look: rules for blocks, rules for text inside them, and the colours behind the roles.
///
///     let sheet = StyleSheet.default
///         .setting(inline: [.emphasis: [.color(.accent)]])
///         .setting(block: [.heading(level: 1): [.textStyle(.largeTitle), .spacingAfter(.em(0.5))]])
///         .setting(colors: [.accent: .init(light: .rgb(0x0A5FFF), dark: .rgb(0x6FB1FF))])
///
/// What text looks like is inherited from outside to inside, and inner rules win: a code span in a heading has the
/// heading's weight and the span's background. Alignment and line spacing are inherited by blocks, too; indents add up;
/// everything else of a block (spacing, border, padding, background, marker) is its own.
///
/// A sheet is a value that knows no screen. ``resolved(in:)`` makes points and plain colours of it, for an appearance
/// and a size category. Sheets are read from JSON and written to it, see ``init(json:)``.
public struct StyleSheet: Sendable, Hashable {
    /// The rules for blocks, each with at most one style per property.
    public private(set) var blocks: [BlockSelector: [BlockStyle]] = [:]

    /// The rules for text inside blocks, each with at most one style per property.
    public private(set) var inlines: [InlineSelector: [InlineStyle]] = [:]

    /// What the roles stand for. A role that is missing here has the colour that ``default`` gives it.
    public private(set) var colors: [Role: Paint] = [:]

    /// A sheet without rules: body text, markers, and nothing else.
    public init() {}

    /// The sheet with more rules for blocks. A style replaces an earlier one of the same selector and property.
    ///
    ///     sheet.setting(block: [.blockQuote: [.color(.secondary)], .headings: [.bold(true)]])
    ///
    /// A heading's level outside 1 to 6 is a mistake, and traps.
    public func setting(block rules: [BlockSelector: [BlockStyle]]) -> StyleSheet {
        var result = self
        for (selector, styles) in rules {
            if case .heading(let level) = selector {
                precondition((1...6).contains(level), "headings have the levels 1 to 6, and \(level) is none of them")
            }
            result.blocks[selector] = (result.blocks[selector] ?? []).replacing(with: styles)
        }
        return result
    }

    /// The sheet with more rules for text inside blocks. A style replaces an earlier one of the same selector and property.
    ///
    ///     sheet.setting(inline: [.emphasis: [.color(.accent)]])
    public func setting(inline rules: [InlineSelector: [InlineStyle]]) -> StyleSheet {
        var result = self
        for (selector, styles) in rules {
            result.inlines[selector] = (result.inlines[selector] ?? []).replacing(with: styles)
        }
        return result
    }

    /// The sheet with other colours behind some roles.
    ///
    ///     sheet.setting(colors: [.link: .init(.ansi(.cyan))])
    public func setting(colors paints: [Role: Paint]) -> StyleSheet {
        var result = self
        result.colors.merge(paints) { $1 }
        return result
    }
}

/// One style of a rule; a rule has at most one of each property, in the order of the properties.
protocol StyleOfProperty {
    /// What it is about.
    associatedtype Property: Hashable
    var property: Property { get }
    /// Where it stands in a rule. Text styles come first: lengths in em are of the size that they give.
    var rank: Int { get }
}

extension Array where Element: StyleOfProperty {
    /// With the later styles in place of those of the same property.
    func replacing(with later: [Element]) -> [Element] {
        var byProperty: [Element.Property: Element] = [:]
        for style in self + later { byProperty[style.property] = style }
        return byProperty.values.sorted { $0.rank < $1.rank }
    }
}
