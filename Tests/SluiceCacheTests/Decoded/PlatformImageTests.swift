#if GdkPixbuf && os(Linux)
import Foundation
import SluiceConcurrency
import TestSupport
import Testing

@testable import SluiceCache

/// Images in each format that can be decoded with the packages of `Scripts/install-system-packages.sh`.
private let png = PlatformImage(PixelImages.bmp(), maximumPixelSize: 100)?.data(as: .png) ?? Data()
private let jpeg = PlatformImage(PixelImages.bmp(), maximumPixelSize: 100)?.data(as: .jpeg) ?? Data()
private let formats: [(name: String, data: Data)] = [
    ("BMP", PixelImages.bmp()), ("PNG", png), ("JPEG", jpeg), ("WebP", PixelImages.webP), ("GIF", PixelImages.gif),
]

extension PlatformImage {
    /// The block of each 16 × 16 pixels, row by row. An image that was scaled has smaller blocks.
    fileprivate func blocks(side: Int = 16) -> [[Int]] {
        let channels = hasAlpha ? 4 : 3
        return withPixels { pixels in
            stride(from: side / 2, to: height, by: side).map { y in
                stride(from: side / 2, to: width, by: side).map { x in
                    PixelImages.block(of: pixels[(y * bytesPerRow + x * channels)...].prefix(3))
                }
            }
        }
    }
}

@Suite struct `Images on Linux` {
    private static let blocks = [[0, 1, 2], [3, 4, 5]]

    @Test func `are decoded from each format`() throws {
        for (name, data) in formats {
            let image = try #require(PlatformImage(data, maximumPixelSize: 1000), "\(name)")
            #expect(image.width == 48 && image.height == 32 && image.blocks() == Self.blocks, "\(name)")
            let count = image.bytesPerRow * 31 + 48 * (image.hasAlpha ? 4 : 3)
            #expect(image.byteCount == count && image.withPixels { $0.count } == count, "\(name)")
        }
    }

    @Test func `are scaled to the requested size, and never enlarged`() throws {
        for (name, data) in formats {
            let half = try #require(PlatformImage(data, maximumPixelSize: 24), "\(name)")
            #expect(half.width == 24 && half.height == 16 && half.blocks(side: 8) == Self.blocks, "\(name)")
            for size in [1, 0, -1, Int.min] {
                let dot = PlatformImage(data, maximumPixelSize: size)
                #expect(dot?.width == 1 && dot?.height == 1, "\(name) \(size)")
            }
            #expect(PlatformImage(data, maximumPixelSize: 48)?.width == 48)
            #expect(PlatformImage(data, maximumPixelSize: .max)?.width == 48, "\(name)")
        }
        let line = PixelImages.bmp(2_000, 1, rows: [UInt8](repeating: 9, count: 6_000))
        let scaled = try #require(PlatformImage(line, maximumPixelSize: 10))
        #expect(scaled.width == 10 && scaled.height == 1)
    }

    /// As the Exif specification says where the first row and the first column are (2.32, tag 274).
    @Test(arguments: [
        (1, [[0, 1, 2], [3, 4, 5]]), (2, [[2, 1, 0], [5, 4, 3]]), (3, [[5, 4, 3], [2, 1, 0]]),
        (4, [[3, 4, 5], [0, 1, 2]]), (5, [[0, 3], [1, 4], [2, 5]]), (6, [[3, 0], [4, 1], [5, 2]]),
        (7, [[5, 2], [4, 1], [3, 0]]), (8, [[2, 5], [1, 4], [0, 3]]),
    ])
    func `are turned as their metadata says`(orientation: Int, blocks: [[Int]]) throws {
        let turned = [
            ("JPEG", PixelImages.jpeg(jpeg, orientation: orientation)),
            ("PNG", PixelImages.png(png, orientation: orientation)),
            ("WebP", PixelImages.webP(orientation: orientation)),
        ]
        for (name, data) in turned {
            #expect(ImageHeader(data)?.orientation == orientation, "\(name)")
            let image = try #require(PlatformImage(data, maximumPixelSize: 100), "\(name)")
            #expect(image.blocks() == blocks, "\(name) \(orientation)")
            let small = try #require(PlatformImage(data, maximumPixelSize: 24), "\(name)")
            #expect(max(small.width, small.height) == 24 && small.blocks(side: 8) == blocks, "\(name) \(orientation)")
        }
    }

    @Test func `are saved as PNG and JPEG`() throws {
        let image = try #require(PlatformImage(PixelImages.webP, maximumPixelSize: 100))
        for format in [ImageHeader.Format.png, .jpeg] {
            let data = try #require(image.data(as: format))
            #expect(ImageHeader(data)?.format == format)
            #expect(PlatformImage(data, maximumPixelSize: 100)?.blocks() == Self.blocks)
        }
        #expect(image.data(as: .gif) == nil && image.data(as: .init(rawValue: "PNG\0")) == nil)
    }

    // MARK: Hostile files

    /// The failure of a decoding, or `nil` if it succeeds.
    private func failure(_ data: Data) -> ImageFailure? {
        do {
            _ = try PlatformImage(decoding: data, maximumPixelSize: 240)
            return nil
        } catch {
            return error as? ImageFailure
        }
    }

