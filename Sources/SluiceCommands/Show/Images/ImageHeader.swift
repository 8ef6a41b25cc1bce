/// The format of an image and its size in pixels, from its first bytes.
///
/// The rest of the image may still be invalid. O(1), for JPEG O(n): its size follows after the camera's metadata.
///
/// PNG (W3C, section 11.2.2), GIF89a (section 18), JPEG (ITU-T T.81, annex B), WebP (RFC 9649).
struct ImageHeader: Sendable, Hashable {
    enum Format: String, Sendable, Hashable, CaseIterable {
        case png = "PNG"
        case jpeg = "JPEG"
        case gif = "GIF"
        case webP = "WebP"
    }

    var format: Format
    var width: Int
    var height: Int

    /// Returns `nil` if the bytes don't begin with a header of these formats, or if the width or height is 0.
    init?(_ bytes: [UInt8]) {
        let bytes = Bytes(bytes)
        let size: (width: Int, height: Int)?
        if bytes.has("\u{89}PNG\r\n\u{1A}\n", at: 0) {
            (format, size) = (.png, Self.png(bytes))
        } else if bytes.has("GIF87a", at: 0) || bytes.has("GIF89a", at: 0) {
            (format, size) = (.gif, Self.gif(bytes))
        } else if bytes.has("\u{FF}\u{D8}", at: 0) {
            (format, size) = (.jpeg, Self.jpeg(bytes))
        } else if bytes.has("RIFF", at: 0), bytes.has("WEBP", at: 8) {
            (format, size) = (.webP, Self.webP(bytes))
        } else {
            return nil
        }
        guard let size, size.width > 0, size.height > 0 else { return nil }
        (width, height) = size
    }

    // MARK: Formats

    private static func png(_ bytes: Bytes) -> (Int, Int)? {
        guard bytes.big(4, at: 8) == 13, bytes.has("IHDR", at: 12), let width = bytes.big(4, at: 16),
            let height = bytes.big(4, at: 20), max(width, height) <= Int32.max
        else { return nil }
        return (width, height)
    }

    private static func gif(_ bytes: Bytes) -> (Int, Int)? {
        guard let width = bytes.little(2, at: 6), let height = bytes.little(2, at: 8) else { return nil }
        return (width, height)
    }

    /// The size is in the first frame header, which is found by going from marker to marker.
    private static func jpeg(_ bytes: Bytes) -> (Int, Int)? {
        var place = 2
        while bytes.big(1, at: place) == 0xFF {
            place += 1
            guard let marker = bytes.big(1, at: place) else { return nil }
            switch marker {
            case 0xFF: continue  // Fill bytes before a marker.
            case 0x01, 0xD0...0xD8: place += 1  // Markers without a length.
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
                guard let height = bytes.big(2, at: place + 4), let width = bytes.big(2, at: place + 6) else {
                    return nil
                }
                return (width, height)
            // The image data, or the end of the image.
            case 0x00, 0xD9, 0xDA: return nil
            default:
                guard let length = bytes.big(2, at: place + 1), length >= 2 else { return nil }
                place += 1 + length
            }
        }
        return nil
    }

    private static func webP(_ bytes: Bytes) -> (Int, Int)? {
        if bytes.has("VP8X", at: 12) {
            guard let width = bytes.little(3, at: 24), let height = bytes.little(3, at: 27) else { return nil }
            return (width + 1, height + 1)
        }
        if bytes.has("VP8L", at: 12) {
            guard bytes.big(1, at: 20) == 0x2F, let bits = bytes.little(4, at: 21) else { return nil }
            return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        }
        guard bytes.has("VP8 ", at: 12), bytes.has("\u{9D}\u{01}\u{2A}", at: 23),
            let width = bytes.little(2, at: 26), let height = bytes.little(2, at: 28)
        else { return nil }
        return (width & 0x3FFF, height & 0x3FFF)
    }
}

/// Bytes with accessors that return `nil` beyond the end.
private struct Bytes {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func has(_ text: String, at place: Int) -> Bool {
        let wanted = text.unicodeScalars
        return place + wanted.count <= bytes.count
            && zip(wanted, bytes[place...]).allSatisfy { $0.value == UInt32($1) }
    }

    /// The most significant byte first.
    func big(_ count: Int, at place: Int) -> Int? {
        guard place + count <= bytes.count else { return nil }
        return bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
    }

    /// The least significant byte first.
    func little(_ count: Int, at place: Int) -> Int? {
        guard place + count <= bytes.count else { return nil }
        return bytes[place..<place + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
