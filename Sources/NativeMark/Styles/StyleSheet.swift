/// The appearance of a document: rules for blocks, rules for text inside them, and a color for each role, such as `accent`.
///
///     let sheet = StyleSheet.default
///         .setting(inline: [.emphasis: [.color(.accent)]])
///         .setting(block: [.heading(level: 1): [.textStyle(.largeTitle), .spacingAfter(.em(0.5))]])
///         .setting(colors: [.accent: .init(light: .rgb(0x0A5FFF), dark: .rgb(0x6FB1FF))])
///
/// Text styles are inherited, and inner rules win: a code span in a heading has the heading's weight and the span's background.
/// Blocks inherit alignment and line spacing. Indents add up. Other block styles (spacing, border, padding, background, marker)
/// aren't inherited.
///
/// A sheet doesn't depend on a screen. ``resolved(in:)`` converts it to points and plain colors for an appearance and a size
/// category. ``init(json:)`` and ``json`` read and write sheets.
public struct StyleSheet: Sendable, Hashable {
    /// The rules for blocks. Each rule has at most one style per property.
    public private(set) var blocks: [BlockSelector: [BlockStyle]] = [:]

    /// The rules for text inside blocks. Each rule has at most one style per property.
    public private(set) var inlines: [InlineSelector: [InlineStyle]] = [:]

    /// The colors of the roles. Roles that are missing here have the colors of ``default``.
    public private(set) var colors: [Role: Paint] = [:]

    /// Creates a sheet without rules.
    public init() {}

    /// Returns a copy with more rules for blocks. A style replaces an earlier style of the same selector and property. The level of a
    /// heading must be from 1 to 6, otherwise it traps.
    public func setting(block rules: [BlockSelector: [BlockStyle]]) -> StyleSheet {
        var result = self
        for (selector, styles) in rules {
            if case .heading(let level) = selector {
                precondition((1...6).contains(level), "A heading's level must be from 1 to 6; it is \(level).")
            }
            result.blocks[selector] = (result.blocks[selector] ?? []).replacing(with: styles)
        }
        return result
    }

    /// Returns a copy with more rules for text inside blocks. A style replaces an earlier style of the same selector and property.
    public func setting(inline rules: [InlineSelector: [InlineStyle]]) -> StyleSheet {
        var result = self
        for (selector, styles) in rules {
            result.inlines[selector] = (result.inlines[selector] ?? []).replacing(with: styles)
        }
        return result
    }

    /// Returns a copy with other colors for some roles.
    public func setting(colors paints: [Role: Paint]) -> StyleSheet {
        var result = self
        result.colors.merge(paints) { $1 }
        return result
    }
}

/// A style of a rule. A rule has at most one style per property, sorted by rank.
protocol StyleOfProperty {
    associatedtype Property: Hashable
    var property: Property { get }
    /// The position of the style in a rule. Text styles come first, because lengths in em depend on their font size.
    var rank: Int { get }
}

extension Array where Element: StyleOfProperty {
    func replacing(with later: [Element]) -> [Element] {
        var byProperty: [Element.Property: Element] = [:]
        for style in self + later { byProperty[style.property] = style }
        return byProperty.values.sorted { $0.rank < $1.rank }
    }
}
