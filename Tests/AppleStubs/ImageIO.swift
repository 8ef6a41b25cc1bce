// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of ImageIO that the image cache uses. On Apple's platforms, Core Foundation's types are bridged; here they are the same types.
public import CoreGraphics
@_exported public import AppleFoundation

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public typealias CFString = NSString
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public typealias CFData = Data
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public typealias CFDictionary = [CFString: Any]

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CGImageSource { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
nonisolated(unsafe) public let kCGImageSourceShouldCache: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
nonisolated(unsafe) public let kCGImageSourceShouldCacheImmediately: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
nonisolated(unsafe) public let kCGImageSourceCreateThumbnailFromImageAlways: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
nonisolated(unsafe) public let kCGImageSourceCreateThumbnailWithTransform: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
nonisolated(unsafe) public let kCGImageSourceThumbnailMaxPixelSize: CFString = ""

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
nonisolated(unsafe) public let kCGImagePropertyPixelWidth: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
nonisolated(unsafe) public let kCGImagePropertyPixelHeight: CFString = ""
// With the type above, a conditional cast would be an error, because it always succeeds.
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CGImageSourceCopyPropertiesAtIndex(
    _ isrc: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> [AnyHashable: Any]? { nil }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CGImageSourceCreateWithData(_ data: CFData, _ options: CFDictionary?) -> CGImageSource? { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CGImageSourceCreateThumbnailAtIndex(
    _ source: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CGImage? { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CGImageSourceCreateIncremental(_ options: CFDictionary?) -> CGImageSource { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CGImageSourceUpdateData(_ isrc: CGImageSource, _ data: CFData, _ final: Bool) {}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public typealias CFMutableData = NSMutableData

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CGImageDestination { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
nonisolated(unsafe) public let kCGImageDestinationLossyCompressionQuality: CFString = ""
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CGImageDestinationCreateWithData(
    _ data: CFMutableData, _ type: CFString, _ count: Int, _ options: CFDictionary?
) -> CGImageDestination? { fatalError() }
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CGImageDestinationAddImage(
    _ idst: CGImageDestination, _ image: CGImage, _ properties: CFDictionary?
) {}
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public func CGImageDestinationFinalize(_ idst: CGImageDestination) -> Bool { false }
