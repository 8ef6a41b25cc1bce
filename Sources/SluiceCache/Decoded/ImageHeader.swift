/// The format of an image and its size in pixels, from its first bytes.
///
///     if let header = ImageHeader(data) {
///         print(header.format.rawValue, header.width, header.height)          // JPEG 4000 3000
///     }
///
/// The rest of the image may still be invalid. O(1), but O(n) for JPEG and AVIF, where the size comes after the camera's metadata. With
/// metadata, O(n) for PNG and WebP, too.
///
/// PNG (W3C, section 11.2.2), GIF89a (section 18), JPEG (ITU-T T.81, annex B), WebP (RFC 9649), AVIF (ISO/IEC 14496-12 and 23008-12), BMP
/// (Microsoft, BITMAPINFOHEADER).
public struct ImageHeader: Sendable, Hashable {
    /// The format of an image. Later versions may add formats, so a `switch` needs a `default`.
    public struct Format: RawRepresentable, Sendable, Hashable {
        /// The display name, such as `JPEG`.
        public let rawValue: String

        /// Creates the format with this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Portable Network Graphics.
        public static let png = Self(rawValue: "PNG")
        /// Joint Photographic Experts Group.
        public static let jpeg = Self(rawValue: "JPEG")
        /// Graphics Interchange Format, including animated GIFs.
        public static let gif = Self(rawValue: "GIF")
        /// WebP, including lossless and animated.
        public static let webP = Self(rawValue: "WebP")
        /// AV1 Image File Format.
        public static let avif = Self(rawValue: "AVIF")
        /// The bitmap format of Windows and OS/2.
        public static let bmp = Self(rawValue: "BMP")
    }

    /// The format.
    public let format: Format
    /// The width of the stored image in pixels, at least 1.
    public let width: Int
    /// The height of the stored image in pixels, at least 1.
    public let height: Int
    /// The orientation from the camera's metadata (Exif 2.32, tag 274), from 1 to 8. 1 means unchanged; 6 means that a viewer rotates the
    /// image clockwise.
    ///
    /// It is read from JPEG, PNG and WebP files, and is 1 if there is none or the metadata is invalid.
    public let orientation: Int

    /// The width and height in pixels of the image as displayed, with ``orientation`` applied. They are swapped for orientations 5 to 8.
    public var orientedSize: (width: Int, height: Int) {
        orientation < 5 ? (width, height) : (height, width)
    }

    /// Returns `nil` if the bytes don't begin with a header of these formats, or if the width or height is 0.
    public init?(_ bytes: some RandomAccessCollection<UInt8>) {
        let bytes = ImageBytes(bytes)
        let size: (width: Int, height: Int)?
        if bytes.has("\u{89}PNG\r\n\u{1A}\n", at: 0) {
            (format, size) = (.png, bytes.png)
        } else if bytes.has("GIF87a", at: 0) || bytes.has("GIF89a", at: 0) {
            (format, size) = (.gif, bytes.gif)
        } else if bytes.has("\u{FF}\u{D8}", at: 0) {
            (format, size) = (.jpeg, bytes.jpeg)
        } else if bytes.has("RIFF", at: 0), bytes.has("WEBP", at: 8) {
            (format, size) = (.webP, bytes.webP)
        } else if bytes.has("ftyp", at: 4) {
            (format, size) = (.avif, bytes.avif)
        } else if bytes.has("BM", at: 0) {
            (format, size) = (.bmp, bytes.bmp)
        } else {
            return nil
        }
        guard let size, size.width > 0, size.height > 0 else { return nil }
        (width, height) = size
        orientation = bytes.metadata(of: format).flatMap { bytes.orientation(in: $0) } ?? 1
    }
}

// MARK: - Formats

extension ImageBytes {
    fileprivate var png: (Int, Int)? {
        guard big(4, at: 8) == 13, has("IHDR", at: 12), let width = big(4, at: 16),
            let height = big(4, at: 20), max(width, height) <= Int32.max
        else { return nil }
        return (width, height)
    }

    fileprivate var gif: (Int, Int)? {
        guard let width = little(2, at: 6), let height = little(2, at: 8) else { return nil }
        return (width, height)
    }

    /// The size is in the first frame header, which we find by going from marker to marker.
    fileprivate var jpeg: (Int, Int)? {
        var position = 2
        while big(1, at: position) == 0xFF {
            position += 1
            guard let marker = big(1, at: position) else { return nil }
            switch marker {
            case 0xFF: continue  // Fill bytes before a marker.
            case 0x01, 0xD0...0xD8: position += 1  // Markers without a length.
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
                guard let height = big(2, at: position + 4), let width = big(2, at: position + 6) else {
                    return nil
                }
                return (width, height)
            // The image data, or the end of the image.
            case 0x00, 0xD9, 0xDA: return nil
            default:
                guard let length = big(2, at: position + 1), length >= 2 else { return nil }
                position += 1 + length
            }
        }
        return nil
    }

