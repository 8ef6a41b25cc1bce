#if GdkPixbuf && !canImport(ImageIO)
import CGdkPixbuf

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An image that is ready to draw: its pixels are in memory, at most as many as requested.
///
///     let image = try await cache.platformImages().value(for: url, maximumPixelSize: 240)
///     image.withPixels { pixels in print(image.width, image.height, pixels.count) }
///     try await image.data(as: .png)?.asyncWrite(to: URL(filePath: "thumbnail.png"))
///
/// On Linux, it needs the package trait `GdkPixbuf`. On Apple platforms, it has a `cgImage` instead of ``withPixels(_:)``.
public struct PlatformImage: Sendable {
    private let pixbuf: Pixbuf

    /// The width in pixels, at least 1.
    public var width: Int { Int(gdk_pixbuf_get_width(pixbuf.pointer)) }

    /// The height in pixels, at least 1.
    public var height: Int { Int(gdk_pixbuf_get_height(pixbuf.pointer)) }

    /// The memory that the pixels take, in bytes.
    public var byteCount: Int { Int(clamping: gdk_pixbuf_get_byte_length(pixbuf.pointer)) }

    /// Whether the pixels have a fourth byte, for opacity.
    public var hasAlpha: Bool { gdk_pixbuf_get_has_alpha(pixbuf.pointer) != 0 }

    /// The distance in bytes from one row of pixels to the next.
    public var bytesPerRow: Int { Int(gdk_pixbuf_get_rowstride(pixbuf.pointer)) }

    /// Decodes a PNG, JPEG, GIF, WebP, AVIF or BMP image, with the orientation from its metadata. Returns `nil` if the image can't be
    /// decoded.
    ///
    /// The format and the size come from the bytes (``ImageHeader``), and are checked before anything is decoded. An image with more than
    /// ``maximumPixelCount`` pixels, one that is cut off, and one for whose format gdk-pixbuf has no loader, can't be decoded. Of an
    /// animation, the first frame is decoded.
    ///
    /// Decoding takes milliseconds and blocks the calling thread. A ``DecodedCache`` decodes off the caller's actor.
    ///
    /// - Parameters:
    ///   - data: The bytes of the file.
    ///   - maximumPixelSize: The largest width and height in pixels. A larger image is scaled down while it is decoded. A JPEG or WebP
    ///     image is never in memory at full size; other formats are. Numbers below 1 count as 1.
    public init?(_ data: Data, maximumPixelSize: Int) {
        guard let image = try? Self(decoding: data, maximumPixelSize: maximumPixelSize) else { return nil }
        self = image
    }

    /// Calls `body` with the pixels: rows from top to bottom, each of red, green, blue and, if ``hasAlpha``, opacity, a byte each. The
    /// colors aren't multiplied with the opacity. There may be unused bytes between two rows (``bytesPerRow``), but not after the last one.
    public func withPixels<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        // Unlike `gdk_pixbuf_get_pixels`, this doesn't copy pixels that gdk-pixbuf regards as immutable.
        try body(UnsafeRawBufferPointer(start: gdk_pixbuf_read_pixels(pixbuf.pointer), count: byteCount))
    }

    /// Returns the image as a file in the format `.png`, or `.jpeg` of medium quality, which has no opacity. Returns `nil` for other formats.
    public func data(as format: ImageHeader.Format) -> Data? {
        let (type, options): (String, [(String, String)])
        switch format {
        case .png: (type, options) = ("png", [("compression", "3")])
        case .jpeg: (type, options) = ("jpeg", [("quality", "85")])
        default: return nil
        }
        return pixbuf.saved(as: type, options).map { Data($0) }
    }
}

// MARK: - Decoding

extension PlatformImage {
    /// Decodes an image, or throws an ``ImageFailure`` or, if the task is cancelled, `CancellationError`.
    init(decoding data: Data, maximumPixelSize: Int) throws {
        guard let header = ImageHeader(data) else { throw ImageFailure.unknownFormat }
        try header.checkPixelCount()
        guard !ImageBytes(data).isCutOff(header.format) else { throw ImageFailure.cutOff }
        guard let type = header.format.loader else { throw ImageFailure.unknownFormat }
        guard let loader = gdk_pixbuf_loader_new_with_type(type, nil) else {
            throw ImageFailure.noLoader(header.format)
        }
        defer { g_object_unref(loader) }
        var fitting = Fitting(size: max(1, maximumPixelSize), isWebP: header.format == .webP)
        let pixbuf = try withUnsafeMutablePointer(to: &fitting) { fitting in
            g_signal_connect_data(
                loader, "size-prepared", unsafeBitCast(Fitting.sizePrepared, to: GCallback.self), fitting, nil,
                GConnectFlags(0))
            return try Self.pixbuf(of: data, loader)
        }
        guard !fitting.isRefused, let upright = pixbuf.fitting(fitting.size)?.upright(header.orientation) else {
            throw ImageFailure.damaged(nil)
        }
        self.pixbuf = upright
    }

