/// One file, read repeatedly by one task.
extension FileRows {
    static var serial: [Row] {
        [Reader.nio, .foundation, .raw].flatMap { peer in
            [
                row(
                    "4 KiB", 4 << 10, .microseconds, against: peer, peer == .nio ? .atMost(1 / 6.0) : nil,
                    full: 10_000, quick: 2_000),
                row("1 MiB", 1 << 20, .megabytesPerSecond, against: peer, full: 400, quick: 100),
                row("64 MiB", 64 << 20, .megabytesPerSecond, against: peer, full: 8, quick: 3),
                row(
                    "512 MiB", 512 << 20, .milliseconds, against: peer, peer == .raw ? .atMost(1.1) : nil, full: 1,
                    quick: 1),
            ]
        }
    }

    private static func row(
        _ text: String, _ size: Int, _ unit: Unit, against peer: Reader, _ figure: Figure? = nil, full: Int,
        quick: Int
    ) -> Row {
        Row("files/whole file of \(text), cached", unit, against: peer.rawValue, figure: figure) { stage, rounds in
            try await stage.withDirectoryOnDisk { directory in
                let files = try await ReadableFiles(1, of: size, in: directory)
                let count = stage.count(full, quick: quick)
                func contender(_ reader: Reader) async throws -> Sample {
                    try await timed(count, bytes: count * size, expecting: count * files.summary) {
                        var sum = 0
                        for _ in 0..<count { sum &+= try await reader.read(files.urls[0]) }
                        return sum
                    }
                }
                try await rounds({ try await contender(.sluice) }, { try await contender(peer) })
            }
        }
    }
}
