/// Beginnings of images, as far as `sluice show` reads them: the terminal decodes the rest.
enum TestImage {
    static func png(_ width: Int, _ height: Int, rest: Int = 0) -> [UInt8] {
        [0x89] + Array("PNG\r\n\u{1A}\n".utf8) + big(13, 4) + Array("IHDR".utf8) + big(width, 4) + big(height, 4)
            + [8, 2, 0, 0, 0] + [UInt8](repeating: 7, count: rest)
    }

    static func gif(_ width: Int, _ height: Int, version: String = "GIF89a") -> [UInt8] {
        Array(version.utf8) + little(width, 2) + little(height, 2) + [0, 0, 0]
    }

    /// With the segments that a camera writes before the size, and fill bytes.
    static func jpeg(_ width: Int, _ height: Int, frame: UInt8 = 0xC0) -> [UInt8] {
        [0xFF, 0xD8, 0xFF, 0xE1] + big(300, 2) + [UInt8](repeating: 0xFF, count: 298) + [0xFF, 0xFF, 0xC4, 0, 3, 0xC0]
            + [0xFF, frame] + big(17, 2) + [8] + big(height, 2) + big(width, 2) + [3]
    }

    static func webP(_ width: Int, _ height: Int) -> [UInt8] {
        riff("VP8 ", [0x30, 0x01, 0x00, 0x9D, 0x01, 0x2A] + little(width | 0x4000, 2) + little(height, 2))
    }

    static func losslessWebP(_ width: Int, _ height: Int) -> [UInt8] {
        riff("VP8L", [0x2F] + little((width - 1) | (height - 1) << 14 | 1 << 28, 4))
    }

    static func extendedWebP(_ width: Int, _ height: Int) -> [UInt8] {
        riff("VP8X", [0x10, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
    }

    private static func riff(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + little(content.count + 12, 4) + Array("WEBP\(name)".utf8) + little(content.count, 4)
            + content
    }

    static func big(_ number: Int, _ count: Int) -> [UInt8] {
        little(number, count).reversed()
    }

    static func little(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
