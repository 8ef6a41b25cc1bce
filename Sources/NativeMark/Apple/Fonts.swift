// Type-checked against stub modules by Scripts/check-apple.py; run by no test of ours.
#if canImport(UIKit) && !os(watchOS)
import Foundation
public import UIKit

extension StyledText {
    /// A picture as the platform has it.
    public typealias NativeImage = UIImage
}

typealias NativeColor = UIColor

extension UIFont {
    /// The system's font. Its size is that of the style, which has grown with the size category already.
    static func native(_ style: ResolvedTextStyle) -> UIFont {
        let weight = style.isBold ? UIFont.Weight.bold : .regular
        let font =
            style.isMonospaced
            ? UIFont.monospacedSystemFont(ofSize: style.fontSize, weight: weight)
            : UIFont.systemFont(ofSize: style.fontSize, weight: weight)
        guard style.isItalic else { return font }
        let traits = font.fontDescriptor.symbolicTraits.union(.traitItalic)
        // A font without slanted letters stays upright. Size 0 is that of the descriptor.
        return font.fontDescriptor.withSymbolicTraits(traits).map { UIFont(descriptor: $0, size: 0) } ?? font
    }
}

typealias NativeFont = UIFont

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
    /// A picture as the platform has it.
    public typealias NativeImage = NSImage
}

typealias NativeColor = NSColor
typealias NativeFont = NSFont

extension NSFont {
    /// The system's font. Its size is that of the style, which has grown with the size category already.
    static func native(_ style: ResolvedTextStyle) -> NSFont {
        let weight = style.isBold ? NSFont.Weight.bold : .regular
        let font =
            style.isMonospaced
            ? NSFont.monospacedSystemFont(ofSize: style.fontSize, weight: weight)
            : NSFont.systemFont(ofSize: style.fontSize, weight: weight)
        guard style.isItalic else { return font }
        let traits = font.fontDescriptor.symbolicTraits.union(.italic)
        // A font without slanted letters stays upright. Size 0 is that of the descriptor.
        return NSFont(descriptor: font.fontDescriptor.withSymbolicTraits(traits), size: 0) ?? font
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
extension NativeColor {
    static func native(_ tone: StyleSheet.Tone) -> NativeColor {
        guard let rgb = tone.rgb else { return nativeText }
        return native(red: CGFloat(rgb.red) / 255, green: CGFloat(rgb.green) / 255, blue: CGFloat(rgb.blue) / 255)
    }
}
#endif
