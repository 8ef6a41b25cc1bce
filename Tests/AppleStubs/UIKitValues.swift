// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of UIKit that all platforms have. See README.md.
public import AppleFoundation
@_exported public import CoreGraphics

@available(iOS 13.0, tvOS 13.0, watchOS 6.0, *)
open class UIImage: NSObject, @unchecked Sendable {
    public init(cgImage: CGImage) {}
}

@available(iOS 13.0, tvOS 13.0, watchOS 6.0, *)
open class UIColor: NSObject, @unchecked Sendable {
    public init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {}
    public init(displayP3Red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {}
    public init?(named name: String) {}
    open func getRed(
        _ red: UnsafeMutablePointer<CGFloat>?, green: UnsafeMutablePointer<CGFloat>?,
        blue: UnsafeMutablePointer<CGFloat>?, alpha: UnsafeMutablePointer<CGFloat>?
    ) -> Bool { false }
    open class var white: UIColor { fatalError() }
    open var cgColor: CGColor { fatalError() }
}

@available(iOS 13.0, tvOS 13.0, watchOS 6.0, *)
open class UIFontDescriptor: NSObject, @unchecked Sendable {
    public struct SymbolicTraits: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let traitItalic = SymbolicTraits(rawValue: 1)
    }

    public struct AttributeName: Hashable, RawRepresentable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let family = Self(rawValue: "NSFontFamilyAttribute")
        public static let traits = Self(rawValue: "NSFontTraitsAttribute")
    }

    public struct TraitKey: Hashable, RawRepresentable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let weight = Self(rawValue: "NSCTFontWeightTrait")
        public static let width = Self(rawValue: "NSCTFontProportionTrait")
    }

    public struct SystemDesign: Hashable, RawRepresentable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let `default` = Self(rawValue: "NSCTFontUIFontDesignDefault")
        public static let serif = Self(rawValue: "NSCTFontUIFontDesignSerif")
        public static let rounded = Self(rawValue: "NSCTFontUIFontDesignRounded")
        public static let monospaced = Self(rawValue: "NSCTFontUIFontDesignMonospaced")
    }

    override init() {}
    public init(fontAttributes attributes: [AttributeName: Any] = [:]) {}
    open func withDesign(_ design: SystemDesign) -> UIFontDescriptor? { nil }

    open var symbolicTraits: SymbolicTraits { [] }
    open func withSymbolicTraits(_ symbolicTraits: SymbolicTraits) -> UIFontDescriptor? { nil }
}

@available(iOS 13.0, tvOS 13.0, watchOS 6.0, *)
open class UIFont: NSObject, @unchecked Sendable {
    public struct Weight: Hashable, RawRepresentable, Sendable {
        public var rawValue: CGFloat
        public init(rawValue: CGFloat) { self.rawValue = rawValue }
        public static let ultraLight = Self(rawValue: -0.8)
        public static let thin = Self(rawValue: -0.6)
        public static let light = Self(rawValue: -0.4)
        public static let regular = Self(rawValue: 0)
        public static let medium = Self(rawValue: 0.23)
        public static let semibold = Self(rawValue: 0.3)
        public static let bold = Self(rawValue: 0.4)
        public static let heavy = Self(rawValue: 0.56)
        public static let black = Self(rawValue: 0.62)
    }

    public struct Width: Hashable, RawRepresentable, Sendable {
        public var rawValue: CGFloat
        public init(rawValue: CGFloat) { self.rawValue = rawValue }
        public static let compressed = Self(rawValue: -0.3)
        public static let condensed = Self(rawValue: -0.2)
        public static let standard = Self(rawValue: 0)
        public static let expanded = Self(rawValue: 0.2)
    }

    override init() {}
    public init(descriptor: UIFontDescriptor, size pointSize: CGFloat) {}
    open class func systemFont(ofSize fontSize: CGFloat, weight: Weight) -> UIFont { fatalError() }
    open class func systemFont(ofSize fontSize: CGFloat, weight: Weight, width: Width) -> UIFont { fatalError() }
    open class func monospacedSystemFont(ofSize fontSize: CGFloat, weight: Weight) -> UIFont { fatalError() }
    open var familyName: String { "" }
    open var ascender: CGFloat { 0 }
    open var descender: CGFloat { 0 }
    open var fontDescriptor: UIFontDescriptor { fatalError() }
}
