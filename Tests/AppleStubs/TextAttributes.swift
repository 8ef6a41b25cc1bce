// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What UIKit and AppKit have in common, compiled into the stub of each: see README.md.
public import AppleFoundation

extension NSAttributedString.Key {
    public static let font = NSAttributedString.Key("NSFont")
    public static let paragraphStyle = NSAttributedString.Key("NSParagraphStyle")
    public static let foregroundColor = NSAttributedString.Key("NSColor")
    public static let backgroundColor = NSAttributedString.Key("NSBackgroundColor")
    public static let kern = NSAttributedString.Key("NSKern")
    public static let baselineOffset = NSAttributedString.Key("NSBaselineOffset")
    public static let underlineStyle = NSAttributedString.Key("NSUnderline")
    public static let strikethroughStyle = NSAttributedString.Key("NSStrikethrough")
    public static let link = NSAttributedString.Key("NSLink")
    public static let attachment = NSAttributedString.Key("NSAttachment")
}

extension NSAttributedString {
    public func size() -> CGSize { .zero }
}

public struct NSUnderlineStyle: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let single = NSUnderlineStyle(rawValue: 1)
}

public enum NSTextAlignment: Int, Sendable {
    case left, center, right, justified, natural
}

open class NSTextTab: NSObject {
    public struct OptionKey: Hashable, Sendable {}

    public init(textAlignment alignment: NSTextAlignment, location loc: CGFloat, options: [OptionKey: Any] = [:]) {}
}

open class NSParagraphStyle: NSObject {}

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

open class NSTextContainer: NSObject {
    open var lineFragmentPadding: CGFloat = 0
}

open class NSTextRange: NSObject {}

open class NSTextLayoutManager: NSObject {
    open var documentRange: NSTextRange { fatalError() }
    open var usageBoundsForTextContainer: CGRect { .zero }
    open func ensureLayout(for range: NSTextRange) {}
}
