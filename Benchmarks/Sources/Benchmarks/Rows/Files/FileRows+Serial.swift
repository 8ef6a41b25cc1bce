/// One file, read again and again by one task.
extension FileRows {
    static var serial: [Row] {
        [Reader.nio, .foundation].flatMap { peer in
            [
                row("4 KiB", 4 << 10, .microseconds, against: peer, full: 10_000, quick: 2_000),
                row("1 MiB", 1 << 20, .megabytesPerSecond, against: peer, full: 400, quick: 100),
                row("64 MiB", 64 << 20, .megabytesPerSecond, against: peer, full: 8, quick: 3),
            ]
        }
    }

    private static func row(
        _ text: String, _ size: Int, _ unit: Unit, against peer: Reader, full: Int, quick: Int
    ) -> Row {
        Row("files/whole file of \(text), cached", unit, against: peer.rawValue) { stage, rounds in
            try await stage.withFolder { folder in
                let files = try await ReadableFiles(1, of: size, in: folder)
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
