#if Cairo
import CPangoCairo
import NativeMark

/// A decoded image for a ``CairoDrawing``.
///
///     var drawing = CairoDrawing(StyledText(Document("![Logo](logo.png)")))
///     drawing.images["logo.png"] = try CairoImage(png: [UInt8](Data(contentsOf: URL(filePath: "logo.png"))))
public final class CairoImage: @unchecked Sendable {
    // The pixels never change, and Cairo counts references atomically. Nothing is drawn from this surface: see `CairoImageView`.
    fileprivate let surface: OpaquePointer
    /// The image's bytes, for formats that contain images as files.
    let png: [UInt8]
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int

    /// The first bytes of each PNG file (PNG specification, section 5.2).
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Decodes a PNG file.
    ///
    /// - Parameter png: The bytes of the file.
    /// - Throws: ``CairoError`` with the code `image` if the bytes aren't a PNG or the image has more than 64 million pixels.
    public init(png: [UInt8]) throws(CairoError) {
        guard png.starts(with: Self.signature) else {
            throw .image("The image isn't a PNG. Convert it to PNG: other formats can't be drawn.")
        }
        // The header comes first (section 11.2.2). Its size is checked before memory is allocated.
        let header = png.dropFirst(16).prefix(8)
        let (width, height) = (header.prefix(4).bigEndian, header.dropFirst(4).bigEndian)
        guard header.count == 8, width > 0, height > 0, width <= 32_767, height <= 32_767, width * height <= 64_000_000
        else {
            throw .image("The PNG image has a side of 0 or is too large. At most 64 million pixels can be drawn.")
        }
        var rest = png[...]
        let surface = withUnsafeMutablePointer(to: &rest) { rest in
            cairo_image_surface_create_from_png_stream(
                { context, bytes, count in
                    guard let rest = context?.assumingMemoryBound(to: ArraySlice<UInt8>.self), let bytes,
                        rest.pointee.count >= Int(count)
                    else { return CAIRO_STATUS_READ_ERROR }
                    for (offset, byte) in rest.pointee.prefix(Int(count)).enumerated() { bytes[offset] = byte }
                    rest.pointee.removeFirst(Int(count))
                    return CAIRO_STATUS_SUCCESS
                }, rest)
        }
        guard let surface, cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS else {
            cairo_surface_destroy(surface)
            throw .image("The PNG image is damaged. Replace it.")
        }
        self.surface = surface
        self.png = png
        (self.width, self.height) = (width, height)
    }

    deinit { cairo_surface_destroy(surface) }
}

/// A surface of one drawing with the pixels of an image.
///
/// Cairo adds snapshots to a surface that it draws, without a lock. So each drawing has its own, which shares the pixels.
final class CairoImageView {
    private let surface: OpaquePointer
    private let image: CairoImage
    // Only its address is used.
    nonisolated(unsafe) private static let key = UnsafeMutablePointer<cairo_user_data_key_t>.allocate(capacity: 1)

    init(_ image: CairoImage) {
        self.image = image
        let pixels = image.surface
        surface = cairo_image_surface_create_for_data(
            cairo_image_surface_get_data(pixels), cairo_image_surface_get_format(pixels), Int32(image.width),
            Int32(image.height), cairo_image_surface_get_stride(pixels))
        // A snapshot may live longer than this object, and its pixels are those of the image.
        cairo_surface_set_user_data(
            surface, Self.key, UnsafeMutableRawPointer(cairo_surface_reference(pixels)),
            { cairo_surface_destroy(OpaquePointer($0)) })
    }

    deinit { cairo_surface_destroy(surface) }

    /// Changes the transformation.
    func draw(on cairo: OpaquePointer, in rectangle: LayoutRectangle) {
        cairo_translate(cairo, rectangle.x, rectangle.y)
        cairo_scale(cairo, rectangle.width / Double(image.width), rectangle.height / Double(image.height))
        cairo_set_source_surface(cairo, surface, 0, 0)
        cairo_paint(cairo)
    }
}

extension ArraySlice<UInt8> {
    fileprivate var bigEndian: Int { reduce(0) { $0 << 8 | Int($1) } }
}
#endif
