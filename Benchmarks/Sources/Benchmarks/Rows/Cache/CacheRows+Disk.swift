import Foundation
import HTTPTypes
import SluiceCache
import SluiceFiles
import SluiceHTTP

/// Hits on disk: the cache keeps nothing in memory. The directory is on a disk, with all files cached by the system. A body of 1 KiB is in the
/// index and has no file.
extension CacheRows {
    static var onDisk: [Row] {
        [1 << 10, 4 << 10, 64 << 10, 1 << 20].flatMap { size in
            [againstFiles(size), againstPython("hishel", size), againstPython("diskcache", size)]
        } + [1 << 10, 4 << 10, 1 << 20].map(first) + [partOfFile]
    }

    private static func name(_ size: Int) -> String {
        "cache/hit on disk of \(size < 1 << 20 ? "\(size >> 10) KiB" : "\(size >> 20) MiB")"
    }

    private static func againstFiles(_ size: Int) -> Row {
        Row(
            name(size), .microseconds, against: "SluiceFiles, as many files",
            figure: size < 4 << 10 ? nil : .atMost(1.5)
        ) {
            stage, rounds in
            try await withEntries(of: size, stage) { entries in
                let files = try await entries.files()
                try await rounds({ try await entries.hits() }, { try await entries.reads(of: files) })
            }
        }
    }

    /// The first lookups by a process check the digests.
    private static func first(_ size: Int) -> Row {
        Row(
            "cache/first \(name(size).dropFirst(6))", .microseconds, against: "SluiceFiles, as many files",
            figure: size <= 4 << 10 ? .below(40) : nil
        ) {
            stage, rounds in
            try await withEntries(of: size, stage) { entries in
                var once = entries
                once.passes = 1
                let files = try await entries.files()
                try await entries.cache.shutdown()
                try await rounds(
                    {
                        try await ResourceCache.withCache(
                            directory: entries.cache.directory, configuration: entries.cache.configuration
                        ) { cache in
                            once.cache = cache
                            return try await once.hits()
                        }
                    }, { try await once.reads(of: files) })
            }
        }
    }

    /// The peer opens the file, reads the part and closes the file, without a cache.
    private static var partOfFile: Row {
        Row(
            "cache/64 KiB of a stored response of 100 MB", .microseconds, against: "open, pread, close",
            figure: .atMost(2)
        ) { stage, rounds in
            try await stage.withDirectoryOnDisk { directory in
                let configuration = ResourceCache.Configuration(maximumMemorySize: 0, maximumDiskEntrySize: 200_000_000)
                let cache = ResourceCache(
                    directory: directory.appending(path: "cache"), configuration: configuration)
                let url = URL(string: "https://example.com/album/7.flac")!
                let (size, part) = (100_000_000, 64 << 10)
                try check(try await cache.store(Data(repeating: 7, count: size), for: url) ? 1 : 0, 1)
                let files = try FileManager.default.subpathsOfDirectory(atPath: cache.directory.path)
                    .filter { $0.contains("/") }
                try check(files.count, 1)
                let path = cache.directory.appending(path: files[0]).path
                let starts = (0..<stage.count(200, quick: 50)).map { $0 * 487_001 % (size - part) }
                try await rounds(
                    {
                        try await timed(starts.count, bytes: starts.count * part, expecting: starts.count * part) {
                            var count = 0
                            for start in starts {
                                var request = TransportRequest(url)
                                request.headerFields[.range] = "bytes=\(start)-\(start + part - 1)"
                                count += try await cache.response(for: request).body.count
                            }
                            return count
                        }
                    },
                    {
                        try await timed(starts.count, bytes: starts.count * part, expecting: starts.count * part) {
                            var count = 0
                            for start in starts {
                                let descriptor = open(path, O_RDONLY | O_CLOEXEC)
                                defer { close(descriptor) }
                                var data = Data(count: part)
                                count += data.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, part, start) }
                            }
                            return count
                        }
                    })
                try await cache.shutdown()
            }
        }
    }

    private static func againstPython(_ peer: String, _ size: Int) -> Row {
        Row(name(size), .microseconds, against: "\(peer) (Python)") { stage, rounds in
            try await withEntries(of: size, stage) { entries in
                let python = try PythonPeer(peer, in: entries.directory, stage)
                try await rounds(
                    { try await entries.hits() },
                    { try await python.hits(size: size, entries: entries.urls.count, passes: entries.passes) })
            }
        }
    }

    private static func withEntries(
        of size: Int, _ stage: Stage, _ body: (EntriesOnDisk) async throws -> Void
    ) async throws {
        try await stage.withDirectoryOnDisk { directory in
            let cache = directory.appending(path: "cache")
            try await ResourceCache.withCache(directory: cache, configuration: .init(maximumMemorySize: 0)) { cache in
                // 64 MiB or a few thousand lookups.
                let passes = stage.count(size < 1 << 20 ? 40 : 4, quick: size < 1 << 20 ? 8 : 1)
                let entries = EntriesOnDisk(cache: cache, size: size, passes: passes, directory: directory)
                try await entries.store()
                try await body(entries)
            }
        }
    }
}

private struct EntriesOnDisk {
    var cache: ResourceCache
    let size: Int
    var passes: Int
    let directory: URL
    let urls = (0..<64).map { URL(string: "https://example.com/pictures/large/\($0).jpeg")! }

    var hitCount: Int { urls.count * passes }
    var bytes: Int { hitCount * size }

    func store() async throws {
        for (number, url) in urls.enumerated() {
            try await cache.store(Data(repeating: UInt8(number), count: size), for: url)
        }
    }

    /// Returns the files of the bodies, or other files of the same size if the bodies are in the index.
    func files() async throws -> [URL] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: cache.directory.path)
        var files = names.filter { $0.contains("/") }.map { cache.directory.appending(path: $0) }
        if files.isEmpty {
            files = urls.indices.map { directory.appending(path: "\($0)") }
            for file in files { try await Data(count: size).asyncWrite(to: file, options: .init(durability: .none)) }
        }
        try check(files.count, urls.count)
        return files
    }

    func reads(of files: [URL]) async throws -> Sample {
        try await timed(hitCount, bytes: bytes, expecting: bytes) {
            var count = 0
            for _ in 0..<passes {
                for file in files { count += try await Data(asyncContentsOf: file).count }
            }
            return count
        }
    }

    func hits() async throws -> Sample {
        let before = cache.statistics.diskHits
        let sample = try await timed(hitCount, bytes: bytes, expecting: bytes) {
            var count = 0
            for _ in 0..<passes {
                for url in urls { count += try await cache.data(for: url).count }
            }
            return count
        }
        try check(cache.statistics.diskHits - before, hitCount)
        return sample
    }
}
