import Foundation
import TestSupport

/// Whole images with six blocks of 16 × 16 pixels: 0, 1 and 2 in the first row, and 3, 4 and 5 in the second one.
enum PixelImages {
    static let colors: [[UInt8]] = [
        [220, 20, 20], [20, 200, 20], [20, 20, 220], [230, 220, 20], [20, 210, 220], [200, 200, 200],
    ]

    /// The index of the color that is nearest to a pixel's.
    static func block(of pixel: some Collection<UInt8>) -> Int {
        func distance(_ color: [UInt8]) -> Int { zip(color, pixel).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) } }
        return colors.indices.min { distance(colors[$0]) < distance(colors[$1]) } ?? -1
    }

    /// An uncompressed bitmap of six blocks, each with sides of `scale` times 16 pixels.
    static func bmp(scale: Int = 1) -> Data {
        let (width, height, block) = (48 * scale, 32 * scale, 16 * scale)
        // The last row comes first, and colors are blue, green, red.
        let rows = (0..<height).reversed().flatMap { y in
            (0..<width).flatMap { x in colors[y / block * 3 + x / block].reversed() }
        }
        return bmp(width, height, rows: rows)
    }

    static func bmp(_ width: Int, _ height: Int, rows: [UInt8]) -> Data {
        let (big, little) = (TestImage.little(rows.count + 54, 4), TestImage.little)
        return Data(
            Array("BM".utf8) + big + little(0, 4) + little(54, 4) + little(40, 4) + little(width, 4)
                + little(height, 4) + little(1, 2) + little(24, 2) + little(0, 4) + little(rows.count, 4)
                + [UInt8](repeating: 0, count: 16) + rows)
    }

    /// A lossless WebP of the six blocks, from libwebp.
    static let webP = Data(
        base64Encoded: """
            UklGRlQAAABXRUJQVlA4TEgAAAAvL8AHAC9AmG0kMZiB731Yx0KkbTMR8y9qOo6PCbJtijXw4xxm/gN/cEJ42sAwZCsppJBCCinkT7P3f4zo/wQch8WcLZvP\
            nAE=
            """)!

    /// A GIF of the six blocks.
    static let gif = Data(
        base64Encoded: """
            R0lGODdhMAAgAIIAAMjIyObcFBTS3BTIFNwUFBQU3AAAAAAAACwAAAAAMAAgAEAI1AAJCBxIsCCBAQgTKlw4oIDDhxAjFjBIcSDDiwklanwYoKPHjyADCBhJ\
            sqRJAQBSqlzJEkDIlx5PyiTZsqbKihUxYty4ESdFnRd5aoQJc+ZMmzaJvjQqE2lNnwaBMhQqEWpBqQupRrRKEKtCrRC5WvSKECxHpSCZnnTaEm1atSXZsnT7\
            EW5cuSrpxrQ7Eu9NsQfJNjQ7EbDgwWYBByZLuLDYw40VQyYsWXBkw5YpY2ZMWG9Hvn39uvQMGqVozyJBix6tt/Rq1K5Pk1YtuzVtv7Bv4w0IADs=
            """)!

    // MARK: Metadata

    /// Inserts an orientation into a JPEG.
    static func jpeg(_ jpeg: Data, orientation: Int) -> Data {
        let metadata = Array("Exif\0\0".utf8) + TestImage.metadata(orientation: orientation)
        return Data([0xFF, 0xD8, 0xFF, 0xE1] + TestImage.big(metadata.count + 2, 2) + metadata + jpeg.dropFirst(2))
    }

    /// Inserts an orientation into a PNG, after its header.
    static func png(_ png: Data, orientation: Int) -> Data {
        png.prefix(33) + chunk("eXIf", TestImage.metadata(orientation: orientation, isLittleEndian: false))
            + png.dropFirst(33)
    }

    /// Inserts an orientation into the WebP, in the extended format.
    static func webP(orientation: Int) -> Data {
        let metadata = TestImage.metadata(orientation: orientation)
        func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
            Array(type.utf8) + TestImage.little(content.count, 4) + content + (content.count % 2 == 1 ? [0] : [])
        }
        let chunks =
            chunk("VP8X", [8, 0, 0, 0] + TestImage.little(47, 3) + TestImage.little(31, 3)) + webP.dropFirst(12)
            + chunk("EXIF", metadata)
        return Data(Array("RIFF".utf8) + TestImage.little(chunks.count + 4, 4) + Array("WEBP".utf8) + chunks)
    }

    // MARK: PNG

    /// A PNG of any announced size, with these compressed bytes.
    static func png(_ width: Int, _ height: Int, compressed: [UInt8]) -> Data {
        let signature = Data([0x89] + Array("PNG\r\n\u{1A}\n".utf8))
        let header = TestImage.big(width, 4) + TestImage.big(height, 4) + [8, 2, 0, 0, 0]
        return signature + chunk("IHDR", header) + chunk("IDAT", compressed) + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> Data {
        let body = Array(type.utf8) + content
        return Data(TestImage.big(content.count, 4) + body + TestImage.big(Int(crc(body)), 4))
    }

    /// The checksum of a chunk (W3C PNG, section 5.5).
    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF as UInt32) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
    }
}
