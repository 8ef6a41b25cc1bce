/// The look of a document: rules for blocks, rules for the text in them, and a color for each role, such as `accent`.
///
///     let sheet = StyleSheet.default
///         .setting(inline: [.emphasis: [.color(.accent)]])
///         .setting(block: [.heading(level: 1): [.textStyle(.largeTitle), .spacingAfter(.em(0.5))]])
///         .setting(colors: [.accent: .init(light: .rgb(0x0A5FFF), dark: .rgb(0x6FB1FF))])
///
/// Text styles are inherited, and inner rules win: a code span in a heading has the heading's weight and the span's background. Blocks
/// inherit alignment, line spacing, line height and hyphenation. Indents add up. Other block styles (spacing, border, padding, background,
/// marker) aren't inherited.
///
/// A sheet is independent of any screen. ``resolved(in:)`` converts it to points and plain colors for one appearance and size category.
/// ``init(json:)`` reads a sheet from JSON, and ``json`` writes it.
public struct StyleSheet: Sendable, Hashable {
    /// The rules for blocks. Each rule has at most one style per property.
    public private(set) var blocks: [BlockSelector: [BlockStyle]] = [:]

    /// The rules for text inside blocks. Each rule has at most one style per property.
    public private(set) var inlines: [InlineSelector: [InlineStyle]] = [:]

    /// The color of each role. Roles that are missing here use the colors of ``default``.
    public private(set) var colors: [Role: Paint] = [:]

    /// Creates a sheet without rules.
    public init() {}

    /// Returns a copy with more rules for blocks. A style replaces an earlier style with the same selector and property.
    ///
    /// - Precondition: Heading levels are from 1 to 6, and list levels from 1 to 9.
    public func setting(block rules: [BlockSelector: [BlockStyle]]) -> StyleSheet {
        var result = self
        for (selector, styles) in rules {
            if case .heading(let level) = selector {
                precondition((1...6).contains(level), "A heading's level must be from 1 to 6; it is \(level).")
            }
            if case .listLevel(let level) = selector {
                precondition((1...9).contains(level), "A list's level must be from 1 to 9; it is \(level).")
            }
            result.blocks[selector] = (result.blocks[selector] ?? []).replacing(with: styles)
        }
        return result
    }

    /// Returns a copy with more rules for text inside blocks. A style replaces an earlier style with the same selector and property.
    public func setting(inline rules: [InlineSelector: [InlineStyle]]) -> StyleSheet {
        var result = self
        for (selector, styles) in rules {
            result.inlines[selector] = (result.inlines[selector] ?? []).replacing(with: styles)
        }
        return result
    }

    /// Returns a copy with new colors for some roles.
    public func setting(colors paints: [Role: Paint]) -> StyleSheet {
        var result = self
        result.colors.merge(paints) { $1 }
        return result
    }
}

// MARK: - Resolving

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

/// A style sheet resolved for one environment. Computes the look of blocks and text.
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

    /// Returns `outer` with `styles` applied. Their order doesn't matter: the font size applies first, so other lengths in em refer to it.
    /// If two styles set the same property, the last one wins.
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

    /// Returns the plain color for a color in a rule.
    public func tone(of color: StyleSheet.Color) -> StyleSheet.Tone {
        sheet.paint(of: color).tone(in: environment)
    }

    /// Limits a font size to what can be shown, because a style sheet may contain any number.
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
        case .inlineBackground(let box):
            text.background = tone(of: box.color)
            text.backgroundBox = resolved(box, atFontSize: text.fontSize)
        case .kerning(let length): text.kerning = length.points(atFontSize: text.fontSize)
        case .baseline(let length): text.baseline = length.points(atFontSize: text.fontSize)
        case .bold(true): text.fontWeight = max(text.fontWeight, outer.isBold ? .black : .bold)
        case .bold(false): if text.isBold { text.fontWeight = .regular }
        case .italic(let isOn): text.isItalic = isOn
        case .underline(let line): text.underline = line.map(resolved)
        case .strikethrough(let line): text.strikethrough = line.map(resolved)
        case .imageLayout(let layout): text.imageLayout = resolved(layout, atFontSize: text.fontSize)
        }
    }

    /// Returns `nil` for a box that is only a color.
    private func resolved(
        _ box: StyleSheet.InlineBackground, atFontSize size: Double
    ) -> ResolvedTextStyle.BackgroundBox? {
        guard box != StyleSheet.InlineBackground(box.color) else { return nil }
        return .init(
            padding: resolved(box.padding, atFontSize: size), cornerRadius: box.cornerRadius.points(atFontSize: size),
            border: box.border.map { resolved($0, atFontSize: size) })
    }

    private func resolved(
        _ padding: StyleSheet.Padding, atFontSize size: Double
    ) -> ResolvedBlockStyle.Padding {
        .init(
            top: padding.top.points(atFontSize: size), leading: padding.leading.points(atFontSize: size),
            bottom: padding.bottom.points(atFontSize: size), trailing: padding.trailing.points(atFontSize: size))
    }

    private func resolved(_ border: StyleSheet.Border, atFontSize size: Double) -> ResolvedBlockStyle.Border {
        .init(
            edges: border.edges, width: border.width.points(atFontSize: size), color: tone(of: border.color),
            pattern: border.pattern, cornerRadius: border.cornerRadius.points(atFontSize: size))
    }

    private func resolved(_ line: StyleSheet.TextLine) -> ResolvedTextStyle.Line {
        .init(pattern: line.pattern, color: line.color.map(tone))
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
        case .border(let border): block.border = resolved(border, atFontSize: size)
        case .padding(let padding): block.padding = resolved(padding, atFontSize: size)
        case .background(let color): block.background = tone(of: color)
        case .divider(let divider): block.divider = resolved(divider, in: block.text)
        case .tableLines(let lines): block.tableLines = resolved(lines, atFontSize: size)
        case .taskMarker(let marker): block.taskMarker = resolved(marker)
        case .alternateRowBackground(let color): block.alternateRowBackground = tone(of: color)
        }
    }
}

