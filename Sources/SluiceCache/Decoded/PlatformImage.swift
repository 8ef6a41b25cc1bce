#if canImport(ImageIO)
public import CoreGraphics
import ImageIO
import SluiceHTTP

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

    /// The memory that the pixels take, in bytes.
    public var byteCount: Int { cgImage.bytesPerRow * cgImage.height }

    /// Decodes an image in any format that the system supports, with the orientation from its metadata. Returns `nil` if the image can't be
    /// decoded.
    ///
    /// Decoding takes milliseconds and blocks the calling thread. ``ResourceCache/platformImages(maximumPixelSize:maximumMemorySize:)``
    /// decodes off the caller's actor.
    ///
    /// - Parameter maximumPixelSize: The largest width and height in pixels. A larger image is scaled down while it is decoded, so the
    ///   full-size image is never in memory.
    public init?(_ data: Data, maximumPixelSize: Int) {
        let noCache = [kCGImageSourceShouldCache: false] as CFDictionary
        let options =
            [
                kCGImageSourceCreateThumbnailFromImageAlways: true,
                kCGImageSourceCreateThumbnailWithTransform: true,
                kCGImageSourceShouldCacheImmediately: true,
                kCGImageSourceThumbnailMaxPixelSize: maximumPixelSize,
            ] as CFDictionary
        guard let source = CGImageSourceCreateWithData(data as CFData, noCache),
            let image = CGImageSourceCreateThumbnailAtIndex(source, 0, options)
        else { return nil }
        cgImage = image
    }
}

extension ResourceCache {
    /// Returns a cache of images that are ready to draw, on Apple platforms.
    ///
    /// A response that the system can't decode, such as an error page, throws `TransferError` with the code `unexpectedContent` and isn't
    /// kept. The memory limit counts decoded pixels, at four bytes per pixel.
    ///
    /// - Parameters:
    ///   - maximumPixelSize: The maximum width and height of the images, usually the size of your views, in pixels rather than points.
    ///     Larger images are scaled down.
    ///   - maximumMemorySize: The limit on the bytes of the images in memory. An image that takes more than a tenth of it isn't kept.
    /// - Precondition: `maximumPixelSize` is at least 1, and `maximumMemorySize` isn't negative.
    public func platformImages(
        maximumPixelSize: Int, maximumMemorySize: Int = 256 << 20
    ) -> DecodedCache<PlatformImage> {
        precondition(maximumPixelSize >= 1, "maximumPixelSize must be at least 1; it is \(maximumPixelSize).")
        return decoded(maximumMemorySize: maximumMemorySize, cost: \.byteCount) { url, data in
            guard let image = PlatformImage(data, maximumPixelSize: maximumPixelSize) else {
                throw TransferError(.unexpectedContent, url: url, detail: "the system can't decode it as an image")
            }
            return image
        }
    }
}
#endif
