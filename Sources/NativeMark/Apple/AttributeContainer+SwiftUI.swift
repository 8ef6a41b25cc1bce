// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(SwiftUI)
import Foundation
import SwiftUI

#if canImport(UIKit)
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

extension AttributeContainer {
    mutating func addSwiftUI(_ style: ResolvedTextStyle) {
        typealias Keys = AttributeScopes.SwiftUIAttributes
        self[Keys.FontAttribute.self] = Font(style)
        if let color = Color(style.color) { self[Keys.ForegroundColorAttribute.self] = color }
        if let color = style.background.flatMap({ Color($0) }) { self[Keys.BackgroundColorAttribute.self] = color }
        if style.kerning != 0 { self[Keys.KerningAttribute.self] = CGFloat(style.kerning) }
        if style.baseline != 0 { self[Keys.BaselineOffsetAttribute.self] = CGFloat(style.baseline) }
        if style.isUnderlined { self[Keys.UnderlineStyleAttribute.self] = .single }
        if style.isStruckThrough { self[Keys.StrikethroughStyleAttribute.self] = .single }
    }
}

extension Font {
    /// The size of the style already includes the size category.
    init(_ style: ResolvedTextStyle) {
        let font =
            if let family = style.fontFamily {
                Font.custom(family, fixedSize: style.fontSize).weight(Weight(style.fontWeight))
            } else {
                Font.system(
                    size: style.fontSize, weight: Weight(style.fontWeight), design: Design(style.fontDesign))
            }
        let wide = style.fontWidth == .standard ? font : font.width(Width(style.fontWidth))
        self = style.isItalic ? wide.italic() : wide
    }
}

extension Font.Weight {
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

extension Font.Design {
    fileprivate init(_ design: StyleSheet.FontDesign) {
        switch design {
        case .default: self = .default
        case .serif: self = .serif
        case .rounded: self = .rounded
        case .monospaced: self = .monospaced
        }
    }
}

extension Font.Width {
    fileprivate init(_ width: StyleSheet.FontWidth) {
        switch width {
        case .compressed: self = .compressed
        case .condensed: self = .condensed
        case .standard: self = .standard
        case .expanded: self = .expanded
        }
    }
}

extension Color {
    /// Returns `nil` for the standard text color.
    nonisolated init?(_ tone: StyleSheet.Tone) {
        if case .named(let name, _) = tone, Self.isInCatalog(name) {
            self.init(name)
            return
        }
        if case .displayP3(let red, let green, let blue, let alpha) = tone.withoutName {
            self.init(
                .displayP3, red: DisplayP3.clamped(red), green: DisplayP3.clamped(green),
                blue: DisplayP3.clamped(blue), opacity: DisplayP3.clamped(alpha))
        } else if let srgb = tone.srgb {
            self.init(.sRGB, red: srgb.red, green: srgb.green, blue: srgb.blue, opacity: srgb.alpha)
        } else {
            return nil
        }
    }

    /// SwiftUI shows an unknown name as a clear color and doesn't tell.
    private nonisolated static func isInCatalog(_ name: String) -> Bool {
        #if canImport(UIKit)
        UIColor(named: name) != nil
        #elseif canImport(AppKit)
        NSColor(named: name) != nil
        #endif
    }
}
#endif
