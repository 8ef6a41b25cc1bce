// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
public import Foundation

#if canImport(UIKit)
public import UIKit
#else
public import AppKit
#endif

extension NSAttributedString {
    /// Creates an attributed string with fonts, colors, paragraph indents and markers as text, for text views, labels and printing.
    ///
    /// Borders and block backgrounds aren't shown; the background of text is. `trailing` alignment becomes right alignment, because
    /// paragraph styles and text tabs have no trailing alignment.
    ///
    /// - Parameters:
    ///   - text: The styled document, resolved for the appearance it is shown in.
    ///   - linkSchemes: The schemes that links may open; see ``StyledText/Link/url(schemes:)``. Other links are shown as text.
    ///   - image: Returns an image if it is already loaded. For other images, the alternative text is shown.
    public convenience init(
        _ text: StyledText, linkSchemes: Set<String> = StyledText.Link.openSchemes,
        image: (StyledText.Image) -> StyledText.NativeImage? = { _ in nil }
    ) {
        let images = text.images.map(image)
        let layout = ParagraphLayout(text) { piece, style in
            Double(NSAttributedString(string: String(piece), attributes: Self.attributes(of: style)).size().width)
        }
        let shown = ParagraphText(text, layout) { images[$0] != nil }
        let result = NSMutableAttributedString(string: shown.string)
        for span in shown.spans {
            let range = NSRange(location: span.range.lowerBound, length: span.range.count)
            result.setAttributes(Self.attributes(of: span.style), range: range)
            let link = span.run.flatMap { text.runs[$0].link }.flatMap { text.links[$0].url(schemes: linkSchemes) }
            if let link { result.addAttribute(.link, value: link, range: range) }
            if let image = span.image.flatMap({ images[$0] }) {
                let attachment = NSTextAttachment()
                attachment.image = image
                result.addAttribute(.attachment, value: attachment, range: range)
            }
        }
        for paragraph in shown.paragraphs {
            let range = NSRange(location: paragraph.range.lowerBound, length: paragraph.range.count)
            result.addAttribute(.paragraphStyle, value: NSParagraphStyle.native(paragraph), range: range)
        }
        self.init(attributedString: result)
    }

    private static func attributes(of style: ResolvedTextStyle) -> [NSAttributedString.Key: Any] {
        var attributes: [NSAttributedString.Key: Any] = [
            .font: NativeFont.native(style), .foregroundColor: NativeColor.native(style.color),
        ]
        if let background = style.background { attributes[.backgroundColor] = NativeColor.native(background) }
        if style.kerning != 0 { attributes[.kern] = style.kerning }
        if style.baseline != 0 { attributes[.baselineOffset] = style.baseline }
        if let line = style.underline {
            attributes[.underlineStyle] = NSUnderlineStyle(line.pattern).rawValue
            if let color = line.color { attributes[.underlineColor] = NativeColor.native(color) }
        }
        if let line = style.strikethrough {
            attributes[.strikethroughStyle] = NSUnderlineStyle(line.pattern).rawValue
            if let color = line.color { attributes[.strikethroughColor] = NativeColor.native(color) }
        }
        return attributes
    }
}

extension NSUnderlineStyle {
    /// TextKit has no wavy line, and shows a single one.
    fileprivate init(_ pattern: StyleSheet.TextLine.Pattern) {
        switch pattern {
        case .single, .wavy: self = .single
        case .thick: self = .thick
        case .double: self = .double
        case .dotted: self = [.single, .patternDot]
        case .dashed: self = [.single, .patternDash]
        }
    }
}

extension NSParagraphStyle {
    fileprivate static func native(_ paragraph: ParagraphText.Paragraph) -> NSParagraphStyle {
        let style = NSMutableParagraphStyle()
        style.alignment = NSTextAlignment(paragraph.alignment)
        style.firstLineHeadIndent = paragraph.firstIndent
        style.headIndent = paragraph.indent
        // A negative tail indent is the distance from the trailing edge.
        style.tailIndent = -paragraph.trailingIndent
        style.paragraphSpacingBefore = paragraph.space
        style.lineSpacing = paragraph.lineSpacing
        if let height = paragraph.lineHeight {
            style.minimumLineHeight = height
            style.maximumLineHeight = height
        }
        style.usesDefaultHyphenation = paragraph.isHyphenated
        style.tabStops = paragraph.tabs.map {
            NSTextTab(textAlignment: NSTextAlignment($0.alignment), location: $0.location, options: [:])
        }
        return style
    }
}