// MARK: - Environments

extension StyleSheet {
    /// The properties of the display that styles depend on.
    ///
    ///     let environment = StyleSheet.Environment(appearance: .dark, platform: .macOS)
    ///     StyledText(document, environment: environment).runs[0].style.fontSize   // 13
    public struct Environment: Sendable, Hashable {
        /// The light or dark appearance.
        public var appearance: Appearance
        /// Whether the user prefers more contrast.
        public var contrast: Contrast
        /// The user's preferred text size.
        public var sizeCategory: SizeCategory
        /// The platform, which determines the font sizes of text styles.
        public var platform: Platform
        /// The font size of body text in points, or `nil` for the platform's size at the size category. Other text styles scale in
        /// proportion.
        public var bodySize: Double?

        /// Creates an environment. The defaults are a light background and this platform's standard text size.
        public init(
            appearance: Appearance = .light, contrast: Contrast = .standard, sizeCategory: SizeCategory = .large,
            platform: Platform = .current, bodySize: Double? = nil
        ) {
            self.appearance = appearance
            self.contrast = contrast
            self.sizeCategory = sizeCategory
            self.platform = platform
            self.bodySize = bodySize
        }
    }

    /// The brightness of the background.
    public enum Appearance: String, Sendable, Hashable, CaseIterable {
        /// Dark text on a light background.
        case light
        /// Light text on a dark background.
        case dark
    }

    /// How strongly text stands out from the background.
    public enum Contrast: String, Sendable, Hashable, CaseIterable {
        /// The usual colors.
        case standard
        /// The colors for users who turn on Increase Contrast.
        case increased
    }

    /// A group of platforms whose text styles have the same font sizes.
    public enum Platform: String, Sendable, Hashable, CaseIterable {
        /// iOS, iPadOS, visionOS and all non-Apple platforms. Body text is 17 points.
        case iOS
        /// macOS. Body text is 13 points, and there are no size categories.
        case macOS
        /// tvOS. Body text is 29 points.
        case tvOS
        /// watchOS. Body text is 16 points.
        case watchOS

        /// The platform that the code is compiled for.
        public static var current: Platform {
            #if os(macOS)
            .macOS
            #elseif os(tvOS)
            .tvOS
            #elseif os(watchOS)
            .watchOS
            #else
            .iOS
            #endif
        }
    }
}

extension StyleSheet.Environment {
    /// Returns the font size of a text style in points.
    func size(of style: StyleSheet.TextStyle) -> Double {
        let size = style.size(at: sizeCategory, on: platform)
        guard let bodySize, bodySize.isFinite else { return size }
        return ResolvedStyleSheet.fontSize(
            size * bodySize / StyleSheet.TextStyle.body.size(at: sizeCategory, on: platform))
    }

    /// Returns the factor by which a text style grows at the size category: 1 at the standard size.
    func scale(of style: StyleSheet.TextStyle) -> Double {
        style.size(at: sizeCategory, on: platform) / style.size(at: .large, on: platform)
    }
}

// MARK: - Text styles