    @Test func `with too many pixels are refused because of their headers`() {
        let bomb = PixelImages.png(60_000, 60_000, compressed: [0x78, 0x9C, 3, 0, 0, 0, 0, 1])
        #expect(failure(bomb) == .tooManyPixels(width: 60_000, height: 60_000))
        let size = Int(Int32.max)
        #expect(
            failure(PixelImages.png(size, size, compressed: []))
                == .tooManyPixels(width: size, height: size))
        #expect(failure(Data(TestImage.jpeg(65_535, 65_535))) == .tooManyPixels(width: 65_535, height: 65_535))
        #expect(failure(Data(TestImage.extendedWebP(1 << 24, 1 << 24))) != nil)
        #expect(failure(Data(TestImage.gif(65_535, 65_535))) == .tooManyPixels(width: 65_535, height: 65_535))
        // An empty line of pixels isn't too large.
        #expect(
            failure(PixelImages.png(100_000_000, 1, compressed: [])) != .tooManyPixels(width: 100_000_000, height: 1))
    }

    @Test func `whose decoder would find a larger image than their header says are refused`() {
        // The frame of the GIF is larger than its screen, and that of the WebP larger than its canvas.
        var gif = PixelImages.gif
        gif.replaceSubrange(6..<10, with: [1, 0, 1, 0])
        let image = PlatformImage(gif, maximumPixelSize: 240)
        #expect(image == nil || image?.width == 1 && image?.height == 1)
        var webP = PixelImages.webP(orientation: 1)
        webP.replaceSubrange(24..<30, with: [0, 0, 0, 0, 0, 0])
        #expect(ImageHeader(webP)?.width == 1)
        #expect(PlatformImage(webP, maximumPixelSize: 240) == nil)
    }

    @Test func `that are cut off anywhere are refused`() {
        for (name, data) in formats {
            for count in stride(from: 0, to: data.count - 1, by: max(1, data.count / 150)) {
                #expect(failure(data.prefix(count)) != nil, "\(name), \(count) of \(data.count) bytes")
            }
        }
    }

    @Test(arguments: [
        ("nothing", Data()), ("an error page", Data("<!DOCTYPE html><html>".utf8)),
        ("an SVG", Data("<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'/>".utf8)),
        ("a portable pixmap", Data("P6 1 1 255\n\u{1}\u{1}\u{1}".utf8)),
        ("a PNG without width", PixelImages.png(0, 5, compressed: [])),
        ("a GIF without height", Data(TestImage.gif(5, 0))),
        ("a bitmap of negative width", Data(TestImage.bmp(-5, 5))),
    ])
    func `that aren't images are refused`(what: String, data: Data) {
        #expect(failure(data) == .unknownFormat, "\(what)")
    }

    @Test func `with fewer pixels than announced have no bytes of other memory`() throws {
        // Ten rows of a hundred: zlib's stored block, with filter 0 and color 17.
        let rows = (0..<10).flatMap { _ in [0] + [UInt8](repeating: 17, count: 300) }
        let stored =
            [0x78, 0x01, 0x01] + TestImage.little(rows.count, 2) + TestImage.little(~rows.count, 2) + rows
            + adler(rows)
        let data = PixelImages.png(100, 100, compressed: stored)
        let images = (0..<5).compactMap { _ in PlatformImage(data, maximumPixelSize: 100) }
        let first = images.first?.withPixels { Data($0) }
        #expect(images.allSatisfy { $0.withPixels { Data($0) } == first }, "the rest is a constant color")
    }

    /// The checksum of zlib's format (RFC 1950, section 8.2).
    private func adler(_ bytes: [UInt8]) -> [UInt8] {
        var (a, b) = (1, 0)
        for byte in bytes { (a, b) = ((a + Int(byte)) % 65_521, (b + a + Int(byte)) % 65_521) }
        return TestImage.big(b << 16 | a, 4)
    }

    @Test func `with damaged bytes never trap, and are at most as large as requested`() {
        var random = SeededRandom(seed: 11)
        var decoded = 0
        let all =
            formats.map(\.data) + [
                PixelImages.webP(orientation: 6), PixelImages.jpeg(jpeg, orientation: 6),
                PixelImages.png(png, orientation: 6),
            ]
        for round in 0..<2_000 {
            var data = all[round % all.count]
            for _ in 0...Int.random(in: 0...4, using: &random) {
                let place = Int.random(in: 0..<min(data.count, round % 2 == 0 ? 64 : .max), using: &random)
                data[place] = .random(in: 0...255, using: &random)
            }
            // A size that the limit allows may take a hundred million pixels.
            guard let header = ImageHeader(data), header.width * header.height < 1_000_000,
                let image = PlatformImage(data, maximumPixelSize: 40)
            else { continue }
            decoded += 1
            #expect((1...40).contains(image.width) && (1...40).contains(image.height))
        }
        #expect(decoded > 100, "many are refused, but not all")
    }

    @Test func `stop being decoded when the task is cancelled`() async throws {
        let (ended, end) = Condition.makeCondition()
        let task = Task {
            _ = await ended.wait()
            return try PlatformImage(decoding: PixelImages.bmp(scale: 20), maximumPixelSize: 100)
        }
        task.cancel()
        end.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
#endif
