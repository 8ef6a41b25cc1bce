// The orientation of an image from its Exif metadata.
//
// The metadata isn't trusted. It is one directory with at most 65,535 entries, which are visited once: other directories, which may form a
// loop, are never followed. Whatever lies beyond the end counts as missing.

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
        var place = 2
        while big(1, at: place) == 0xFF, let marker = big(1, at: place + 1) {
            switch marker {
            case 0xFF: place += 1  // Fill bytes before a marker.
            case 0x01, 0xD0...0xD8: place += 2  // Markers without a length.
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF, 0xD9, 0xDA, 0x00: return nil
            default:
                guard let length = big(2, at: place + 2), length >= 2 else { return nil }
                let end = place + 2 + length
                if marker == 0xE1, has("Exif\0\0", at: place + 4) { return range(place + 10, end) }
                place = end
            }
        }
        return nil
    }

    /// The chunk eXIf before the pixels (W3C PNG, section 11.3.4.5).
    private var pngMetadata: Range<Int>? {
        var place = 8
        while let length = big(4, at: place), big(4, at: place + 4) != nil, !has("IDAT", at: place + 4) {
            if has("eXIf", at: place + 4) { return range(place + 8, place + 8 + length) }
            place += 12 + length
        }
        return nil
    }

    /// The chunk EXIF, which follows the pixels (RFC 9649, section 2.7). A flag of VP8X tells that there is one.
    private var webPMetadata: Range<Int>? {
        guard has("VP8X", at: 12), let flags = big(1, at: 20), flags & 8 != 0 else { return nil }
        var place = 12
        while let length = little(4, at: place + 4) {
            let start = place + 8
            if has("EXIF", at: place) {
                // Some writers keep the identifier of JPEG.
                return range(has("Exif\0\0", at: start) ? start + 6 : start, start + length)
            }
            place = start + length + length % 2
        }
        return nil
    }

    private func range(_ start: Int, _ end: Int) -> Range<Int>? {
        start <= end && end <= count ? start..<end : nil
    }

    /// Returns the value of the tag 274 in the first directory; `nil` if there is none from 1 to 8 (TIFF 6.0, section 2).
    func orientation(in metadata: Range<Int>) -> Int? {
        let start = metadata.lowerBound
        let isLittle = has("II*\0", at: start)
        guard isLittle || has("MM\0*", at: start) else { return nil }
        func number(_ count: Int, at place: Int) -> Int? {
            guard place >= start, place + count <= metadata.upperBound else { return nil }
            return isLittle ? little(count, at: place) : big(count, at: place)
        }
        guard let offset = number(4, at: start + 4), let entryCount = number(2, at: start + offset) else { return nil }
        for entry in 0..<entryCount {
            let place = start + offset + 2 + 12 * entry
            guard let tag = number(2, at: place) else { return nil }
            // One SHORT: the type 3.
            guard tag == 274 else { continue }
            guard number(2, at: place + 2) == 3, number(4, at: place + 4) == 1, let value = number(2, at: place + 8),
                (1...8).contains(value)
            else { return nil }
            return value
        }
        return nil
    }
}
