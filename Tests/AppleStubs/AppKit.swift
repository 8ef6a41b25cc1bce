// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of AppKit that NativeMark uses. See README.md.
public import AppleFoundation

@available(macOS 10.15, *)
open class NSImage: NSObject {}

@available(macOS 10.15, *)
open class NSColor: NSObject, @unchecked Sendable {
    override init() {}
    public convenience init(srgbRed red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) { fatalError() }
    public convenience init(displayP3Red red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) { fatalError() }
    public convenience init?(named name: NSColor.Name) { nil }
    public typealias Name = String
    open class var labelColor: NSColor { fatalError() }
    open class var controlAccentColor: NSColor { fatalError() }
    open func usingColorSpace(_ space: NSColorSpace) -> NSColor? { nil }
    open var redComponent: CGFloat { 0 }
    open var greenComponent: CGFloat { 0 }
    open var blueComponent: CGFloat { 0 }
    open var alphaComponent: CGFloat { 0 }
}

@available(macOS 10.15, *)
open class NSColorSpace: NSObject, @unchecked Sendable {
    open class var extendedSRGB: NSColorSpace { fatalError() }
}

@available(macOS 10.15, *)
open class NSFontDescriptor: NSObject, @unchecked Sendable {
    public struct SymbolicTraits: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let italic = SymbolicTraits(rawValue: 1)
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
    public init(fontAttributes attributes: [AttributeName: Any]? = nil) {}
    open func withDesign(_ design: SystemDesign) -> NSFontDescriptor? { nil }

    open var symbolicTraits: SymbolicTraits { [] }
    open func withSymbolicTraits(_ symbolicTraits: SymbolicTraits) -> NSFontDescriptor { self }
}

@available(macOS 10.15, *)
open class NSFont: NSObject, @unchecked Sendable {
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
    public init?(descriptor fontDescriptor: NSFontDescriptor, size fontSize: CGFloat) {}
    open class func systemFont(ofSize fontSize: CGFloat, weight: Weight) -> NSFont { fatalError() }
    open class func systemFont(ofSize fontSize: CGFloat, weight: Weight, width: Width) -> NSFont { fatalError() }
    open class func monospacedSystemFont(ofSize fontSize: CGFloat, weight: Weight) -> NSFont { fatalError() }
    open var familyName: String? { nil }
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
        public static let accessibilityHighContrastAqua = Name()
        public static let accessibilityHighContrastDarkAqua = Name()
    }

    public init?(named name: Name) {}
    open func performAsCurrentDrawingAppearance(_ block: () -> Void) {}

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
