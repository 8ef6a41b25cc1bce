// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What NativeMark uses of UIKit: see README.md.
public import AppleFoundation

@available(iOS 13.0, tvOS 13.0, *)
open class UIImage: NSObject, @unchecked Sendable {}

@available(iOS 13.0, tvOS 13.0, *)
open class UIColor: NSObject, @unchecked Sendable {
    public init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {}
    open class var label: UIColor { fatalError() }
}

@available(iOS 13.0, tvOS 13.0, *)
open class UIFontDescriptor: NSObject, @unchecked Sendable {
    public struct SymbolicTraits: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let traitItalic = SymbolicTraits(rawValue: 1)
    }

    open var symbolicTraits: SymbolicTraits { [] }
    open func withSymbolicTraits(_ symbolicTraits: SymbolicTraits) -> UIFontDescriptor? { nil }
}

@available(iOS 13.0, tvOS 13.0, *)
open class UIFont: NSObject, @unchecked Sendable {
    public struct Weight: Hashable, Sendable {
        public static let regular = Weight()
        public static let bold = Weight()
    }

    override init() {}
    public init(descriptor: UIFontDescriptor, size pointSize: CGFloat) {}
    open class func systemFont(ofSize fontSize: CGFloat, weight: Weight) -> UIFont { fatalError() }
    open class func monospacedSystemFont(ofSize fontSize: CGFloat, weight: Weight) -> UIFont { fatalError() }
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
open class UITraitCollection: NSObject, @unchecked Sendable {
    open var userInterfaceStyle: UIUserInterfaceStyle { .light }
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