    /// Whether the first frame is progressive (SOF2 or SOF10), so that a part of the file shows the whole image.
    var isProgressiveJPEG: Bool {
        guard has("\u{FF}\u{D8}", at: 0) else { return false }
        var position = 2
        while big(1, at: position) == 0xFF, let marker = big(1, at: position + 1) {
            switch marker {
            case 0xFF: position += 1
            case 0x01, 0xD0...0xD8: position += 2
            case 0xC2, 0xCA: return true
            case 0xC0, 0xC1, 0xC3, 0xC5...0xC7, 0xC9, 0xCB, 0xCD...0xCF, 0xD9, 0xDA: return false
            default:
                guard let length = big(2, at: position + 2), length >= 2 else { return false }
                position += 2 + length
            }
        }
        return false
    }

    fileprivate var webP: (Int, Int)? {
        if has("VP8X", at: 12) {
            guard let width = little(3, at: 24), let height = little(3, at: 27) else { return nil }
            return (width + 1, height + 1)
        }
        if has("VP8L", at: 12) {
            guard big(1, at: 20) == 0x2F, let bits = little(4, at: 21) else { return nil }
            return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        }
        guard has("VP8 ", at: 12), has("\u{9D}\u{01}\u{2A}", at: 23),
            let width = little(2, at: 26), let height = little(2, at: 28)
        else { return nil }
        return (width & 0x3FFF, height & 0x3FFF)
    }

    /// The width and height of the primary item, from its property `ispe`.
    fileprivate var avif: (Int, Int)? {
        guard let type = boxes(in: 0..<count).first(where: { $0.type == "ftyp" }),
            stride(from: type.contents.lowerBound, to: type.contents.upperBound, by: 4).contains(where: {
                has("avif", at: $0) || has("avis", at: $0)
            }),
            let meta = boxes(in: 0..<count).first(where: { $0.type == "meta" })
        else { return nil }
        var item: Int?
        var properties: Range<Int>?
        for box in boxes(in: meta.contents.dropFirst(4)) {
            switch box.type {
            case "pitm":
                let position = box.contents.lowerBound
                item = big(1, at: position) == 0 ? big(2, at: position + 4) : big(4, at: position + 4)
            case "iprp": properties = box.contents
            default: break
            }
        }
        guard let item, let properties else { return nil }
        let inProperties = boxes(in: properties)
        guard let container = inProperties.first(where: { $0.type == "ipco" }) else { return nil }
        let all = boxes(in: container.contents)
        for associations in inProperties where associations.type == "ipma" {
            for index in indices(in: associations.contents, of: item) where all.indices.contains(index - 1) {
                let property = all[index - 1]
                guard property.type == "ispe", let width = big(4, at: property.contents.lowerBound + 4),
                    let height = big(4, at: property.contents.lowerBound + 8), max(width, height) <= Int32.max
                else { continue }
                return (width, height)
            }
        }
        return nil
    }

    /// Returns the indices of an item's properties, counting from 1 (ItemPropertyAssociationBox).
    private func indices(in box: Range<Int>, of item: Int) -> [Int] {
        guard let version = big(1, at: box.lowerBound), let flags = big(3, at: box.lowerBound + 1),
            let entryCount = big(4, at: box.lowerBound + 4)
        else { return [] }
        var position = box.lowerBound + 8
        for _ in 0..<entryCount {
            let idSize = version < 1 ? 2 : 4
            guard position < box.upperBound, let id = big(idSize, at: position),
                let associationCount = big(1, at: position + idSize)
            else { return [] }
            position += idSize + 1
            let size = flags & 1 == 0 ? 1 : 2
            if id == item {
                return (0..<associationCount).compactMap { number in
                    big(size, at: position + number * size).map { $0 & (size == 1 ? 0x7F : 0x7FFF) }
                }
            }
            position += associationCount * size
        }
        return []
    }

    /// Returns the boxes in a range, in order (ISO/IEC 14496-12, section 4.2), up to the end of the available bytes.
    private func boxes(in range: Range<Int>) -> [(type: String, contents: Range<Int>)] {
        var boxes: [(String, Range<Int>)] = []
        var position = range.lowerBound
        while position + 8 <= range.upperBound, boxes.count < 1000, var size = big(4, at: position),
            let type = big(4, at: position + 4)
        {
            var headerSize = 8
            if size == 0 {
                size = range.upperBound - position
            } else if size == 1 {
                guard let high = big(4, at: position + 8), high == 0, let low = big(4, at: position + 12) else { break }
                (size, headerSize) = (low, 16)
            }
            // The pixels needn't be available.
            let end = min(position + size, range.upperBound)
            guard size >= headerSize, position + headerSize <= end else { break }
            let name = String(decoding: (0..<4).map { UInt8(type >> (24 - 8 * $0) & 0xFF) }, as: UTF8.self)
            boxes.append((name, position + headerSize..<end))
            position += size
        }
        return boxes
    }

