// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of Core Text that NativeMark uses. On Apple's platforms, Core Foundation's types are bridged; here they are the same types.
@_exported public import AppleFoundation
@_exported public import CoreGraphics

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public typealias CFString = String
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public typealias CFArray = [AnyObject]
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public typealias CFAttributedString = NSAttributedString

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public struct CFRange: Sendable {
    public var location: Int
    public var length: Int
    public init(location: Int, length: Int) { (self.location, self.length) = (location, length) }
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public let kCTFontAttributeName: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public let kCTForegroundColorAttributeName: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public let kCTForegroundColorFromContextAttributeName: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public let kCTKernAttributeName: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public let kCTBaselineOffsetAttributeName: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public let kCTRunDelegateAttributeName: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public let kCTParagraphStyleAttributeName: CFString = ""

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CTLine { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CTRun { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CTTypesetter { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CTRunDelegate { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CTParagraphStyle { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public enum CTWritingDirection: Int8, Sendable {
    case natural = -1
    case leftToRight, rightToLeft
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public enum CTParagraphStyleSpecifier: UInt32, Sendable {
    case baseWritingDirection = 13
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public struct CTParagraphStyleSetting {
    public init(spec: CTParagraphStyleSpecifier, valueSize: Int, value: UnsafeRawPointer) {}
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public struct CTRunStatus: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let rightToLeft = CTRunStatus(rawValue: 1)
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public var kCTRunDelegateVersion1: Int { 1 }

// On Apple's platforms, the closures are C functions and capture nothing.
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public struct CTRunDelegateCallbacks {
    public init(
        version: Int, dealloc: @escaping (UnsafeMutableRawPointer) -> Void,
        getAscent: @escaping (UnsafeMutableRawPointer) -> CGFloat,
        getDescent: @escaping (UnsafeMutableRawPointer) -> CGFloat,
        getWidth: @escaping (UnsafeMutableRawPointer) -> CGFloat
    ) {}
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTRunDelegateCreate(
    _ callbacks: UnsafePointer<CTRunDelegateCallbacks>, _ refCon: UnsafeMutableRawPointer?
) -> CTRunDelegate? { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTParagraphStyleCreate(
    _ settings: UnsafePointer<CTParagraphStyleSetting>?, _ settingCount: Int
) -> CTParagraphStyle { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTTypesetterCreateWithAttributedString(_ string: CFAttributedString) -> CTTypesetter { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTTypesetterSuggestLineBreak(_ typesetter: CTTypesetter, _ startIndex: Int, _ width: Double) -> Int {
    fatalError()
}
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTTypesetterCreateLine(_ typesetter: CTTypesetter, _ stringRange: CFRange) -> CTLine { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTLineCreateJustifiedLine(
    _ line: CTLine, _ justificationFactor: CGFloat, _ justificationWidth: Double
) -> CTLine? { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTLineGetTypographicBounds(
    _ line: CTLine, _ ascent: UnsafeMutablePointer<CGFloat>?, _ descent: UnsafeMutablePointer<CGFloat>?,
    _ leading: UnsafeMutablePointer<CGFloat>?
) -> Double { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTLineGetTrailingWhitespaceWidth(_ line: CTLine) -> Double { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTLineGetGlyphRuns(_ line: CTLine) -> CFArray { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTLineGetOffsetForStringIndex(
    _ line: CTLine, _ charIndex: Int, _ secondaryOffset: UnsafeMutablePointer<CGFloat>?
) -> CGFloat { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTLineGetStringIndexForPosition(_ line: CTLine, _ position: CGPoint) -> Int { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTLineDraw(_ line: CTLine, _ context: CGContext) { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTRunGetTypographicBounds(
    _ run: CTRun, _ range: CFRange, _ ascent: UnsafeMutablePointer<CGFloat>?, _ descent: UnsafeMutablePointer<CGFloat>?,
    _ leading: UnsafeMutablePointer<CGFloat>?
) -> Double { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTRunGetStringRange(_ run: CTRun) -> CFRange { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CTRunGetStatus(_ run: CTRun) -> CTRunStatus { fatalError() }
