// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What NativeMark uses of UIKit: see README.md.
public import AppleFoundation

open class UIImage: NSObject, @unchecked Sendable {}

open class UIColor: NSObject, @unchecked Sendable {
    public init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {}
    open class var label: UIColor { fatalError() }
}

open class UIFontDescriptor: NSObject, @unchecked Sendable {
    public struct SymbolicTraits: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let traitItalic = SymbolicTraits(rawValue: 1)
    }

    open var symbolicTraits: SymbolicTraits { [] }
    open func withSymbolicTraits(_ symbolicTraits: SymbolicTraits) -> UIFontDescriptor? { nil }
}

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

open class NSTextAttachment: NSObject {
    open var image: UIImage?
}

public struct UIEdgeInsets: Equatable, Sendable {
    public static let zero = UIEdgeInsets()
}

@MainActor open class UIResponder: NSObject {}

@MainActor open class UIView: UIResponder, UITraitEnvironment, UITraitChangeObservable {
    public init(frame: CGRect) {}
    public required init?(coder: NSCoder) {}
    open var backgroundColor: UIColor?
    open var traitCollection: UITraitCollection { fatalError() }
}

@MainActor open class UIScrollView: UIView {
    open var isScrollEnabled = true
}

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

public enum UIUserInterfaceStyle: Int, Sendable {
    case unspecified, light, dark
}

open class UITraitCollection: NSObject, @unchecked Sendable {
    open var userInterfaceStyle: UIUserInterfaceStyle { .light }
    open var preferredContentSizeCategory: UIContentSizeCategory { .large }
}

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

public protocol UITraitDefinition {}

public typealias UITrait = any UITraitDefinition.Type

public struct UITraitUserInterfaceStyle: UITraitDefinition, Sendable {}

public struct UITraitPreferredContentSizeCategory: UITraitDefinition, Sendable {}

@MainActor public protocol UITraitEnvironment: NSObjectProtocol {
    var traitCollection: UITraitCollection { get }
}

public protocol UITraitChangeRegistration: NSObjectProtocol {}

@MainActor public protocol UITraitChangeObservable {
    typealias TraitChangeHandler<TraitEnvironment> = (TraitEnvironment, UITraitCollection) -> Void
    where TraitEnvironment: UITraitEnvironment
}

extension UITraitChangeObservable {
    @discardableResult public func registerForTraitChanges<TraitEnvironment>(
        _ traits: [UITrait], handler: @escaping Self.TraitChangeHandler<TraitEnvironment>
    ) -> any UITraitChangeRegistration where TraitEnvironment: UITraitEnvironment { fatalError() }
}
