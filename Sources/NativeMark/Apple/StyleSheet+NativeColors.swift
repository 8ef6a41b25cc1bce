// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(UIKit) && !os(watchOS)
import Foundation
public import UIKit

extension StyleSheet.Color {
    /// Creates a color with the components of a UIKit color in each appearance and contrast.
    ///
    /// The components are read once, by this initializer, and the sheet's JSON contains them. To look a color up in the asset catalog each
    /// time text is shown, use ``named(_:fallback:)``.
    public init(_ color: UIColor) {
        self = .paint(
            StyleSheet.Paint { appearance, contrast in
                let traits = UITraitCollection {
                    $0.userInterfaceStyle = appearance == .dark ? .dark : .light
                    $0.accessibilityContrast = contrast == .increased ? .high : .normal
                }
                var (red, green, blue, alpha) = (CGFloat.zero, CGFloat.zero, CGFloat.zero, CGFloat.zero)
                let resolved = color.resolvedColor(with: traits)
                guard resolved.getRed(&red, green: &green, blue: &blue, alpha: &alpha) else { return nil }
                return .init(extendedRed: red, green: green, blue: blue, alpha: alpha)
            })
    }
}
#elseif canImport(AppKit)
public import AppKit
import Foundation

extension StyleSheet.Color {
    /// Creates a color with the components of an AppKit color in each appearance and contrast.
    ///
    /// The components are read once, by this initializer, and the sheet's JSON contains them. A pattern becomes the standard text color. To
    /// look a color up in the asset catalog each time text is shown, use ``named(_:fallback:)``.
    public init(_ color: NSColor) {
        self = .paint(
            StyleSheet.Paint { appearance, contrast in
                let name: NSAppearance.Name =
                    switch (appearance, contrast) {
                    case (.light, .standard): .aqua
                    case (.dark, .standard): .darkAqua
                    case (.light, .increased): .accessibilityHighContrastAqua
                    case (.dark, .increased): .accessibilityHighContrastDarkAqua
                    }
                var tone: StyleSheet.Tone?
                NSAppearance(named: name)?
                    .performAsCurrentDrawingAppearance {
                        tone = color.usingColorSpace(.extendedSRGB).map {
                            .init(
                                extendedRed: $0.redComponent, green: $0.greenComponent, blue: $0.blueComponent,
                                alpha: $0.alphaComponent)
                        }
                    }
                return tone
            })
    }
}
#endif

#if canImport(SwiftUI)
public import SwiftUI

extension StyleSheet.Color {
    /// Creates a color with the components of a SwiftUI color in both appearances.
    ///
    ///     sheet.setting(inline: [.link: [.color(.init(Color.accentColor))]])
    ///
    /// The components are read once, by this initializer, and the sheet's JSON contains them. SwiftUI doesn't let an app choose the
    /// contrast, so the colors for standard contrast are also used for increased contrast. To have both, pass a `UIColor` or an `NSColor`.
    public init(_ color: SwiftUI.Color) {
        self = .paint(
            StyleSheet.Paint { appearance, _ in
                var environment = EnvironmentValues()
                environment.colorScheme = appearance == .dark ? .dark : .light
                let resolved = color.resolve(in: environment)
                return .init(
                    extendedRed: Double(resolved.red), green: Double(resolved.green), blue: Double(resolved.blue),
                    alpha: Double(resolved.opacity))
            })
    }
}
#endif
