import Foundation
import PixbufPeer
import SluiceCache
import SluiceFiles

/// A grid of photos: 200 JPEGs of 4,000 × 3,000 pixels, scaled to 240 pixels.
enum ImageRows {
    static var all: [Row] { [firstTime, again] }

    /// The responses are on disk, and nothing is decoded. The peer decodes the same bytes from files, with as many threads. Ours also stores
    /// the thumbnails.
    private static var firstTime: Row {
        Row("images/200 thumbnails of 12-megapixel JPEGs", .milliseconds, against: "gdk-pixbuf", figure: .atMost(1.1)) {
            stage, rounds in
            try await withPhotos(stage) { photos in
                var size = 240
                try await rounds(
                    {
                        // Each round has its own size, because the earlier ones have thumbnails on disk.
                        size += 4
                        return try await photos.ours(size)
                    }, { try await photos.peer(size) })
            }
        }
    }

    /// What a later launch does.
    private static var again: Row {
        Row("images/200 thumbnails from disk", .milliseconds, against: "the first time", figure: .atMost(0.1)) {
            stage, rounds in
            try await withPhotos(stage) { photos in
                // Thumbnails are stored after their callers have them. The round that doesn't count stores the last ones.
                _ = try await photos.ours(240)
                var size = 240
                try await rounds(
                    { try await photos.ours(240) },
                    {
                        size += 4
                        return try await photos.ours(size)
                    })
            }
        }
    }

    private struct Photos {
        let cache: ResourceCache
        let urls: [URL]
        let files: [URL]

        /// Shows all thumbnails at once. The cache of decoded images is new, as in a new process.
        func ours(_ size: Int) async throws -> Sample {
            let images = cache.platformImages(keepsThumbnails: true)
            return try await timed(urls.count, expecting: urls.count * size * (size * 3 / 4)) {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for url in urls {
                        group.addTask {
                            let image = try await images.value(for: url, maximumPixelSize: size)
                            return image.width * image.height
                        }
                    }
                    return try await group.reduce(0, +)
                }
            }
        }

        func peer(_ size: Int) async throws -> Sample {
            try await timed(urls.count, expecting: urls.count * size * (size * 3 / 4)) {
                await withTaskGroup(of: Int.self) { group in
                    for file in files { group.addTask { pixbuf_peer_thumbnail(file.path, Int32(size)) } }
                    return await group.reduce(0, +)
                }
            }
        }
    }

    private static func withPhotos(_ stage: Stage, _ body: (Photos) async throws -> Void) async throws {
        try await stage.withDirectoryOnDisk { directory in
            let (count, different) = (stage.count(200, quick: 20), 10)
            let sources = (0..<different).map { directory.appending(path: "\($0).jpg") }
            for (number, file) in sources.enumerated() {
                try check(Int(pixbuf_peer_write_photo(file.path, 4_000, 3_000, UInt32(number))), 0)
            }
            let urls = (0..<count).map { URL(string: "https://example.com/photos/\($0).jpg")! }
            try await ResourceCache.withCache(
                directory: directory.appending(path: "cache"), configuration: .init(maximumDiskSize: 4 << 30)
            ) { cache in
                for (number, url) in urls.enumerated() {
                    try await cache.store(Data(asyncContentsOf: sources[number % different]), for: url)
                }
                try await body(
                    Photos(cache: cache, urls: urls, files: (0..<count).map { sources[$0 % different] }))
            }
        }
    }
}
