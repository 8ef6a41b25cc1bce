extension StyleSheet {
    /// Returns the sheet with ems, roles and text styles resolved to points and plain colors.
    ///
    ///     let resolved = sheet.resolved(in: .init(appearance: .dark, sizeCategory: .xLarge))
    ///     resolved.text(.code, in: resolved.document.text).background
    public func resolved(in environment: Environment) -> ResolvedStyleSheet {
        ResolvedStyleSheet(sheet: self, environment: environment)
    }
}

extension StyleSheet {
    func paint(of color: Color) -> Paint {
        switch color {
        case .role(let role): colors[role] ?? Self.standardColors[role] ?? .init(.standard)
        case .paint(let paint): paint
        }
    }
}

/// A style sheet resolved for one environment. It computes the appearance of blocks and text.
public struct ResolvedStyleSheet: Sendable, Hashable {
    /// The style sheet.
    public let sheet: StyleSheet
    /// The environment that the sheet is resolved for.
    public let environment: StyleSheet.Environment

    /// The style of the whole document.
    public var document: ResolvedBlockStyle { block([.document], in: nil) }

    /// Returns the style of text that matches a selector, inside text with the style `outer`.
    public func text(_ selector: StyleSheet.InlineSelector, in outer: ResolvedTextStyle) -> ResolvedTextStyle {
        apply(sheet.inlines[selector] ?? [], to: outer)
    }

    /// Returns a text style changed by other styles, in any order: lengths in em refer to the resulting font size. Of two styles of the
    /// same property, the last one applies.
    public func text(_ outer: ResolvedTextStyle, with styles: [StyleSheet.InlineStyle]) -> ResolvedTextStyle {
        apply([].replacing(with: styles), to: outer)
    }

    /// Returns the style of a block.
    ///
    /// `selectors` are all selectors that match the block; later ones take precedence. `outer` is the style of the enclosing block, or
    /// `nil` for the document.
    public func block(
        _ selectors: [StyleSheet.BlockSelector], in outer: ResolvedBlockStyle?
    ) -> ResolvedBlockStyle {
        let first = selectors.first.flatMap { sheet.blocks[$0] } ?? []
        let styles = selectors.dropFirst().reduce(first) { $0.replacing(with: sheet.blocks[$1] ?? []) }
        let base =
            outer?.text ?? ResolvedTextStyle(fontSize: environment.size(of: .body))
        let text = apply(styles.compactMap { if case .text(let style) = $0 { style } else { nil } }, to: base)
        var block = ResolvedBlockStyle(text: text)
        block.alignment = outer?.alignment ?? .leading
        block.lineSpacing = outer?.lineSpacing ?? 0
        block.lineHeight = outer?.lineHeight
        block.isHyphenated = outer?.isHyphenated ?? false
        for style in styles { apply(style, to: &block) }
        return block
    }

    /// Returns the plain color of a color in a rule.
    public func tone(of color: StyleSheet.Color) -> StyleSheet.Tone {
        sheet.paint(of: color).tone(in: environment)
    }

    /// Returns a font size that can be shown, because a style sheet may contain any number.
    static func fontSize(_ points: Double) -> Double { points.isFinite ? min(max(points, 1), 1_000) : 17 }

    /// The styles must be sorted by rank.
    private func apply(_ styles: [StyleSheet.InlineStyle], to outer: ResolvedTextStyle) -> ResolvedTextStyle {
        var text = outer
        for style in styles { apply(style, to: &text, in: outer) }
        return text
    }

    private func apply(
        _ style: StyleSheet.InlineStyle, to text: inout ResolvedTextStyle, in outer: ResolvedTextStyle
    ) {
        switch style {
        case .textStyle(let style):
            text.textStyle = style
            text.fontSize = environment.size(of: style)
        case .fontSize(.em(let ems)): text.fontSize = Self.fontSize(ems * outer.fontSize)
        case .fontSize(.points(let points)):
            text.fontSize = Self.fontSize(points * environment.scale(of: text.textStyle))
        case .fontDesign(let design):
            text.fontDesign = design
            text.fontFamily = nil
        case .fontFamily(let name): text.fontFamily = name
        case .fontWeight(let weight): text.fontWeight = weight
        case .fontWidth(let width): text.fontWidth = width
        case .color(let color): text.color = tone(of: color)
        case .inlineBackground(let color): text.background = tone(of: color)
        case .kerning(let length): text.kerning = length.points(atFontSize: text.fontSize)
        case .baseline(let length): text.baseline = length.points(atFontSize: text.fontSize)
        case .bold(true): text.fontWeight = max(text.fontWeight, outer.isBold ? .black : .bold)
        case .bold(false): if text.isBold { text.fontWeight = .regular }
        case .italic(let isOn): text.isItalic = isOn
        case .underline(let isOn): text.isUnderlined = isOn
        case .strikethrough(let isOn): text.isStruckThrough = isOn
        }
    }

    private func apply(_ style: StyleSheet.BlockStyle, to block: inout ResolvedBlockStyle) {
        let size = block.text.fontSize
        switch style {
        case .text: break  // Already applied: lengths need the font size.
        case .alignment(let alignment): block.alignment = alignment
        case .firstLineIndent(let length): block.firstLineIndent = length.points(atFontSize: size)
        case .leadingIndent(let length): block.leadingIndent = length.points(atFontSize: size)
        case .trailingIndent(let length): block.trailingIndent = length.points(atFontSize: size)
        case .spacingBefore(let length): block.spacingBefore = length.points(atFontSize: size)
        case .spacingAfter(let length): block.spacingAfter = length.points(atFontSize: size)
        case .lineSpacing(let length): block.lineSpacing = length.points(atFontSize: size)
        case .lineHeight(let multiple): block.lineHeight = multiple.isFinite ? min(max(multiple, 0.1), 10) : nil
        case .hyphenation(let isOn): block.isHyphenated = isOn
        case .marker(let marker): block.marker = marker
        case .border(let border):
            block.border = .init(
                edges: border.edges, width: border.width.points(atFontSize: size), color: tone(of: border.color))
        case .padding(let padding):
            block.padding = .init(
                top: padding.top.points(atFontSize: size), leading: padding.leading.points(atFontSize: size),
                bottom: padding.bottom.points(atFontSize: size), trailing: padding.trailing.points(atFontSize: size))
        case .background(let color): block.background = tone(of: color)
        }
    }
}
