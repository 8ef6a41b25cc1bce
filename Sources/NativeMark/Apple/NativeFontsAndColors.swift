// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(UIKit) && !os(watchOS)
import Foundation
public import UIKit

extension StyledText {
    /// The platform's image type.
    public typealias NativeImage = UIImage
}

typealias NativeColor = UIColor

typealias NativeFont = UIFont

extension UIFont {
    /// The italic variant, or the font itself if there is none. Size 0 keeps the descriptor's size.
    var slanted: UIFont {
        let traits = fontDescriptor.symbolicTraits.union(.traitItalic)
        return fontDescriptor.withSymbolicTraits(traits).map { UIFont(descriptor: $0, size: 0) } ?? self
    }
}

extension UIColor {
    static var nativeText: UIColor { .label }

    static func native(red: CGFloat, green: CGFloat, blue: CGFloat) -> UIColor {
        UIColor(red: red, green: green, blue: blue, alpha: 1)
    }
}
#elseif canImport(AppKit)
public import AppKit
import Foundation

extension StyledText {
    /// The platform's image type.
    public typealias NativeImage = NSImage
}

typealias NativeColor = NSColor
typealias NativeFont = NSFont

extension NSFont {
    /// The italic variant, or the font itself if there is none. Size 0 keeps the descriptor's size.
    var slanted: NSFont {
        let traits = fontDescriptor.symbolicTraits.union(.italic)
        return NSFont(descriptor: fontDescriptor.withSymbolicTraits(traits), size: 0) ?? self
    }
}

extension NSColor {
    static var nativeText: NSColor { .labelColor }

    static func native(red: CGFloat, green: CGFloat, blue: CGFloat) -> NSColor {
        NSColor(srgbRed: red, green: green, blue: blue, alpha: 1)
    }
}
#endif

#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
extension NativeFont {
    /// The size of the style already includes the size category.
    static func native(_ style: ResolvedTextStyle) -> NativeFont {
        let weight = style.isBold ? NativeFont.Weight.bold : .regular
        let font =
            style.isMonospaced
            ? NativeFont.monospacedSystemFont(ofSize: style.fontSize, weight: weight)
            : NativeFont.systemFont(ofSize: style.fontSize, weight: weight)
        return style.isItalic ? font.slanted : font
    }
}

extension NativeColor {
    static func native(_ tone: StyleSheet.Tone) -> NativeColor {
        guard let rgb = tone.rgb else { return nativeText }
        return native(red: CGFloat(rgb.red) / 255, green: CGFloat(rgb.green) / 255, blue: CGFloat(rgb.blue) / 255)
    }
}
#endif