    /// The height is negative if the first line is at the top.
    fileprivate var bmp: (Int, Int)? {
        guard let headerSize = little(4, at: 14) else { return nil }
        if headerSize == 12 {
            guard let width = little(2, at: 18), let height = little(2, at: 20) else { return nil }
            return (width, height)
        }
        guard (40...124).contains(headerSize), let width = little(4, at: 18), let height = little(4, at: 22) else {
            return nil
        }
        func signed(_ value: Int) -> Int { Int(Int32(truncatingIfNeeded: value)) }
        return (max(0, signed(width)), abs(signed(height)))
    }
}

// MARK: - Orientation, from the Exif metadata

// The metadata isn't trusted. We read one directory with at most 65,535 entries, once, and never follow other directories, which may form a
// loop. Whatever lies beyond the end counts as missing.

extension ImageBytes {
    /// Returns the range of the TIFF header and what follows it; `nil` if the image has no metadata. O(n).
    func metadata(of format: ImageHeader.Format) -> Range<Int>? {
        switch format {
        case .jpeg: jpegMetadata
        case .png: pngMetadata
        case .webP: webPMetadata
        default: nil
        }
    }

    /// The first segment APP1 with the identifier `Exif`, before the frame header (Exif 2.32, APP1).
    private var jpegMetadata: Range<Int>? {
        var position = 2
        while big(1, at: position) == 0xFF, let marker = big(1, at: position + 1) {
            switch marker {
            case 0xFF: position += 1  // Fill bytes before a marker.
            case 0x01, 0xD0...0xD8: position += 2  // Markers without a length.
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF, 0xD9, 0xDA, 0x00: return nil
            default:
                guard let length = big(2, at: position + 2), length >= 2 else { return nil }
                let end = position + 2 + length
                if marker == 0xE1, has("Exif\0\0", at: position + 4) { return range(position + 10, end) }
                position = end
            }
        }
        return nil
    }

    /// The chunk eXIf before the pixels (W3C PNG, section 11.3.4.5).
    private var pngMetadata: Range<Int>? {
        var position = 8
        while let length = big(4, at: position), big(4, at: position + 4) != nil, !has("IDAT", at: position + 4) {
            if has("eXIf", at: position + 4) { return range(position + 8, position + 8 + length) }
            position += 12 + length
        }
        return nil
    }

    /// The chunk EXIF, which follows the pixels (RFC 9649, section 2.7). A flag in VP8X says that there is one.
    private var webPMetadata: Range<Int>? {
        guard has("VP8X", at: 12), let flags = big(1, at: 20), flags & 8 != 0 else { return nil }
        var position = 12
        while let length = little(4, at: position + 4) {
            let start = position + 8
            if has("EXIF", at: position) {
                // Some writers keep JPEG's identifier.
                return range(has("Exif\0\0", at: start) ? start + 6 : start, start + length)
            }
            position = start + length + length % 2
        }
        return nil
    }

    private func range(_ start: Int, _ end: Int) -> Range<Int>? {
        start <= end && end <= count ? start..<end : nil
    }

    /// Returns the value of tag 274 in the first directory; `nil` if it isn't there or isn't from 1 to 8 (TIFF 6.0, section 2).
    func orientation(in metadata: Range<Int>) -> Int? {
        let start = metadata.lowerBound
        let isLittle = has("II*\0", at: start)
        guard isLittle || has("MM\0*", at: start) else { return nil }
        func number(_ count: Int, at position: Int) -> Int? {
            guard position >= start, position + count <= metadata.upperBound else { return nil }
            return isLittle ? little(count, at: position) : big(count, at: position)
        }
        guard let offset = number(4, at: start + 4), let entryCount = number(2, at: start + offset) else { return nil }
        for entry in 0..<entryCount {
            let position = start + offset + 2 + 12 * entry
            guard let tag = number(2, at: position) else { return nil }
            // One SHORT (type 3).
            guard tag == 274 else { continue }
            guard number(2, at: position + 2) == 3, number(4, at: position + 4) == 1,
                let value = number(2, at: position + 8), (1...8).contains(value)
            else { return nil }
            return value
        }
        return nil
    }
}

// MARK: - Bytes

/// Bytes with accessors that return `nil` beyond the end.
struct ImageBytes<Base: RandomAccessCollection<UInt8>> {
    let bytes: Base

    init(_ bytes: Base) { self.bytes = bytes }

    var count: Int { bytes.count }

    private func byte(at position: Int) -> Int { Int(bytes[bytes.index(bytes.startIndex, offsetBy: position)]) }

    func has(_ text: String, at position: Int) -> Bool {
        let wanted = text.unicodeScalars
        return position + wanted.count <= count
            && zip(wanted, position...).allSatisfy { $0.value == UInt32(byte(at: $1)) }
    }

    /// The most significant byte first.
    func big(_ count: Int, at position: Int) -> Int? {
        guard position + count <= self.count else { return nil }
        return (position..<position + count).reduce(0) { $0 << 8 | byte(at: $1) }
    }

    /// The least significant byte first.
    func little(_ count: Int, at position: Int) -> Int? {
        guard position + count <= self.count else { return nil }
        return (position..<position + count).reversed().reduce(0) { $0 << 8 | byte(at: $1) }
    }
}
