// Type-checked against stub modules by Scripts/checks/apple.py; run by no test of ours.
#if canImport(SwiftUI)
public import SwiftUI

extension View {
    /// The sheet of all ``NativeMarkText`` in a view.
    ///
    ///     settings.nativeMarkStyle(sheet)
    public func nativeMarkStyle(_ style: StyleSheet) -> some View {
        environment(\.nativeMarkStyle, style)
    }
}

extension EnvironmentValues {
    /// The sheet that ``NativeMarkText`` uses; the default one unless a view says otherwise.
    public var nativeMarkStyle: StyleSheet {
        get { self[NativeMarkStyleKey.self] }
        set { self[NativeMarkStyleKey.self] = newValue }
    }
}

private struct NativeMarkStyleKey: EnvironmentKey {
    static let defaultValue = StyleSheet.default
}

extension StyleSheet.Environment {
    /// What a view is shown in.
    public init(_ colorScheme: ColorScheme, _ dynamicTypeSize: DynamicTypeSize) {
        self.init(
            appearance: colorScheme == .dark ? .dark : .light, sizeCategory: StyleSheet.SizeCategory(dynamicTypeSize))
    }
}

extension StyleSheet.SizeCategory {
    /// The size of SwiftUI; ``large`` for one that is not known here.
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
