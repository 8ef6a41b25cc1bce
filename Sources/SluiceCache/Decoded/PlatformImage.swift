#if canImport(ImageIO) || GdkPixbuf
import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PlatformImage {
    /// The largest number of pixels of an image that is decoded: a hundred million. Larger images are refused before anything is decoded.
    public static let maximumPixelCount = ImageFailure.maximumPixelCount
}

// MARK: - The cache of images

extension ResourceCache {
    /// Returns a cache of images that are ready to draw, scaled to the size of the views that show them.
    ///
    ///     let images = cache.platformImages()
    ///     let thumbnail = try await images.value(for: url, maximumPixelSize: 240)
    ///
    /// It exists on Apple platforms, and on Linux with the package trait `GdkPixbuf`. An app needs one: it holds all sizes of an image, within
    /// one limit.
    ///
    /// A response that can't be decoded, such as an error page, throws `TransferError` with the code `unexpectedContent`, and isn't kept. The
    /// memory limit counts decoded pixels, at three or four bytes per pixel.
    ///
    /// - Parameters:
    ///   - maximumPixelSize: The maximum width and height, in pixels rather than points, of images that are requested without a size. Larger
    ///     images are scaled down. Numbers below 1 count as 1.
    ///   - maximumMemorySize: The limit on the bytes of the images in memory. An image that takes more than a tenth of it isn't kept.
    ///   - keepsThumbnails: Whether scaled copies of large images are stored on disk, beside the originals. Later launches then decode the
    ///     copies, which takes a small part of the time. See <doc:Images>.
    /// - Precondition: `maximumMemorySize` isn't negative.
    public func platformImages(
        maximumPixelSize: Int = 2048, maximumMemorySize: Int = 256 << 20, keepsThumbnails: Bool = false
    ) -> DecodedCache<PlatformImage> {
        var decoder = ValueDecoder<PlatformImage>(cost: \.byteCount) { source, data, size in
            do {
                return try PlatformImage(decoding: data, maximumPixelSize: size)
            } catch let failure as ImageFailure {
                let detail = failure.detail ?? EncodedImage.kind(of: data)
                throw source.unexpected(
                    detail ?? "it isn't an image that this system can decode", remedy: failure.remedy)
            }
        }
        decoder.size = max(1, maximumPixelSize)
        decoder.extent = { max($0.width, $0.height) }
        if keepsThumbnails { decoder.copies = PlatformImage.copies }
        #if canImport(ImageIO)
        decoder.partDecoder = { size in
            let image = ArrivingImage(maximumPixelSize: size)
            return { image.decoded(from: $0) }
        }
        #endif
        return DecodedCache(self, maximumMemorySize: maximumMemorySize, decoder)
    }
}

extension PlatformImage {
    /// Copies are stored of images with at least four times as many pixels. Decoding other originals takes little longer.
    fileprivate static let copies = ValueCopies<PlatformImage>(
        areWorthStoring: { image, data in
            guard let header = ImageHeader(data) else { return data.count >= 256 << 10 }
            return header.width * header.height / 4 >= image.width * image.height
        },
        encode: { $0.data(as: $0.hasAlpha ? .png : .jpeg) })
}

// MARK: - Sizes

extension DecodedCache where Value == PlatformImage {
    /// Returns an image, scaled to fit a view, from memory, the disk or its server. See ``value(for:)``.
    ///
    ///     let thumbnail = try await images.value(for: url, maximumPixelSize: 240)
    ///
    /// Each size is decoded once for all callers. An image that isn't larger than the size isn't scaled, and serves all larger sizes, too.
    ///
    /// - Parameters:
    ///   - url: The URL of the image.
    ///   - maximumPixelSize: The largest width and height in pixels. Numbers below 1 count as 1.
    /// - Throws: As ``value(for:)``.
    public func value(for url: URL, maximumPixelSize: Int) async throws -> PlatformImage {
        try await value(for: url, size: max(1, maximumPixelSize))
    }

    /// Returns the image if it is in memory and fresh, without waiting, for example for the first frame of a view. If this size isn't there,
    /// returns the smallest larger one.
    ///
    ///     imageView.image = images.valueInMemory(for: url, maximumPixelSize: 240)
    ///     imageView.image = try await images.value(for: url, maximumPixelSize: 240)
    ///
    /// A larger image looks the same, and takes a little more time to draw. ``value(for:maximumPixelSize:)`` decodes the size itself.
    public func valueInMemory(for url: URL, maximumPixelSize: Int) -> PlatformImage? {
        valueInMemory(for: url, size: max(1, maximumPixelSize), orLarger: true)
    }

    /// Returns an image, scaled to fit a view, whose bytes come from a closure. See ``value(for:data:)``.
    public func value(
        for key: String, maximumPixelSize: Int, data: @escaping @Sendable () async throws -> Data
    ) async throws -> PlatformImage {
        try await value(for: key, size: max(1, maximumPixelSize), data)
    }

    /// Returns the states of an image in this size while it is looked up, fetched and decoded. See ``states(of:)``.
    public func states(of url: URL, maximumPixelSize: Int) -> ResourceStates<PlatformImage> {
        states(of: url, size: max(1, maximumPixelSize))
    }

    /// Fetches and decodes images that will probably be needed soon, in this size, at the lowest priority. See
    /// ``ResourceCache/prefetch(_:)``.
    public func prefetch(_ urls: some Sequence<URL>, maximumPixelSize: Int) async {
        await resources.prefetch(urls) { _ = try await self.value(for: $0, maximumPixelSize: maximumPixelSize) }
    }
}
#endif