extension StyleSheet {
    /// The text styles of Dynamic Type. Their font sizes depend on the platform and grow with the size category.
    public enum TextStyle: String, Sendable, Hashable, CaseIterable {
        /// 34 points on iOS at the standard size.
        case largeTitle
        /// 28 points.
        case title1
        /// 22 points.
        case title2
        /// 20 points.
        case title3
        /// 17 points. Sets only the size; Apple's own headline style is also heavier.
        case headline
        /// 17 points.
        case body
        /// 16 points.
        case callout
        /// 15 points.
        case subheadline
        /// 13 points.
        case footnote
        /// 12 points.
        case caption1
        /// 11 points.
        case caption2

        /// Returns the font size in points.
        ///
        ///     StyleSheet.TextStyle.body.size(at: .large, on: .iOS)            // 17
        ///     StyleSheet.TextStyle.body.size(at: .accessibility5, on: .iOS)   // 53
        ///     StyleSheet.TextStyle.body.size(at: .large, on: .macOS)          // 13
        ///
        /// The sizes come from Apple's Human Interface Guidelines (Typography, Specifications): for iOS at every size category, for macOS
        /// independent of the category, and for tvOS and watchOS at the standard category. At other categories, tvOS and watchOS sizes
        /// scale as on iOS, rounded to whole points. A text style missing from the tvOS or watchOS table takes its size from a neighboring
        /// style.
        public func size(at category: SizeCategory, on platform: Platform) -> Double {
            let row = Self.sizes[self] ?? []
            let index = SizeCategory.allCases.firstIndex(of: category) ?? Self.standard
            guard row.indices.contains(index) else { return 17 }
            if platform == .iOS { return row[index] }
            let own = Self.otherSizes[self] ?? (13, 29, 16)
            return switch platform {
            case .iOS: row[index]
            case .macOS: own.macOS
            case .tvOS: (own.tvOS * row[index] / row[Self.standard]).rounded()
            case .watchOS: (own.watchOS * row[index] / row[Self.standard]).rounded()
            }
        }

        /// The index of the standard category.
        private static let standard = 3

        private static let otherSizes: [TextStyle: (macOS: Double, tvOS: Double, watchOS: Double)] = [
            .largeTitle: (26, 76, 36),  // tvOS lists title1 as the largest.
            .title1: (22, 76, 34),
            .title2: (17, 57, 27),
            .title3: (15, 48, 19),
            .headline: (13, 38, 16),
            .body: (13, 29, 16),
            .callout: (12, 31, 16),  // watchOS doesn't list it.
            .subheadline: (11, 38, 15),  // watchOS doesn't list it. tvOS calls it Subtitle 1.
            .footnote: (10, 25, 13),  // tvOS doesn't list it.
            .caption1: (10, 25, 15),
            .caption2: (10, 23, 14),
        ]

        private static let sizes: [TextStyle: [Double]] = [
            .largeTitle: [31, 32, 33, 34, 36, 38, 40, 44, 48, 52, 56, 60],
            .title1: [25, 26, 27, 28, 30, 32, 34, 38, 43, 48, 53, 58],
            .title2: [19, 20, 21, 22, 24, 26, 28, 34, 39, 44, 50, 56],
            .title3: [17, 18, 19, 20, 22, 24, 26, 31, 37, 43, 49, 55],
            .headline: [14, 15, 16, 17, 19, 21, 23, 28, 33, 40, 47, 53],
            .body: [14, 15, 16, 17, 19, 21, 23, 28, 33, 40, 47, 53],
            .callout: [13, 14, 15, 16, 18, 20, 22, 26, 32, 38, 44, 51],
            .subheadline: [12, 13, 14, 15, 17, 19, 21, 25, 30, 36, 42, 49],
            .footnote: [12, 12, 12, 13, 15, 17, 19, 23, 27, 33, 38, 44],
            .caption1: [11, 11, 11, 12, 14, 16, 18, 22, 26, 32, 37, 43],
            .caption2: [11, 11, 11, 11, 13, 15, 17, 20, 24, 29, 34, 40],
        ]
    }

    /// The user's preferred text size, smallest first.
    public enum SizeCategory: String, Sendable, Hashable, CaseIterable {
        /// Three steps below the standard size.
        case xSmall
        /// Two steps below the standard size.
        case small
        /// One step below the standard size.
        case medium
        /// The standard size.
        case large
        /// One step above the standard size.
        case xLarge
        /// Two steps above the standard size.
        case xxLarge
        /// Three steps above the standard size, and the largest size that isn't an accessibility size.
        case xxxLarge
        /// The first accessibility size.
        case accessibility1
        /// The second accessibility size.
        case accessibility2
        /// The third accessibility size.
        case accessibility3
        /// The fourth accessibility size.
        case accessibility4
        /// The fifth and largest accessibility size.
        case accessibility5
    }
}
