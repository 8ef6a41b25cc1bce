/// Why an image can't be decoded.
enum ImageFailure: Error, Equatable {
    /// The bytes don't begin like an image.
    case unknownFormat
    case tooManyPixels(width: Int, height: Int)
    /// The end of the file is missing.
    case cutOff
    /// This system can't decode the format.
    case noLoader(ImageHeader.Format)
    /// The rest of the file is invalid; the reason is the decoder's.
    case damaged(String?)

    /// The largest number of pixels that is decoded, a hundred million: twice as many as phones take, and 400 MB.
    static let maximumPixelCount = 100_000_000

    static func check(_ width: Int, _ height: Int) throws(ImageFailure) {
        let (count, overflows) = width.multipliedReportingOverflow(by: height)
        guard !overflows, count <= maximumPixelCount else { throw .tooManyPixels(width: width, height: height) }
    }

    /// The failure as the detail of an error. `nil` if the bytes should be looked at instead.
    var detail: String? {
        switch self {
        case .unknownFormat: nil
        case .tooManyPixels(let width, let height):
            "it is \(width) × \(height) pixels large, and at most \(Self.maximumPixelCount) pixels are decoded"
        case .cutOff: "the end of the image is missing"
        case .noLoader(let format): "gdk-pixbuf has no loader for \(format.rawValue)"
        case .damaged(let reason): "the image is damaged\(reason.map { ": \($0)" } ?? "")"
        }
    }

    /// What to do, if it isn't what to do about any unexpected response.
    var remedy: String? {
        switch self {
        case .tooManyPixels: "Ask the server for a smaller version of the image."
        case .noLoader(.webP): "Install webp-pixbuf-loader."
        case .noLoader(let format): "Install a gdk-pixbuf loader for \(format.rawValue)."
        case .unknownFormat, .cutOff, .damaged: nil
        }
    }
}

extension ImageHeader {
    func checkPixelCount() throws(ImageFailure) { try ImageFailure.check(width, height) }
}

// MARK: - The end of an image

// Decoders fill the missing part of an image with gray, and some report no error. The image would stay in the cache.
extension ImageBytes {
    /// Whether the end of an image is missing. The pixels aren't checked. O(n).
    func isCutOff(_ format: ImageHeader.Format) -> Bool {
        switch format {
        case .png: !hasEndOfPNG
        case .jpeg: !hasEndOfJPEG
        case .webP: little(4, at: 4).map { count < 8 + $0 } ?? true
        case .bmp: isCutOffBMP
        // The decoder reports it.
        default: false
        }
    }

    /// Whether the chunks are there up to IEND (W3C PNG, section 11.2.5).
    private var hasEndOfPNG: Bool {
        var position = 8
        while let length = big(4, at: position), position + 12 + length <= count {
            if has("IEND", at: position + 4) { return true }
            position += 12 + length
        }
        return false
    }

    /// Whether the marker EOI follows the image data (ITU-T T.81, annex B). Within the data, that combination of bytes doesn't occur. Cameras
    /// append other data.
    private var hasEndOfJPEG: Bool {
        var position = 2
        while big(1, at: position) == 0xFF, let marker = big(1, at: position + 1) {
            switch marker {
            case 0xFF: position += 1
            case 0x01, 0xD0...0xD8: position += 2
            case 0xDA: return hasMarker(0xD9, after: position + 2)
            default:
                guard let length = big(2, at: position + 2), length >= 2 else { return false }
                position += 2 + length
            }
        }
        return false
    }

    private func hasMarker(_ marker: UInt8, after start: Int) -> Bool {
        var last: UInt8 = 0
        for byte in bytes.dropFirst(start).reversed() {
            if byte == 0xFF, last == marker { return true }
            last = byte
        }
        return false
    }

    /// Whether rows of an uncompressed bitmap are missing. Compressed ones, which hardly exist, count as cut off, because nothing says where
    /// they end.
    private var isCutOffBMP: Bool {
        guard let header = ImageHeader(bytes), let start = little(4, at: 10), let headerSize = little(4, at: 14),
            let bits = little(2, at: headerSize == 12 ? 24 : 28),
            let compression = headerSize == 12 ? 0 : little(4, at: 30), [0, 3, 6].contains(compression)
        else { return true }
        let (rows, overflows) = ((header.width * bits + 31) / 32 * 4).multipliedReportingOverflow(by: header.height)
        return overflows || rows > count - start
    }
}