    private static func pixbuf(of data: Data, _ loader: UnsafeMutablePointer<GdkPixbufLoader>) throws -> Pixbuf {
        var error: UnsafeMutablePointer<GError>?
        defer { g_clear_error(&error) }
        // In pieces, so that a cancelled task stops soon.
        let isWritten = data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty, !Task.isCancelled {
                let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(64 << 10))
                rest = rest.dropFirst(piece.count)
                let start = piece.assumingMemoryBound(to: guchar.self).baseAddress
                if gdk_pixbuf_loader_write(loader, start, gsize(piece.count), &error) == 0 { return false }
            }
            return true
        }
        // The loader must be closed even after an error, whose reason it would replace.
        let isClosed = isWritten ? gdk_pixbuf_loader_close(loader, &error) != 0 : false
        if !isWritten { gdk_pixbuf_loader_close(loader, nil) }
        try Task.checkCancellation()
        guard isWritten, isClosed, let pixbuf = gdk_pixbuf_loader_get_pixbuf(loader) else {
            throw ImageFailure.damaged(error.flatMap { $0.pointee.message.map { String(cString: $0) } })
        }
        return Pixbuf(sharing: pixbuf)
    }
}

/// What a loader's `size-prepared` needs to know. It is called once, before pixels are allocated.
private struct Fitting {
    var size: Int
    var isWebP: Bool
    var isRefused = false

    static let sizePrepared: @convention(c) (UnsafeMutablePointer<GdkPixbufLoader>?, gint, gint, gpointer?) -> Void = {
        loader, width, height, context in
        guard let fitting = context?.assumingMemoryBound(to: Fitting.self) else { return }
        let (width, height) = (Int(width), Int(height))
        guard width > 0, height > 0, width.multipliedReportingOverflow(by: height).overflow == false,
            width * height <= PlatformImage.maximumPixelCount
        else {
            fitting.pointee.isRefused = true
            // A loader refuses an image without size. WebP's loader doesn't, but it decodes into the requested size.
            let size: gint = fitting.pointee.isWebP ? 1 : 0
            return gdk_pixbuf_loader_set_size(loader, size, size)
        }
        if let scaled = scaledSize(width, height, to: fitting.pointee.size) {
            gdk_pixbuf_loader_set_size(loader, gint(scaled.width), gint(scaled.height))
        }
    }

    /// Returns the size of an image whose longer side is scaled down to `size`, or `nil` if it isn't longer.
    static func scaledSize(_ width: Int, _ height: Int, to size: Int) -> (width: Int, height: Int)? {
        let longer = max(width, height)
        guard longer > size else { return nil }
        func scaled(_ side: Int) -> Int { max(1, Int((Double(side) * Double(size) / Double(longer)).rounded())) }
        return (scaled(width), scaled(height))
    }
}

extension ImageHeader.Format {
    /// The name of gdk-pixbuf's loader. Only these loaders see bytes from servers, and not those for SVG and a dozen of old formats.
    fileprivate var loader: String? {
        switch self {
        case .png: "png"
        case .jpeg: "jpeg"
        case .gif: "gif"
        case .webP: "webp"
        case .avif: "avif"
        case .bmp: "bmp"
        default: nil
        }
    }
}

// MARK: - Pixels

/// A reference to a pixbuf.
private final class Pixbuf: @unchecked Sendable {
    // GLib counts references atomically, and nothing writes the pixels.
    let pointer: OpaquePointer

    init(sharing pixbuf: OpaquePointer) {
        pointer = pixbuf
        g_object_ref(UnsafeMutableRawPointer(pixbuf))
    }

    init?(owning pixbuf: OpaquePointer?) {
        guard let pixbuf else { return nil }
        pointer = pixbuf
    }

    deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }

    /// Returns the pixbuf, or a scaled copy if a loader has ignored the requested size.
    func fitting(_ size: Int) -> Pixbuf? {
        let (width, height) = (Int(gdk_pixbuf_get_width(pointer)), Int(gdk_pixbuf_get_height(pointer)))
        guard let scaled = Fitting.scaledSize(width, height, to: size) else { return self }
        return Pixbuf(
            owning: gdk_pixbuf_scale_simple(
                pointer, CInt(scaled.width), CInt(scaled.height), GDK_INTERP_BILINEAR))
    }

    /// Returns the pixbuf as a viewer shows it (Exif 2.32, tag 274).
    func upright(_ orientation: Int) -> Pixbuf? {
        switch orientation {
        case 2: flipped(isHorizontal: true)
        case 3: rotated(GDK_PIXBUF_ROTATE_UPSIDEDOWN)
        case 4: flipped(isHorizontal: false)
        case 5: rotated(GDK_PIXBUF_ROTATE_CLOCKWISE)?.flipped(isHorizontal: true)
        case 6: rotated(GDK_PIXBUF_ROTATE_CLOCKWISE)
        case 7: rotated(GDK_PIXBUF_ROTATE_CLOCKWISE)?.flipped(isHorizontal: false)
        case 8: rotated(GDK_PIXBUF_ROTATE_COUNTERCLOCKWISE)
        default: self
        }
    }

    private func flipped(isHorizontal: Bool) -> Pixbuf? {
        Pixbuf(owning: gdk_pixbuf_flip(pointer, isHorizontal ? 1 : 0))
    }

    private func rotated(_ rotation: GdkPixbufRotation) -> Pixbuf? {
        Pixbuf(owning: gdk_pixbuf_rotate_simple(pointer, rotation))
    }

    func saved(as type: String, _ options: [(String, String)]) -> [UInt8]? {
        var (bytes, count): (UnsafeMutablePointer<gchar>?, gsize) = (nil, 0)
        let texts = options.map { (g_strdup($0.0), g_strdup($0.1)) }
        defer { for text in texts { g_free(text.0); g_free(text.1) } }
        var (keys, values) = (texts.map(\.0) + [nil], texts.map(\.1) + [nil])
        guard gdk_pixbuf_save_to_bufferv(pointer, &bytes, &count, type, &keys, &values, nil) != 0 else { return nil }
        defer { g_free(bytes) }
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    }
}
#endif
