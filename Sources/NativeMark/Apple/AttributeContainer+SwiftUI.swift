// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(SwiftUI)
import Foundation
import SwiftUI

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
        let font = Font.system(
            size: style.fontSize, weight: style.isBold ? .bold : .regular,
            design: style.isMonospaced ? .monospaced : .default)
        self = style.isItalic ? font.italic() : font
    }
}

extension Color {
    /// Returns `nil` for the standard text color.
    nonisolated init?(_ tone: StyleSheet.Tone) {
        guard let rgb = tone.rgb else { return nil }
        self.init(
            .sRGB, red: Double(rgb.red) / 255, green: Double(rgb.green) / 255, blue: Double(rgb.blue) / 255, opacity: 1)
    }
}
#endif
