// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of AppKit that NativeMark uses. See README.md.
public import AppleFoundation
@_exported public import CoreGraphics

@available(macOS 10.15, *)
open class NSImage: NSObject {
    public init(cgImage: CGImage, size: NSSize) {}
}

@available(macOS 10.15, *)
open class NSColor: NSObject, @unchecked Sendable {
    override init() {}
    public convenience init(srgbRed red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) { fatalError() }
    public convenience init(displayP3Red red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) { fatalError() }
    public convenience init?(named name: NSColor.Name) { nil }
    public typealias Name = String
    open class var labelColor: NSColor { fatalError() }
    open class var controlAccentColor: NSColor { fatalError() }
    open class var selectedTextBackgroundColor: NSColor { fatalError() }
    open var cgColor: CGColor { fatalError() }
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
    open var ascender: CGFloat { 0 }
    open var descender: CGFloat { 0 }
    open var fontDescriptor: NSFontDescriptor { fatalError() }
}

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
open class NSEvent: NSObject {
    open var locationInWindow: CGPoint { .zero }
}

@available(macOS 10.15, *)
@MainActor open class NSResponder: NSObject {
    open var acceptsFirstResponder: Bool { false }
    open func mouseDown(with event: NSEvent) {}
    open func mouseDragged(with event: NSEvent) {}
    open func mouseUp(with event: NSEvent) {}
    open func selectAll(_ sender: Any?) {}
}

@available(macOS 10.15, *)
@MainActor open class NSWindow: NSResponder {
    open var backingScaleFactor: CGFloat { 2 }
    @discardableResult open func makeFirstResponder(_ responder: NSResponder?) -> Bool { true }
}

@available(macOS 10.15, *)
open class NSGraphicsContext: NSObject {
    open class var current: NSGraphicsContext? { nil }
    open var cgContext: CGContext { fatalError() }
}

@available(macOS 10.15, *)
@MainActor open class NSView: NSResponder {
    public init(frame frameRect: NSRect) {}
    public required init?(coder: NSCoder) {}
    open class var noIntrinsicMetric: CGFloat { -1 }
    open var intrinsicContentSize: NSSize { .zero }
    open var frame: NSRect = .zero
    open var bounds: NSRect = .zero
    open var isFlipped: Bool { false }
    open var needsDisplay = false
    open var window: NSWindow? { nil }
    open var effectiveAppearance: NSAppearance { fatalError() }
    open func convert(_ point: CGPoint, from view: NSView?) -> CGPoint { point }
    open func invalidateIntrinsicContentSize() {}
    open func setFrameSize(_ newSize: NSSize) {}
    open func viewDidChangeEffectiveAppearance() {}
    open func draw(_ dirtyRect: NSRect) {}
    open func accessibilityChildren() -> [Any]? { nil }
    open func setAccessibilityChildren(_ accessibilityChildren: [Any]?) {}
}

@available(macOS 10.15, *)
public enum NSAccessibility {
    public struct Role: Hashable, Sendable {
        public static let staticText = Role()
        public static let link = Role()
    }
}

@available(macOS 10.15, *)
open class NSAccessibilityElement: NSObject {
    public override init() {}
    open func setAccessibilityParent(_ accessibilityParent: Any?) {}
    open func setAccessibilityFrameInParentSpace(_ frame: NSRect) {}
    open func setAccessibilityLabel(_ accessibilityLabel: String?) {}
    open func setAccessibilityRole(_ accessibilityRole: NSAccessibility.Role?) {}
    open func accessibilityPerformPress() -> Bool { false }
}

@available(macOS 10.15, *)
open class NSPasteboard: NSObject {
    public struct PasteboardType: Hashable, Sendable {
        public static let string = PasteboardType()
    }

    open class var general: NSPasteboard { fatalError() }
    @discardableResult open func clearContents() -> Int { 0 }
    @discardableResult open func setString(_ string: String, forType dataType: PasteboardType) -> Bool { true }
}

@available(macOS 10.15, *)
open class NSWorkspace: NSObject {
    open class var shared: NSWorkspace { fatalError() }
    @discardableResult open func open(_ url: URL) -> Bool { true }
}

@available(macOS 10.15, *)
@MainActor open class NSControl: NSView {}

@available(macOS 10.15, *)
@MainActor open class NSImageView: NSControl {
    open var image: NSImage?
}