extension NSTextAlignment {
    fileprivate init(_ alignment: StyleSheet.Alignment) {
        switch alignment {
        case .leading: self = .natural
        case .center: self = .center
        case .trailing: self = .right
        case .justified: self = .justified
        }
    }
}

// MARK: - Fonts and colors

#if canImport(UIKit)
extension StyledText {
    /// The platform's image type.
    public typealias NativeImage = UIImage
}

typealias NativeColor = UIColor
typealias NativeFont = UIFont
typealias NativeFontDescriptor = UIFontDescriptor

extension UIFont {
    /// The italic variant, or the font itself if there is none. Size 0 keeps the descriptor's size.
    var slanted: UIFont {
        let traits = fontDescriptor.symbolicTraits.union(.traitItalic)
        return fontDescriptor.withSymbolicTraits(traits).map { UIFont(descriptor: $0, size: 0) } ?? self
    }
}

extension UIColor {
    static var nativeText: UIColor { .label }

    static func native(_ color: SRGBColor) -> UIColor {
        UIColor(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
    }
}
#else
extension StyledText {
    /// The platform's image type.
    public typealias NativeImage = NSImage
}

typealias NativeColor = NSColor
typealias NativeFont = NSFont
typealias NativeFontDescriptor = NSFontDescriptor

extension NSFont {
    /// The italic variant, or the font itself if there is none. Size 0 keeps the descriptor's size.
    var slanted: NSFont {
        let traits = fontDescriptor.symbolicTraits.union(.italic)
        return NSFont(descriptor: fontDescriptor.withSymbolicTraits(traits), size: 0) ?? self
    }
}

extension NSColor {
    static var nativeText: NSColor { .labelColor }

    static func native(_ color: SRGBColor) -> NSColor {
        NSColor(srgbRed: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
    }
}
#endif

extension NativeFont {
    /// The size of the style already includes the size category.
    static func native(_ style: ResolvedTextStyle) -> NativeFont {
        let font = style.fontFamily.flatMap { native(family: $0, style) } ?? designed(style)
        return style.isItalic ? font.slanted : font
    }

    /// Returns `nil` if the family doesn't exist; the system would substitute a font of another family.
    static func native(family: String, _ style: ResolvedTextStyle) -> NativeFont? {
        let traits: [NativeFontDescriptor.TraitKey: Any] = [
            .weight: Weight(style.fontWeight).rawValue, .width: Width(style.fontWidth).rawValue,
        ]
        let descriptor = NativeFontDescriptor(fontAttributes: [.family: family, .traits: traits])
        let font: NativeFont? = NativeFont(descriptor: descriptor, size: style.fontSize)
        return font?.familyName == family ? font : nil
    }

    private static func designed(_ style: ResolvedTextStyle) -> NativeFont {
        let font = NativeFont.systemFont(
            ofSize: style.fontSize, weight: Weight(style.fontWeight), width: Width(style.fontWidth))
        let design: NativeFontDescriptor.SystemDesign
        switch style.fontDesign {
        case .default: return font
        case .serif: design = .serif
        case .rounded: design = .rounded
        case .monospaced: design = .monospaced
        }
        guard let descriptor = font.fontDescriptor.withDesign(design) else { return font }
        let designed: NativeFont? = NativeFont(descriptor: descriptor, size: style.fontSize)
        return designed ?? font
    }
}

extension NativeFont.Weight {
    fileprivate init(_ weight: StyleSheet.FontWeight) {
        switch weight {
        case .ultraLight: self = .ultraLight
        case .thin: self = .thin
        case .light: self = .light
        case .regular: self = .regular
        case .medium: self = .medium
        case .semibold: self = .semibold
        case .bold: self = .bold
        case .heavy: self = .heavy
        case .black: self = .black
        }
    }
}

extension NativeFont.Width {
    fileprivate init(_ width: StyleSheet.FontWidth) {
        switch width {
        case .compressed: self = .compressed
        case .condensed: self = .condensed
        case .standard: self = .standard
        case .expanded: self = .expanded
        }
    }
}

extension NativeColor {
    static func native(_ tone: StyleSheet.Tone) -> NativeColor {
        if case .named(let name, _) = tone, let color = NativeColor(named: name) { return color }
        if case .displayP3(let red, let green, let blue, let alpha) = tone.withoutName {
            return NativeColor(
                displayP3Red: DisplayP3.clamped(red), green: DisplayP3.clamped(green), blue: DisplayP3.clamped(blue),
                alpha: DisplayP3.clamped(alpha))
        }
        return tone.srgb.map { native($0) } ?? nativeText
    }
}
#endif
