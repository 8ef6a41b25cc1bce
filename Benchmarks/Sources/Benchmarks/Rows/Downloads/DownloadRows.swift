import Foundation

/// `sluice get` and other downloaders, with 8 connections each, from an nginx server on loopback.
enum DownloadRows {
    static var all: [Row] {
        [
            oneFile, smallFiles(2_000), smallFiles(8_000), smallFilesDurable, presentFiles, distantFiles,
            distantFilesWithHTTP2, largeFiles,
        ]
            + otherPeers.map { largeFiles(against: $0.name, $0.fetch) } + [segments, checksum, rate, memory]
    }

    private static let small = 16 << 10
    private static let curl = "curl --parallel"

    private typealias Peer = (name: String, fetch: @Sendable (Download) async throws -> Sample)

    private static let otherPeers: [Peer] = [
        ("wget2", { try await $0.wget2() }), ("aria2c", { try await $0.aria2c() }),
    ]

    /// Nearly all of it is the start of the program.
    private static var oneFile: Row {
        Row("get/one file of 16 KiB, --durability none", .milliseconds, against: curl, figure: .below(12)) {
            stage, rounds in
            try await stage.withDirectory { directory in
                try await Download.with(1, of: small, in: directory, stage) { download in
                    try await rounds({ try await download.sluice(durability: "none") }, { try await download.curl() })
                }
            }
        }
    }

    private static func smallFiles(_ count: Int) -> Row {
        let name = "get/\(count / 1000),000 files of 16 KiB, --durability none"
        return Row(name, .perSecond("files"), against: curl, figure: .atLeast(0.75)) { stage, rounds in
            try await stage.withDirectory { directory in
                let count = stage.count(count, quick: count / 2)
                try await Download.with(count, of: small, in: directory, stage) { download in
                    try await rounds({ try await download.sluice(durability: "none") }, { try await download.curl() })
                }
            }
        }
    }

    /// Uses the directory for temporary files, because a sync has no effect in memory.
    private static var smallFilesDurable: Row {
        Row(
            "get/2,000 files of 16 KiB, by default", .perSecond("files"), against: "\(curl), then sync of each",
            figure: .atLeast(2)
        ) { stage, rounds in
            try await stage.withDirectoryOnDisk { directory in
                try await Download.with(stage.count(2_000, quick: 250), of: small, in: directory, stage) { download in
                    try await rounds({ try await download.sluice() }, { try await download.curl(thenSync: true) })
                }
            }
        }
    }

    /// The difference is the cost of a file without its bytes.
    private static var presentFiles: Row {
        Row(
            "get/2,000 files that are there, --no-clobber", .microseconds, against: "sluice --help",
            figure: .atMostMore(15)
        ) { stage, rounds in
            try await stage.withDirectory { directory in
                let count = stage.count(2_000, quick: 2_000)
                try await Download.with(count, of: 1, in: directory, stage) { download in
                    try await download.prepareTargets()
                    try await rounds(
                        { try await download.sluiceWithNothingToDo() }, { try await download.idle(operations: count) })
                }
            }
        }
    }

    /// 2,000 files over 8 connections take 250 round trips: 12.5 s.
    private static var distantFiles: Row {
        distantFiles("8 connections", peer: "\(curl) --http1.1", jobs: 8, usesHTTP2: false)
    }

    /// 2,000 files in 32 streams take 63 round trips: 3.1 s.
    private static var distantFilesWithHTTP2: Row {
        distantFiles("HTTP/2, 32 streams", peer: "\(curl) --http2", jobs: 32, usesHTTP2: true)
    }

    private static func distantFiles(_ way: String, peer: String, jobs: Int, usesHTTP2: Bool) -> Row {
        Row("get/2,000 files of 16 KiB, 50 ms away, \(way)", .perSecond("files"), against: peer, figure: .atLeast(0.97))
        {
            stage, rounds in
            try await stage.withDirectory { directory in
                try await Download.with(
                    stage.count(2_000, quick: 25 * jobs), of: small, in: directory, roundTrip: 50, usesHTTP2: usesHTTP2,
                    stage
                ) { download in
                    try await rounds(
                        { try await download.sluice(durability: "none", jobs: jobs) },
                        { try await download.curl(jobs: jobs) })
                }
            }
        }
    }

    private static var largeFiles: Row { largeFiles(against: curl) { try await $0.curl() } }

    private static func largeFiles(
        against peer: String, _ fetch: @escaping @Sendable (Download) async throws -> Sample
    ) -> Row {
        Row("get/8 files of 64 MiB, --durability none", .megabytesPerSecond, against: peer, figure: .atLeast(1)) {
            stage, rounds in
            try await stage.withDirectory { directory in
                try await Download.with(8, of: stage.count(64, quick: 16) << 20, in: directory, stage) { download in
                    try await rounds({ try await download.sluice(durability: "none") }, { try await fetch(download) })
                }
            }
        }
    }

    /// On a disk: both reserve the space of the file first, which takes a second in memory because every page is cleared.
    private static var segments: Row {
        Row(
            "get/1 GiB in 8 segments, 50 MiB/s per connection", .megabytesPerSecond, against: "aria2c -x8",
            figure: .atLeast(0.97)
        ) { stage, rounds in
            try await stage.withDirectoryOnDisk { directory in
                let size = stage.count(1024, quick: 128) << 20
                try await Download.with(1, of: size, in: directory, rate: 50, stage) { download in
                    try await rounds(
                        { try await download.sluice(durability: "none", ["--segments", "8"]) },
                        { try await download.aria2cInSegments(8) })
                }
            }
        }
    }

    private static var checksum: Row {
        Row(
            "get/1 GiB, verified with SHA-256 while it arrives", .milliseconds, against: "the same without",
            figure: .atMost(1.1)
        ) { stage, rounds in
            try await stage.withDirectory { directory in
                try await Download.with(1, of: stage.count(1024, quick: 128) << 20, in: directory, stage) { download in
                    try await download.writeChecksums()
                    try await rounds(
                        { try await download.sluiceVerifying() },
                        { try await download.sluice(durability: "none") })
                }
            }
        }
    }

    /// 8 MB in 200 files at 2 MB/s take 4 s.
    private static var rate: Row {
        Row(
            "get/200 files of 40 kB, --limit-rate 2M", .megabytesPerSecond, against: "the limit", figure: .atLeast(0.98)
        ) { stage, rounds in
            try await stage.withDirectory { directory in
                try await Download.with(200, of: stage.count(40_000, quick: 10_000), in: directory, stage) { download in
                    try await rounds(
                        { try await download.sluice(durability: "none", ["--limit-rate", "2M"]) },
                        { download.atRate(2_000_000) })
                }
            }
        }
    }

    private static var memory: Row {
        Row("get/peak memory, 8 files of 64 MiB", .peakMebibytes, against: "sluice --help", figure: .below(36)) {
            stage, rounds in
            try await stage.withDirectory { directory in
                try await Download.with(8, of: stage.count(64, quick: 16) << 20, in: directory, stage) { download in
                    try await rounds({ try await download.sluice(durability: "none") }, { try await download.idle() })
                }
            }
        }
    }
}
