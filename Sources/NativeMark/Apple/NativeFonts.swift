// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(UIKit) || canImport(AppKit)
import Foundation

#if canImport(UIKit)
import UIKit
#else
import AppKit
#endif

#if canImport(UIKit)
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
    static var nativeText: UIColor {
        #if os(watchOS)
        .white
        #else
        .label
        #endif
    }

    static func native(_ color: SRGBColor) -> UIColor {
        UIColor(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
    }
}
#else
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
