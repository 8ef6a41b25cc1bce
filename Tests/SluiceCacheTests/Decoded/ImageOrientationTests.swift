import SluiceCache
import TestSupport
import Testing

@Suite struct `Orientations of images` {
    /// The formats with metadata.
    private static let formats: [@Sendable ([UInt8]) -> [UInt8]] = [
        { TestImage.jpeg(40, 30, metadata: $0) }, { TestImage.png(40, 30, metadata: $0) },
        { TestImage.webP(40, 30, metadata: $0) }, { TestImage.webP(40, 30, metadata: Array("Exif\0\0".utf8) + $0) },
    ]

    @Test(arguments: 1...8, [true, false])
    func `are those of the metadata`(orientation: Int, isLittleEndian: Bool) throws {
        for image in Self.formats {
            let bytes = image(TestImage.metadata(orientation: orientation, isLittleEndian: isLittleEndian))
            let header = try #require(ImageHeader(bytes))
            #expect(header.orientation == orientation && header.width == 40 && header.height == 30)
            #expect(header.orientedSize == (orientation < 5 ? (40, 30) : (30, 40)))
        }
    }

    @Test func `are unchanged without metadata`() {
        for (bytes, _, _, _) in `Headers of images`.good {
            #expect(ImageHeader(bytes)?.orientation == 1)
        }
    }

    @Test func `of metadata that is cut off anywhere are unchanged, and the size stays`() {
        let metadata = TestImage.metadata(orientation: 6)
        // The value is in the second of three entries.
        let needed = 10 + 2 + 12 + 10
        for image in Self.formats {
            for count in 0...metadata.count {
                let header = ImageHeader(image(Array(metadata.prefix(count))))
                #expect(header?.orientation == (count < needed ? 1 : 6) && header?.width == 40)
            }
        }
    }

    @Test func `of a file that is cut off anywhere trap nowhere`() {
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
    func `of metadata that lies are unchanged`(what: String, metadata: [UInt8]) {
        for image in Self.formats {
            #expect(ImageHeader(image(metadata))?.orientation == 1, "\(what)")
        }
    }

    @Test func `of many or wrong segments and chunks are read in one pass`() {
        // Given chunks without contents, of which each is visited once
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
        // And a length that goes beyond the end
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
