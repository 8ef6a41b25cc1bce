import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `Headers of images` {
    static let good: [(bytes: [UInt8], format: ImageHeader.Format, width: Int, height: Int)] = [
        (TestImage.png(640, 480), .png, 640, 480), (TestImage.png(1, Int(Int32.max)), .png, 1, Int(Int32.max)),
        (TestImage.gif(300, 2), .gif, 300, 2), (TestImage.gif(65_535, 1, version: "GIF87a"), .gif, 65_535, 1),
        (TestImage.jpeg(4_000, 3_000), .jpeg, 4_000, 3_000), (TestImage.jpeg(1, 2, frame: 0xC2), .jpeg, 1, 2),
        (TestImage.webP(16_383, 7), .webP, 16_383, 7), (TestImage.losslessWebP(16_384, 3), .webP, 16_384, 3),
        (TestImage.losslessWebP(1, 16_384), .webP, 1, 16_384),
        (TestImage.extendedWebP(1 << 24, 5), .webP, 1 << 24, 5),
        (TestImage.avif(8_000, 6_000), .avif, 8_000, 6_000), (TestImage.avif(3, 2, brand: "avis"), .avif, 3, 2),
        (TestImage.avif(70_000, 1, longIDs: true), .avif, 70_000, 1), (TestImage.bmp(640, 480), .bmp, 640, 480),
        (TestImage.bmp(640, -480), .bmp, 640, 480), (TestImage.oldBMP(65_535, 1), .bmp, 65_535, 1),
    ]

    @Test func `give the format and size`() {
        for (bytes, format, width, height) in Self.good {
            let header = ImageHeader(bytes)
            #expect(header?.format == format && header?.width == width && header?.height == height, "\(format)")
        }
    }

    @Test func `say whether a JPEG is progressive`() {
        for (bytes, format, _, _) in Self.good where format != .jpeg {
            #expect(!ImageBytes(bytes).isProgressiveJPEG, "\(format)")
        }
        for (frame, isProgressive) in [(0xC0, false), (0xC1, false), (0xC2, true), (0xC9, false), (0xCA, true)]
            as [(UInt8, Bool)]
        {
            let bytes = TestImage.jpeg(640, 480, frame: frame)
            #expect(ImageBytes(bytes).isProgressiveJPEG == isProgressive, "\(frame)")
            for count in 0..<bytes.count { _ = ImageBytes(Array(bytes.prefix(count))).isProgressiveJPEG }
        }
    }

    @Test func `that are truncated are invalid unless they contain the size`() {
        for (bytes, format, width, height) in Self.good {
            for count in 0..<bytes.count {
                guard let header = ImageHeader(Array(bytes.prefix(count))) else { continue }
                #expect(count > bytes.count - 8 && header.format == format)
                #expect(header.width == width && header.height == height, "\(format) \(count)")
            }
        }
    }

    @Test(
        arguments: [
            ("nothing", []), ("text", Array("<svg/>".utf8)), ("no width", TestImage.png(0, 5)),
            ("no height", TestImage.gif(5, 0)), ("a negative size", TestImage.png(1 << 31, 5)),
            ("a JPEG of unknown height", TestImage.jpeg(5, 0)),
            ("a JPEG with a table in place of a frame", TestImage.jpeg(5, 5, frame: 0xC8)),
            ("a JPEG with its image data first", [0xFF, 0xD8, 0xFF, 0xDA] + TestImage.jpeg(5, 5).dropFirst(2)),
            (
                "a JPEG with a segment of no length",
                [0xFF, 0xD8, 0xFF, 0xE0, 0, 0] + TestImage.jpeg(5, 5).dropFirst(2)
            ),
            (
                "a JPEG with a segment past its end",
                [0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF, 0xFF, 0xC0, 0, 8, 8, 0, 1, 0, 1]
            ),
            ("a JPEG of markers alone", [0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: 100_000)),
            (
                "a PNG with another first chunk",
                [0x89] + Array("PNG\r\n\u{1A}\n\0\0\0\rIDAT\0\0\0\u{5}\0\0\0\u{5}".utf8)
            ),
            ("a WebP of another kind", Array("RIFF\0\0\0\0WEBPVP9 ".utf8) + [UInt8](repeating: 1, count: 30)),
            ("another image in boxes", TestImage.avif(5, 5, brand: "heic")),
            ("boxes without an image", TestImage.box("ftyp", Array("avif\0\0\0\0".utf8))),
            ("a bitmap of negative width", TestImage.bmp(-5, 5)), ("a bitmap of no height", TestImage.bmp(5, 0)),
            ("a sound", Array("RIFF\0\0\0\0WAVEVP8X".utf8) + [UInt8](repeating: 1, count: 30)),
        ] as [(String, [UInt8])])
    func `with invalid values are rejected`(what: String, bytes: [UInt8]) {
        #expect(ImageHeader(bytes) == nil, "\(what)")
    }

    @Test func `with random bytes after a valid start never trap`() {
        var random = SeededRandom(seed: 6)
        let beginnings = Self.good.map { Array($0.bytes.prefix(16)) } + [[]]
        var read = 0
        for round in 0..<20_000 {
            var bytes = beginnings[round % beginnings.count]
            bytes.removeLast(.random(in: 0...min(bytes.count, 3), using: &random))
            // Use many markers, because JPEG takes the most steps to parse.
            bytes += (0..<Int.random(in: 0...60, using: &random)).map { _ in
                Bool.random(using: &random) ? 0xFF : UInt8.random(in: 0...255, using: &random)
            }
            guard let header = ImageHeader(bytes) else { continue }
            read += 1
            #expect(header.width > 0 && header.height > 0)
        }
        #expect(read > 1_000, "most are refused, but not all")
    }
}

