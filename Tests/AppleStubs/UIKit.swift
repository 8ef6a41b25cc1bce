// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of UIKit that NativeMark uses. See README.md.
public import AppleFoundation

@available(iOS 13.0, tvOS 13.0, *)
open class UIImage: NSObject, @unchecked Sendable {}

@available(iOS 13.0, tvOS 13.0, *)
open class UIColor: NSObject, @unchecked Sendable {
    public init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {}
    public init(displayP3Red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {}
    public init?(named name: String) {}
    open func resolvedColor(with traitCollection: UITraitCollection) -> UIColor { self }
    open func getRed(
        _ red: UnsafeMutablePointer<CGFloat>?, green: UnsafeMutablePointer<CGFloat>?,
        blue: UnsafeMutablePointer<CGFloat>?, alpha: UnsafeMutablePointer<CGFloat>?
    ) -> Bool { false }
    open class var tintColor: UIColor { fatalError() }
    open class var label: UIColor { fatalError() }
}

@available(iOS 13.0, tvOS 13.0, *)
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

@available(iOS 13.0, tvOS 13.0, *)
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
    open var fontDescriptor: UIFontDescriptor { fatalError() }
}

@available(iOS 13.0, tvOS 13.0, *)
open class NSTextAttachment: NSObject {
    open var image: UIImage?
}

@available(iOS 13.0, tvOS 13.0, *)
public struct UIEdgeInsets: Equatable, Sendable {
    public static let zero = UIEdgeInsets()
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIResponder: NSObject {}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIView: UIResponder, UITraitEnvironment, UITraitChangeObservable {
    public init(frame: CGRect) {}
    public required init?(coder: NSCoder) {}
    open var backgroundColor: UIColor?
    open var traitCollection: UITraitCollection { fatalError() }
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIScrollView: UIView {
    open var isScrollEnabled = true
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UITextView: UIScrollView {
    public init(frame: CGRect, textContainer: NSTextContainer?) { super.init(frame: frame) }
    public required init?(coder: NSCoder) { super.init(coder: coder) }
    open var isEditable = true
    open var isSelectable = true
    open var attributedText: NSAttributedString!
    open var textContainerInset = UIEdgeInsets()
    open var textContainer: NSTextContainer { fatalError() }
    open var linkTextAttributes: [NSAttributedString.Key: Any]! = [:]
}

@available(iOS 13.0, tvOS 13.0, *)
public enum UIUserInterfaceStyle: Int, Sendable {
    case unspecified, light, dark
}

@available(iOS 13.0, tvOS 13.0, *)
public enum UIAccessibilityContrast: Int, Sendable {
    case unspecified = -1
    case normal, high
}

@available(iOS 17.0, tvOS 17.0, *)
public protocol UIMutableTraits {
    var userInterfaceStyle: UIUserInterfaceStyle { get set }
    var accessibilityContrast: UIAccessibilityContrast { get set }
}

@available(iOS 13.0, tvOS 13.0, *)
open class UITraitCollection: NSObject, @unchecked Sendable {
    public init(mutations: (inout any UIMutableTraits) -> Void) {}
    open var userInterfaceStyle: UIUserInterfaceStyle { .light }
    open var accessibilityContrast: UIAccessibilityContrast { .normal }
    open var preferredContentSizeCategory: UIContentSizeCategory { .large }
}

@available(iOS 13.0, tvOS 13.0, *)
public struct UIContentSizeCategory: Hashable, RawRepresentable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let extraSmall = Self(rawValue: "XS")
    public static let small = Self(rawValue: "S")
    public static let medium = Self(rawValue: "M")
    public static let large = Self(rawValue: "L")
    public static let extraLarge = Self(rawValue: "XL")
    public static let extraExtraLarge = Self(rawValue: "XXL")
    public static let extraExtraExtraLarge = Self(rawValue: "XXXL")
    public static let accessibilityMedium = Self(rawValue: "AXM")
    public static let accessibilityLarge = Self(rawValue: "AXL")
    public static let accessibilityExtraLarge = Self(rawValue: "AXXL")
    public static let accessibilityExtraExtraLarge = Self(rawValue: "AXXXL")
    public static let accessibilityExtraExtraExtraLarge = Self(rawValue: "AXXXXL")
}

@available(iOS 17.0, tvOS 17.0, *)
public protocol UITraitDefinition {}

@available(iOS 17.0, tvOS 17.0, *)
public typealias UITrait = any UITraitDefinition.Type

@available(iOS 17.0, tvOS 17.0, *)
public struct UITraitUserInterfaceStyle: UITraitDefinition, Sendable {}

@available(iOS 17.0, tvOS 17.0, *)
public struct UITraitAccessibilityContrast: UITraitDefinition, Sendable {}

@available(iOS 17.0, tvOS 17.0, *)
public struct UITraitPreferredContentSizeCategory: UITraitDefinition, Sendable {}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor public protocol UITraitEnvironment: NSObjectProtocol {
    var traitCollection: UITraitCollection { get }
}

@available(iOS 17.0, tvOS 17.0, *)
public protocol UITraitChangeRegistration: NSObjectProtocol {}

@available(iOS 17.0, tvOS 17.0, *)
@MainActor public protocol UITraitChangeObservable {
    typealias TraitChangeHandler<TraitEnvironment> = (TraitEnvironment, UITraitCollection) -> Void
    where TraitEnvironment: UITraitEnvironment
}

@available(iOS 17.0, tvOS 17.0, *)
extension UITraitChangeObservable {
    @discardableResult public func registerForTraitChanges<TraitEnvironment>(
        _ traits: [UITrait], handler: @escaping Self.TraitChangeHandler<TraitEnvironment>
    ) -> any UITraitChangeRegistration where TraitEnvironment: UITraitEnvironment { fatalError() }
}
