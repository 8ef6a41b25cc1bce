// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(SwiftUI)
public import SwiftUI

extension View {
    /// Sets the style sheet of every ``NativeMarkText`` in the view.
    ///
    ///     settings.nativeMarkStyle(sheet)
    public func nativeMarkStyle(_ style: StyleSheet) -> some View {
        environment(\.nativeMarkStyle, style)
    }
}

extension View {
    /// Sets what finds the tokens of code blocks in every ``NativeMarkText`` in the view. By default, code has one style.
    ///
    ///     settings.nativeMarkHighlighter(.languages)
    public func nativeMarkHighlighter(_ highlighter: (any CodeHighlighter)?) -> some View {
        environment(\.nativeMarkHighlighter, highlighter)
    }
}

extension EnvironmentValues {
    /// What finds the tokens of code blocks in ``NativeMarkText`` views. By default `nil`.
    public var nativeMarkHighlighter: (any CodeHighlighter)? {
        get { self[NativeMarkHighlighterKey.self] }
        set { self[NativeMarkHighlighterKey.self] = newValue }
    }

    /// The style sheet of ``NativeMarkText`` views. By default ``StyleSheet/default``.
    public var nativeMarkStyle: StyleSheet {
        get { self[NativeMarkStyleKey.self] }
        set { self[NativeMarkStyleKey.self] = newValue }
    }
}

private struct NativeMarkStyleKey: EnvironmentKey {
    static let defaultValue = StyleSheet.default
}

private struct NativeMarkHighlighterKey: EnvironmentKey {
    static let defaultValue: (any CodeHighlighter)? = nil
}

extension StyleSheet.Environment {
    /// Creates the environment of a color scheme, a Dynamic Type size and a contrast.
    public init(
        _ colorScheme: ColorScheme, _ dynamicTypeSize: DynamicTypeSize, _ contrast: ColorSchemeContrast = .standard
    ) {
        self.init(
            appearance: colorScheme == .dark ? .dark : .light,
            contrast: contrast == .increased ? .increased : .standard,
            sizeCategory: StyleSheet.SizeCategory(dynamicTypeSize))
    }
}

extension StyleSheet.SizeCategory {
    /// Creates the category for a Dynamic Type size; ``large`` for an unknown one.
    public init(_ size: DynamicTypeSize) {
        switch size {
        case .xSmall: self = .xSmall
        case .small: self = .small
        case .medium: self = .medium
        case .large: self = .large
        case .xLarge: self = .xLarge
        case .xxLarge: self = .xxLarge
        case .xxxLarge: self = .xxxLarge
        case .accessibility1: self = .accessibility1
        case .accessibility2: self = .accessibility2
        case .accessibility3: self = .accessibility3
        case .accessibility4: self = .accessibility4
        case .accessibility5: self = .accessibility5
        @unknown default: self = .large
        }
    }
}
#endif
