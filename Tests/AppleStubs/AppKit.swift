// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What NativeMark uses of AppKit: see README.md.
public import AppleFoundation

@available(macOS 10.15, *)
open class NSImage: NSObject {}

@available(macOS 10.15, *)
open class NSColor: NSObject, @unchecked Sendable {
    override init() {}
    public convenience init(srgbRed red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) { fatalError() }
    open class var labelColor: NSColor { fatalError() }
}

@available(macOS 10.15, *)
open class NSFontDescriptor: NSObject, @unchecked Sendable {
    public struct SymbolicTraits: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let italic = SymbolicTraits(rawValue: 1)
    }

    open var symbolicTraits: SymbolicTraits { [] }
    open func withSymbolicTraits(_ symbolicTraits: SymbolicTraits) -> NSFontDescriptor { self }
}

@available(macOS 10.15, *)
open class NSFont: NSObject, @unchecked Sendable {
    public struct Weight: Hashable, Sendable {
        public static let regular = Weight()
        public static let bold = Weight()
    }

    override init() {}
    public init?(descriptor fontDescriptor: NSFontDescriptor, size fontSize: CGFloat) {}
    open class func systemFont(ofSize fontSize: CGFloat, weight: Weight) -> NSFont { fatalError() }
    open class func monospacedSystemFont(ofSize fontSize: CGFloat, weight: Weight) -> NSFont { fatalError() }
    open var fontDescriptor: NSFontDescriptor { fatalError() }
}

@available(macOS 10.15, *)
open class NSTextAttachment: NSObject {
    open var image: NSImage?
}

@available(macOS 10.15, *)
open class NSTextStorage: NSMutableAttributedString {}

@available(macOS 10.15, *)
open class NSAppearance: NSObject {
    public struct Name: Hashable, Sendable {
        public static let aqua = Name()
        public static let darkAqua = Name()
    }

    open func bestMatch(from appearances: [Name]) -> Name? { nil }
}

@available(macOS 10.15, *)
@MainActor open class NSResponder: NSObject {}

@available(macOS 10.15, *)
@MainActor open class NSView: NSResponder {
    public struct AutoresizingMask: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let width = AutoresizingMask(rawValue: 2)
        public static let height = AutoresizingMask(rawValue: 16)
    }

    public init(frame frameRect: NSRect) {}
    public required init?(coder: NSCoder) {}
    open class var noIntrinsicMetric: CGFloat { -1 }
    open var intrinsicContentSize: NSSize { .zero }
    open var frame: NSRect = .zero
    open var bounds: NSRect = .zero
    open var autoresizingMask: AutoresizingMask = []
    open var effectiveAppearance: NSAppearance { fatalError() }
    open func addSubview(_ view: NSView) {}
    open func invalidateIntrinsicContentSize() {}
    open func setFrameSize(_ newSize: NSSize) {}
    open func viewDidChangeEffectiveAppearance() {}
}

@available(macOS 10.15, *)
@MainActor open class NSText: NSView {
    open var isEditable = true
    open var isSelectable = true
    open var drawsBackground = true
}

@available(macOS 10.15, *)
@MainActor open class NSTextView: NSText {
    public init(frame frameRect: NSRect, textContainer container: NSTextContainer?) { super.init(frame: frameRect) }
    public override init(frame frameRect: NSRect) { super.init(frame: frameRect) }
    public required init?(coder: NSCoder) { super.init(coder: coder) }
    open var textContainerInset: NSSize = .zero
    open var textContainer: NSTextContainer? { nil }
    open var textStorage: NSTextStorage? { nil }
    open var textLayoutManager: NSTextLayoutManager? { nil }
    open var linkTextAttributes: [NSAttributedString.Key: Any]? = [:]
}
