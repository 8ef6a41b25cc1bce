// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What UIKit and AppKit have in common, compiled into both stubs. See README.md.
public import AppleFoundation

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
extension NSAttributedString.Key {
    public static let font = NSAttributedString.Key("NSFont")
    public static let paragraphStyle = NSAttributedString.Key("NSParagraphStyle")
    public static let foregroundColor = NSAttributedString.Key("NSColor")
    public static let backgroundColor = NSAttributedString.Key("NSBackgroundColor")
    public static let kern = NSAttributedString.Key("NSKern")
    public static let baselineOffset = NSAttributedString.Key("NSBaselineOffset")
    public static let underlineStyle = NSAttributedString.Key("NSUnderline")
    public static let underlineColor = NSAttributedString.Key("NSUnderlineColor")
    public static let strikethroughStyle = NSAttributedString.Key("NSStrikethrough")
    public static let strikethroughColor = NSAttributedString.Key("NSStrikethroughColor")
    public static let link = NSAttributedString.Key("NSLink")
    public static let attachment = NSAttributedString.Key("NSAttachment")
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
extension NSAttributedString {
    public func size() -> CGSize { .zero }
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public struct NSUnderlineStyle: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let single = NSUnderlineStyle(rawValue: 1)
    public static let thick = NSUnderlineStyle(rawValue: 2)
    public static let double = NSUnderlineStyle(rawValue: 9)
    public static let patternDot = NSUnderlineStyle(rawValue: 0x100)
    public static let patternDash = NSUnderlineStyle(rawValue: 0x200)
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public enum NSTextAlignment: Int, Sendable {
    case left, center, right, justified, natural
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
open class NSTextTab: NSObject {
    public struct OptionKey: Hashable, Sendable {}

    public init(textAlignment alignment: NSTextAlignment, location loc: CGFloat, options: [OptionKey: Any] = [:]) {}
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
open class NSParagraphStyle: NSObject {}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
open class NSMutableParagraphStyle: NSParagraphStyle {
    open var alignment = NSTextAlignment.natural
    open var firstLineHeadIndent: CGFloat = 0
    open var headIndent: CGFloat = 0
    open var tailIndent: CGFloat = 0
    open var paragraphSpacingBefore: CGFloat = 0
    open var lineSpacing: CGFloat = 0
    open var minimumLineHeight: CGFloat = 0
    open var maximumLineHeight: CGFloat = 0
    open var usesDefaultHyphenation = false
    open var tabStops: [NSTextTab]! = []
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
open class NSTextContainer: NSObject {
    open var lineFragmentPadding: CGFloat = 0
}

@available(macOS 12.0, iOS 15.0, tvOS 15.0, *)
open class NSTextRange: NSObject {}

@available(macOS 12.0, iOS 15.0, tvOS 15.0, *)
open class NSTextLayoutManager: NSObject {
    open var documentRange: NSTextRange { fatalError() }
    open var usageBoundsForTextContainer: CGRect { .zero }
    open func ensureLayout(for range: NSTextRange) {}
}
