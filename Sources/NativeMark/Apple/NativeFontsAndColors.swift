// Type-checked against stub modules by Scripts/checks/apple.py; run by no test of ours.
#if canImport(UIKit) && !os(watchOS)
import Foundation
public import UIKit

extension StyledText {
    /// An image as the platform has it.
    public typealias NativeImage = UIImage
}

typealias NativeColor = UIColor

typealias NativeFont = UIFont

extension UIFont {
    /// With slanted letters; a font that has none stays upright. Size 0 is that of the descriptor.
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
    /// An image as the platform has it.
    public typealias NativeImage = NSImage
}

typealias NativeColor = NSColor
typealias NativeFont = NSFont

extension NSFont {
    /// With slanted letters; a font that has none stays upright. Size 0 is that of the descriptor.
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
    /// The system's font. Its size is that of the style, which has grown with the size category already.
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
