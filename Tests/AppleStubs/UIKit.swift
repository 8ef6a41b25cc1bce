// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of UIKit that NativeMark uses, except on watchOS. See README.md.
public import AppleFoundation
@_exported public import CoreGraphics

@available(iOS 13.0, tvOS 13.0, *)
extension UIColor {
    public func resolvedColor(with traitCollection: UITraitCollection) -> UIColor { self }
    public class var tintColor: UIColor { fatalError() }
    public class var label: UIColor { fatalError() }
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIEvent: NSObject {}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UITouch: NSObject {
    open func location(in view: UIView?) -> CGPoint { .zero }
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIResponder: NSObject {
    open var canBecomeFirstResponder: Bool { false }
    open func copy(_ sender: Any?) {}
    open func touchesBegan(_ touches: Set<UITouch>, with event: UIEvent?) {}
    open func touchesEnded(_ touches: Set<UITouch>, with event: UIEvent?) {}
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIView: UIResponder, UITraitEnvironment, UITraitChangeObservable {
    public enum ContentMode: Int, Sendable {
        case scaleToFill, scaleAspectFit, scaleAspectFill, redraw
    }

    public init(frame: CGRect) {}
    public required init?(coder: NSCoder) {}
    public class var noIntrinsicMetric: CGFloat { -1 }
    open var frame: CGRect = .zero
    open var backgroundColor: UIColor?
    open func addSubview(_ view: UIView) {}
    open func addInteraction(_ interaction: any UIInteraction) {}
    open var traitCollection: UITraitCollection { fatalError() }
    open var bounds: CGRect = .zero
    open var isOpaque = true
    open var contentMode = ContentMode.scaleToFill
    open var intrinsicContentSize: CGSize { .zero }
    open func sizeThatFits(_ size: CGSize) -> CGSize { size }
    open func layoutSubviews() {}
    open func draw(_ rect: CGRect) {}
    open func setNeedsDisplay() {}
    open func invalidateIntrinsicContentSize() {}
    open var accessibilityElements: [Any]?
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIImageView: UIView {
    open var image: UIImage?
}

@available(iOS 13.0, tvOS 13.0, *)
public struct UIAccessibilityTraits: OptionSet, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let staticText = UIAccessibilityTraits(rawValue: 1)
    public static let header = UIAccessibilityTraits(rawValue: 2)
    public static let link = UIAccessibilityTraits(rawValue: 4)
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIAccessibilityElement: UIResponder {
    public init(accessibilityContainer container: Any) {}
    weak open var accessibilityContainer: AnyObject?
    open var accessibilityLabel: String?
    open var accessibilityTraits: UIAccessibilityTraits = []
    open var accessibilityFrameInContainerSpace: CGRect = .zero
    open func accessibilityActivate() -> Bool { false }
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UIApplication: UIResponder {
    public struct OpenExternalURLOptionsKey: Hashable, Sendable {}

    open class var shared: UIApplication { fatalError() }
    open func open(
        _ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:],
        completionHandler completion: (@MainActor @Sendable (Bool) -> Void)? = nil
    ) {}
}

@available(iOS 13.0, tvOS 13.0, *)
public func UIGraphicsGetCurrentContext() -> CGContext? { nil }

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
    open var displayScale: CGFloat { 2 }
    open var accessibilityContrast: UIAccessibilityContrast { .normal }
    open var preferredContentSizeCategory: UIContentSizeCategory { .large }
    open func performAsCurrent(_ actions: () -> Void) {}
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

// MARK: Selection

@available(iOS 13.0, tvOS 13.0, *)
@MainActor public protocol UIInteraction: NSObjectProtocol {}

#if os(iOS) || os(visionOS)
@available(iOS 13.0, *)
@MainActor open class UIPasteboard: NSObject {
    open class var general: UIPasteboard { fatalError() }
    open var string: String?
}

@available(iOS 13.0, *)
public enum UITextInteractionMode: Int, Sendable {
    case editable, nonEditable
}

@available(iOS 13.0, *)
@MainActor open class UITextInteraction: NSObject, UIInteraction {
    public init(for mode: UITextInteractionMode) {}
    weak open var textInput: (any UIResponder & UITextInput)?
}
#endif

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UITextPosition: NSObject {}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UITextRange: NSObject {
    open var isEmpty: Bool { true }
    open var start: UITextPosition { fatalError() }
    open var end: UITextPosition { fatalError() }
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UITextSelectionRect: NSObject {
    open var rect: CGRect { .zero }
    open var writingDirection: NSWritingDirection { .natural }
    open var containsStart: Bool { false }
    open var containsEnd: Bool { false }
    open var isVertical: Bool { false }
}

@available(iOS 13.0, tvOS 13.0, *)
public enum NSWritingDirection: Int, Sendable {
    case natural = -1
    case leftToRight, rightToLeft
}

@available(iOS 13.0, tvOS 13.0, *)
public enum UITextStorageDirection: Int, Sendable {
    case forward, backward
}

@available(iOS 13.0, tvOS 13.0, *)
public enum UITextLayoutDirection: Int, Sendable {
    case right = 2
    case left, up, down
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor public protocol UITextInputDelegate: NSObjectProtocol {
    func selectionWillChange(_ textInput: (any UITextInput)?)
    func selectionDidChange(_ textInput: (any UITextInput)?)
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor public protocol UITextInputTokenizer: NSObjectProtocol {}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor open class UITextInputStringTokenizer: NSObject, UITextInputTokenizer {
    public init(textInput: any UIResponder & UITextInput) {}
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor public protocol UIKeyInput: NSObjectProtocol {
    var hasText: Bool { get }
    func insertText(_ text: String)
    func deleteBackward()
}

@available(iOS 13.0, tvOS 13.0, *)
@MainActor public protocol UITextInput: UIKeyInput {
    func text(in range: UITextRange) -> String?
    func replace(_ range: UITextRange, withText text: String)
    var selectedTextRange: UITextRange? { get set }
    var markedTextRange: UITextRange? { get }
    var markedTextStyle: [NSAttributedString.Key: Any]? { get set }
    func setMarkedText(_ markedText: String?, selectedRange: NSRange)
    func unmarkText()
    var beginningOfDocument: UITextPosition { get }
    var endOfDocument: UITextPosition { get }
    func textRange(from fromPosition: UITextPosition, to toPosition: UITextPosition) -> UITextRange?
    func position(from position: UITextPosition, offset: Int) -> UITextPosition?
    func position(
        from position: UITextPosition, in direction: UITextLayoutDirection, offset: Int
    ) -> UITextPosition?
    func compare(_ position: UITextPosition, to other: UITextPosition) -> ComparisonResult
    func offset(from: UITextPosition, to toPosition: UITextPosition) -> Int
    var inputDelegate: (any UITextInputDelegate)? { get set }
    var tokenizer: any UITextInputTokenizer { get }
    func position(within range: UITextRange, farthestIn direction: UITextLayoutDirection) -> UITextPosition?
    func characterRange(
        byExtending position: UITextPosition, in direction: UITextLayoutDirection
    ) -> UITextRange?
    func baseWritingDirection(
        for position: UITextPosition, in direction: UITextStorageDirection
    ) -> NSWritingDirection
    func setBaseWritingDirection(_ writingDirection: NSWritingDirection, for range: UITextRange)
    func firstRect(for range: UITextRange) -> CGRect
    func caretRect(for position: UITextPosition) -> CGRect
    func selectionRects(for range: UITextRange) -> [UITextSelectionRect]
    func closestPosition(to point: CGPoint) -> UITextPosition?
    func closestPosition(to point: CGPoint, within range: UITextRange) -> UITextPosition?
    func characterRange(at point: CGPoint) -> UITextRange?
}
