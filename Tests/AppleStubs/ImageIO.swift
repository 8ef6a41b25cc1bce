// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of ImageIO that the cache of images uses. Core Foundation's types are bridged on Apple's platforms; here they are the same types.
public import CoreGraphics
@_exported public import Foundation

public typealias CFString = NSString
public typealias CFData = Data
public typealias CFDictionary = [CFString: Any]

public final class CGImageSource { init() {} }

nonisolated(unsafe) public let kCGImageSourceShouldCache: CFString = ""
nonisolated(unsafe) public let kCGImageSourceShouldCacheImmediately: CFString = ""
nonisolated(unsafe) public let kCGImageSourceCreateThumbnailFromImageAlways: CFString = ""
nonisolated(unsafe) public let kCGImageSourceCreateThumbnailWithTransform: CFString = ""
nonisolated(unsafe) public let kCGImageSourceThumbnailMaxPixelSize: CFString = ""

public func CGImageSourceCreateWithData(_ data: CFData, _ options: CFDictionary?) -> CGImageSource? { fatalError() }
public func CGImageSourceCreateThumbnailAtIndex(
    _ source: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CGImage? { fatalError() }
