extension StyleSheet {
    /// The properties of the display that styles depend on.
    public struct Environment: Sendable, Hashable {
        /// The light or dark appearance.
        public var appearance: Appearance
        /// The user's preferred text size.
        public var sizeCategory: SizeCategory

        /// Creates an environment, by default with a light background and the standard text size.
        public init(appearance: Appearance = .light, sizeCategory: SizeCategory = .large) {
            self.appearance = appearance
            self.sizeCategory = sizeCategory
        }
    }

    /// The brightness of the background.
    public enum Appearance: String, Sendable, Hashable, CaseIterable {
        /// Dark text on a light background.
        case light
        /// Light text on a dark background.
        case dark
    }

    /// Returns the sheet with ems, roles and text styles resolved to points and plain colors.
    ///
    ///     let resolved = sheet.resolved(in: .init(appearance: .dark, sizeCategory: .xLarge))
    ///     resolved.text(.code, in: resolved.document.text).background
    public func resolved(in environment: Environment) -> ResolvedStyleSheet {
        ResolvedStyleSheet(sheet: self, environment: environment)
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
        text(outer, with: sheet.inlines[selector] ?? [])
    }

    /// Returns a text style changed by other styles, in any order: lengths in em refer to the resulting font size.
    public func text(_ outer: ResolvedTextStyle, with styles: [StyleSheet.InlineStyle]) -> ResolvedTextStyle {
        var text = outer
        for style in styles { if case .textStyle(let style) = style { apply(.textStyle(style), to: &text) } }
        for style in styles { apply(style, to: &text) }
        return text
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
            outer?.text ?? ResolvedTextStyle(fontSize: StyleSheet.TextStyle.body.size(at: environment.sizeCategory))
        let text = text(base, with: styles.compactMap { if case .text(let style) = $0 { style } else { nil } })
        var block = ResolvedBlockStyle(text: text)
        block.alignment = outer?.alignment ?? .leading
        block.lineSpacing = outer?.lineSpacing ?? 0
        for style in styles { apply(style, to: &block) }
        return block
    }

    /// Returns the plain color of a color in a rule.
    public func tone(of color: StyleSheet.Color) -> StyleSheet.Tone {
        let paint =
            switch color {
            case .role(let role): sheet.colors[role] ?? StyleSheet.standardColors[role] ?? .init(.standard)
            case .paint(let paint): paint
            }
        return environment.appearance == .light ? paint.light : paint.dark
    }

    private func apply(_ style: StyleSheet.InlineStyle, to text: inout ResolvedTextStyle) {
        switch style {
        case .textStyle(let style):
            text.textStyle = style
            text.fontSize = style.size(at: environment.sizeCategory)
        case .color(let color): text.color = tone(of: color)
        case .inlineBackground(let color): text.background = tone(of: color)
        case .kerning(let length): text.kerning = length.points(atFontSize: text.fontSize)
        case .baseline(let length): text.baseline = length.points(atFontSize: text.fontSize)
        case .bold(let isOn): text.isBold = isOn
        case .italic(let isOn): text.isItalic = isOn
        case .monospaced(let isOn): text.isMonospaced = isOn
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
