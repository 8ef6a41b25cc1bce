/// The beginnings of images, up to the end of their headers.
package enum TestImage {
    package static func png(_ width: Int, _ height: Int, rest: Int = 0) -> [UInt8] {
        [0x89] + Array("PNG\r\n\u{1A}\n".utf8) + big(13, 4) + Array("IHDR".utf8) + big(width, 4) + big(height, 4)
            + [8, 2, 0, 0, 0] + [UInt8](repeating: 7, count: rest)
    }

    package static func gif(_ width: Int, _ height: Int, version: String = "GIF89a") -> [UInt8] {
        Array(version.utf8) + little(width, 2) + little(height, 2) + [0, 0, 0]
    }

    /// A JPEG with fill bytes, and with the segments that a camera writes before the size.
    package static func jpeg(_ width: Int, _ height: Int, frame: UInt8 = 0xC0) -> [UInt8] {
        [0xFF, 0xD8, 0xFF, 0xE1] + big(300, 2) + [UInt8](repeating: 0xFF, count: 298) + [0xFF, 0xFF, 0xC4, 0, 3, 0xC0]
            + [0xFF, frame] + big(17, 2) + [8] + big(height, 2) + big(width, 2) + [3]
    }

    /// A JPEG with this metadata, after another segment of the same kind and a fill byte.
    package static func jpeg(_ width: Int, _ height: Int, metadata: [UInt8]) -> [UInt8] {
        let segments = [Array("http://ns.adobe.com/xap/1.0/\0".utf8), Array("Exif\0\0".utf8) + metadata]
        return [0xFF, 0xD8] + segments.flatMap { [0xFF, 0xFF, 0xE1] + big($0.count + 2, 2) + $0 }
            + jpeg(width, height).dropFirst(2)
    }

    package static func png(_ width: Int, _ height: Int, metadata: [UInt8]) -> [UInt8] {
        func chunk(_ type: String, _ contents: [UInt8]) -> [UInt8] {
            big(contents.count, 4) + Array(type.utf8) + contents + [0, 0, 0, 0]
        }
        return png(width, height) + [0, 0, 0, 0] + chunk("pHYs", [1]) + chunk("eXIf", metadata) + chunk("IDAT", [1])
    }

    /// A WebP with this metadata, after pixels with an odd number of bytes.
    package static func webP(_ width: Int, _ height: Int, metadata: [UInt8]) -> [UInt8] {
        riff("VP8X", [0x08, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
            + Array("VP8 ".utf8) + little(3, 4) + [1, 2, 3, 0]
            + Array("EXIF".utf8) + little(metadata.count, 4) + metadata
    }

    /// Metadata with an orientation between two other tags (TIFF 6.0, section 2).
    package static func metadata(orientation: Int, isLittleEndian: Bool = true) -> [UInt8] {
        func number(_ number: Int, _ count: Int) -> [UInt8] {
            isLittleEndian ? little(number, count) : big(number, count)
        }
        func entry(_ tag: Int, _ value: Int) -> [UInt8] {
            number(tag, 2) + number(3, 2) + number(1, 4) + number(value, 2) + [0, 0]
        }
        return Array(isLittleEndian ? "II*\0".utf8 : "MM\0*".utf8) + number(10, 4) + [0, 0] + number(3, 2)
            + entry(256, 7) + entry(274, orientation) + entry(277, 3) + number(10, 4)
    }

    package static func webP(_ width: Int, _ height: Int) -> [UInt8] {
        riff("VP8 ", [0x30, 0x01, 0x00, 0x9D, 0x01, 0x2A] + little(width | 0x4000, 2) + little(height, 2))
    }

    package static func losslessWebP(_ width: Int, _ height: Int) -> [UInt8] {
        riff("VP8L", [0x2F] + little((width - 1) | (height - 1) << 14 | 1 << 28, 4))
    }

    package static func extendedWebP(_ width: Int, _ height: Int) -> [UInt8] {
        riff("VP8X", [0x10, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
    }

    /// A grid image: the first properties belong to its tiles, and the primary item isn't the first item.
    package static func avif(_ width: Int, _ height: Int, brand: String = "avif", longIDs: Bool = false) -> [UInt8] {
        func id(_ number: Int) -> [UInt8] { big(number, longIDs ? 4 : 2) }
        func size(_ width: Int, _ height: Int) -> [UInt8] {
            box("ispe", big(0, 4) + big(width, 4) + big(height, 4))
        }
        let version = longIDs ? 1 : 0
        let associations =
            big(version << 24 | version, 4) + big(2, 4)
            + id(1) + [1] + big(1, longIDs ? 2 : 1)
            + id(2) + [2] + big(2, longIDs ? 2 : 1) + big(longIDs ? 0x8003 : 0x83, longIDs ? 2 : 1)
        let container = box("ipco", size(8, 8) + box("pixi", [0, 0, 0, 0, 1, 8]) + size(width, height))
        let properties = box("iprp", container + box("ipma", associations))
        return box("ftyp", Array("mif1\0\0\0\0mif1\(brand)".utf8))
            + box("meta", big(0, 4) + box("pitm", big(version << 24, 4) + id(2)) + properties)
    }

    package static func box(_ type: String, _ contents: [UInt8]) -> [UInt8] {
        big(contents.count + 8, 4) + Array(type.utf8) + contents
    }

    package static func bmp(_ width: Int, _ height: Int) -> [UInt8] {
        Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + little(40, 4) + little(width, 4) + little(height, 4)
    }

    /// A BMP with the OS/2 header.
    package static func oldBMP(_ width: Int, _ height: Int) -> [UInt8] {
        Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + little(12, 4) + little(width, 2) + little(height, 2)
    }

    private static func riff(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + little(content.count + 12, 4) + Array("WEBP\(name)".utf8) + little(content.count, 4)
            + content
    }

    package static func big(_ number: Int, _ count: Int) -> [UInt8] {
        little(number, count).reversed()
    }

    package static func little(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
