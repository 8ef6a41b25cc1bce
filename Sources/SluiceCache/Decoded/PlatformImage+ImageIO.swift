#if canImport(ImageIO)
public import CoreGraphics
import ImageIO
import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An image that is ready to draw: its pixels are in memory, at most as many as requested.
///
/// Show it with `UIImage(cgImage:)`, `NSImage(cgImage:size:)` or SwiftUI's `Image(decorative:scale:)`.
public struct PlatformImage: @unchecked Sendable {
    // Immutable: no function changes a CGImage.
    /// The image.
    public let cgImage: CGImage

    /// The width in pixels, at least 1.
    public var width: Int { cgImage.width }

    /// The height in pixels, at least 1.
    public var height: Int { cgImage.height }

    /// The memory that the pixels take, in bytes.
    public var byteCount: Int { cgImage.bytesPerRow * cgImage.height }

    /// Whether the pixels have opacity.
    public var hasAlpha: Bool { ![.none, .noneSkipFirst, .noneSkipLast].contains(cgImage.alphaInfo) }

    /// Decodes an image in any format that the system supports, with the orientation from its metadata. Returns `nil` if the image can't be
    /// decoded.
    ///
    /// The size is checked before anything is decoded: an image with more than ``maximumPixelCount`` pixels can't be decoded. Neither can
    /// one in a format of ``ImageHeader`` that is cut off. Of an animation, the first frame is decoded.
    ///
    /// Decoding takes milliseconds and blocks the calling thread. A ``DecodedCache`` decodes off the caller's actor.
    ///
    /// - Parameters:
    ///   - data: The bytes of the file.
    ///   - maximumPixelSize: The largest width and height in pixels. A larger image is scaled down while it is decoded, so the full-size
    ///     image is never in memory. Numbers below 1 count as 1.
    public init?(_ data: Data, maximumPixelSize: Int) {
        guard let image = try? Self(decoding: data, maximumPixelSize: maximumPixelSize) else { return nil }
        self = image
    }

    /// Returns the image as a file in the format `.png`, or `.jpeg` of medium quality, which has no opacity. Returns `nil` for other formats.
    public func data(as format: ImageHeader.Format) -> Data? {
        let type: CFString
        switch format {
        case .png: type = "public.png" as CFString
        case .jpeg: type = "public.jpeg" as CFString
        default: return nil
        }
        let data = NSMutableData()
        let options = [kCGImageDestinationLossyCompressionQuality: 0.85] as CFDictionary
        guard let destination = CGImageDestinationCreateWithData(data, type, 1, nil) else { return nil }
        CGImageDestinationAddImage(destination, cgImage, options)
        return CGImageDestinationFinalize(destination) ? Data(referencing: data) : nil
    }
}

extension PlatformImage {
    /// Decodes an image, or throws an ``ImageFailure``.
    init(decoding data: Data, maximumPixelSize: Int) throws {
        // The system decodes more formats than the header knows.
        let header = ImageHeader(data)
        try header?.checkPixelCount()
        if let header, ImageBytes(data).isCutOff(header.format) { throw ImageFailure.cutOff }
        let noCache = [kCGImageSourceShouldCache: false] as CFDictionary
        guard let source = CGImageSourceCreateWithData(data as CFData, noCache) else {
            throw ImageFailure.unknownFormat
        }
        if header == nil, let (width, height) = Self.announcedSize(of: source) {
            try ImageFailure.check(width, height)
        }
        guard let image = Self.image(of: source, max(1, maximumPixelSize)) else {
            throw header == nil ? ImageFailure.unknownFormat : ImageFailure.damaged(nil)
        }
        cgImage = image
    }

    /// Returns the size that the metadata announce, in any format of the system, such as HEIC. Nothing is decoded.
    private static func announcedSize(of source: CGImageSource) -> (width: Int, height: Int)? {
        guard let properties = CGImageSourceCopyPropertiesAtIndex(source, 0, nil) as? [CFString: Any],
            let width = properties[kCGImagePropertyPixelWidth] as? Int,
            let height = properties[kCGImagePropertyPixelHeight] as? Int
        else { return nil }
        return (width, height)
    }

    /// Decodes as much of an image as has arrived, or returns `nil` if nothing can be shown yet.
    fileprivate init?(arriving source: CGImageSource, maximumPixelSize: Int) {
        guard let image = Self.image(of: source, maximumPixelSize) else { return nil }
        cgImage = image
    }

    private static func image(of source: CGImageSource, _ size: Int) -> CGImage? {
        let options =
            [
                kCGImageSourceCreateThumbnailFromImageAlways: true,
                kCGImageSourceCreateThumbnailWithTransform: true,
                kCGImageSourceShouldCacheImmediately: true,
                kCGImageSourceThumbnailMaxPixelSize: size,
            ] as CFDictionary
        return CGImageSourceCreateThumbnailAtIndex(source, 0, options)
    }
}

// MARK: - Progressive images

/// Decodes the beginnings of a progressive JPEG. Other images aren't worth it: they appear from top to bottom.
final class ArrivingImage: Sendable {
    private let size: Int
    private let source = Lock<Source?>(nil)

    private struct Source: @unchecked Sendable {
        // Only used by the function below, which isn't called concurrently.
        let source: CGImageSource
    }

    init(maximumPixelSize: Int) { size = max(1, maximumPixelSize) }

    /// Returns the image as far as it is in `data`, which begins with the bytes of the earlier calls. Not to be called concurrently.
    func decoded(from data: Data) -> PlatformImage? {
        guard let header = ImageHeader(data), (try? header.checkPixelCount()) != nil, ImageBytes(data).isProgressiveJPEG
        else { return nil }
        let source = source.withLock { source in
            let known = source ?? Source(source: CGImageSourceCreateIncremental(nil))
            source = known
            return known
        }
        CGImageSourceUpdateData(source.source, data as CFData, false)
        return PlatformImage(arriving: source.source, maximumPixelSize: size)
    }
}
#endif
