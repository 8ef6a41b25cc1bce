import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A cache of images by URL: complete responses that begin with the header of a known format. A cache's
/// `platformImages` returns images that are ready to draw.
///
///     let images = cache.images()
///     let image = try await images.value(for: url)
///     print(image.header.width, image.header.height)
public typealias ImageCache = DecodedCache<EncodedImage>

/// The bytes of an image, with its format and its size in pixels.
public struct EncodedImage: Sendable, Hashable {
    /// The format and the size in pixels.
    public let header: ImageHeader
    /// The file's bytes.
    public let data: Data

    /// Returns `nil` if the bytes don't begin with the header of a known format, for example if they are an error page. See
    /// ``ImageHeader``.
    public init?(_ data: Data) {
        guard let header = ImageHeader(data) else { return nil }
        self.header = header
        self.data = data
    }
}

extension ResourceCache {
    /// Returns a cache of images in the formats of ``ImageHeader``.
    ///
    /// Other responses, such as an error page with status 200, throw `TransferError` with the code `unexpectedContent` and aren't kept.
    ///
    /// - Parameter maximumMemorySize: The limit on the bytes of the images in memory. An image that takes more than a tenth of it isn't
    ///   kept in memory.
    /// - Precondition: `maximumMemorySize` isn't negative.
    public func images(maximumMemorySize: Int = 64 << 20) -> ImageCache {
        DecodedCache(
            self, maximumMemorySize: maximumMemorySize,
            ValueDecoder(cost: \.data.count) { source, data, _ in
                guard let image = EncodedImage(data) else {
                    throw source.unexpected(
                        EncodedImage.kind(of: data) ?? "it isn't a PNG, JPEG, GIF, WebP, AVIF or BMP image")
                }
                return image
            })
    }
}

extension EncodedImage {
    /// What a response is if it isn't an image; `nil` if that isn't known.
    static func kind(of data: Data) -> String? {
        guard !data.isEmpty else { return "it is empty" }
        let beginning = String(decoding: data.prefix(64), as: UTF8.self).lowercased()
            .drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        if beginning.hasPrefix("<!doctype html") || beginning.hasPrefix("<html") { return "it is an HTML page" }
        if beginning.hasPrefix("<svg") || beginning.hasPrefix("<?xml") { return "it is an XML document" }
        return nil
    }
}