// MARK: - Orientation

@Suite struct `Orientations of images` {
    /// The formats with metadata.
    private static let formats: [@Sendable ([UInt8]) -> [UInt8]] = [
        { TestImage.jpeg(40, 30, metadata: $0) }, { TestImage.png(40, 30, metadata: $0) },
        { TestImage.webP(40, 30, metadata: $0) }, { TestImage.webP(40, 30, metadata: Array("Exif\0\0".utf8) + $0) },
    ]

    @Test(arguments: 1...8, [true, false])
    func `are read from the metadata`(orientation: Int, isLittleEndian: Bool) throws {
        for image in Self.formats {
            let bytes = image(TestImage.metadata(orientation: orientation, isLittleEndian: isLittleEndian))
            let header = try #require(ImageHeader(bytes))
            #expect(header.orientation == orientation && header.width == 40 && header.height == 30)
            #expect(header.orientedSize == (orientation < 5 ? (40, 30) : (30, 40)))
        }
    }

    @Test func `are the default without metadata`() {
        for (bytes, _, _, _) in `Headers of images`.good {
            #expect(ImageHeader(bytes)?.orientation == 1)
        }
    }

    @Test func `are the default with truncated metadata, and the size is kept`() {
        let metadata = TestImage.metadata(orientation: 6)
        // The orientation is the second of three entries.
        let needed = 10 + 2 + 12 + 10
        for image in Self.formats {
            for count in 0...metadata.count {
                let header = ImageHeader(image(Array(metadata.prefix(count))))
                #expect(header?.orientation == (count < needed ? 1 : 6) && header?.width == 40)
            }
        }
    }

    @Test func `in a truncated file never trap`() {
        for image in Self.formats {
            let whole = image(TestImage.metadata(orientation: 6))
            for count in 0..<whole.count {
                let header = ImageHeader(Array(whole.prefix(count)))
                #expect(header == nil || header?.width == 40)
            }
        }
    }

    @Test(
        arguments: [
            ("0", TestImage.metadata(orientation: 0)), ("9", TestImage.metadata(orientation: 9)),
            ("no byte order", Array("XX*\0".utf8) + TestImage.metadata(orientation: 6).dropFirst(4)),
            ("another version", Array("II+\0".utf8) + TestImage.metadata(orientation: 6).dropFirst(4)),
            ("a directory beyond the end", Array("II*\0".utf8) + [0xFF, 0xFF, 0xFF, 0x7F]),
            ("a directory at the largest offset", Array("II*\0".utf8) + [0xFF, 0xFF, 0xFF, 0xFF]),
            ("a directory in its own header", Array("II*\0".utf8) + [0, 0, 0, 0] + [UInt8](repeating: 0, count: 40)),
            (
                "more entries than there are",
                Array("II*\0".utf8) + [8, 0, 0, 0, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 24)
            ),
            (
                "a long instead of a short",
                Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 4, 0, 1, 0, 0, 0, 6, 0, 0, 0]
            ),
            ("two values", Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 2, 0, 0, 0, 6, 0, 6, 0]),
            ("nothing", []),
        ] as [(String, [UInt8])])
    func `are the default with invalid metadata`(what: String, metadata: [UInt8]) {
        for image in Self.formats {
            #expect(ImageHeader(image(metadata))?.orientation == 1, "\(what)")
        }
    }

    @Test func `with many or invalid segments and chunks are read in one pass`() {
        // Given empty chunks, each of which is visited once
        let chunk: [UInt8] = [0, 0, 0, 0, 0x74, 0x45, 0x58, 0x74, 0, 0, 0, 0]
        let chunks = Array(repeating: chunk, count: 20_000).flatMap(\.self)
        let png = TestImage.png(4, 3) + [0, 0, 0, 0] + chunks
        let segment: [UInt8] = [0xFF, 0xE1, 0, 2]
        let segments = Array(repeating: segment, count: 20_000).flatMap(\.self)
        let jpeg = [0xFF, 0xD8] + segments + TestImage.jpeg(4, 3).dropFirst(2)
        // Then
        var counted = CountedBytes(png)
        #expect(ImageHeader(counted)?.orientation == 1 && counted.reads.value < 3 * png.count)
        counted = CountedBytes(jpeg)
        #expect(ImageHeader(counted)?.width == 4 && counted.reads.value < 6 * jpeg.count)
        // And a length beyond the end of the file
        let beyond = TestImage.png(4, 3) + [0, 0, 0, 0] + TestImage.big(Int(UInt32.max), 4) + Array("eXIfII*\0".utf8)
        #expect(ImageHeader(beyond)?.orientation == 1)
    }
}

/// Bytes that count how often they are read.
private struct CountedBytes: RandomAccessCollection {
    final class Counter {
        var value = 0
    }

    let bytes: [UInt8]
    let reads = Counter()

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var startIndex: Int { 0 }
    var endIndex: Int { bytes.count }

    subscript(index: Int) -> UInt8 {
        reads.value += 1
        return bytes[index]
    }
}
