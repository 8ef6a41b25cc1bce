import Synchronization

/// Many files, read by 64 tasks at once.
extension FileRows {
    static var manyTasks: [Row] {
        [
            sixteenKibibytes(against: .nio), sixteenKibibytes(against: .foundation),
            tenThousand(against: .nio, .atLeast(5)), tenThousand(against: .foundation, .atLeast(1)),
        ]
    }

    private static let tasks = 64

    private static func sixteenKibibytes(against peer: Reader) -> Row {
        row("files/64 of 16 KiB, each by its own task", 16 << 10, against: peer, files: { _ in 64 }) {
            $0.count(40, quick: 10)
        }
    }

    /// The design's row; its peer on "as many threads" is Foundation on the threads of the cooperative pool.
    private static func tenThousand(against peer: Reader, _ figure: Figure) -> Row {
        row(
            "files/10,000 of 4 KiB, by 64 tasks", 4 << 10, against: peer, figure,
            files: { $0.count(10_000, quick: 2_000) }
        ) { _ in 1 }
    }

    private static func row(
        _ name: String, _ size: Int, against peer: Reader, _ figure: Figure? = nil,
        files count: @escaping (Stage) -> Int,
        passes: @escaping (Stage) -> Int
    ) -> Row {
        Row(name, .perSecond("files"), against: peer.rawValue, figure: figure) { stage, rounds in
            try await stage.withFolder { folder in
                let files = try await ReadableFiles(count(stage), of: size, in: folder)
                let passes = passes(stage)
                try await rounds(
                    { try await readAll(files, passes, .sluice) }, { try await readAll(files, passes, peer) })
            }
        }
    }

    private static func readAll(_ files: ReadableFiles, _ passes: Int, _ reader: Reader) async throws -> Sample {
        let count = files.urls.count * passes
        return try await timed(count, bytes: count * files.size, expecting: passes * files.summary) {
            let next = NextIndex()
            return try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<tasks {
                    group.addTask {
                        var sum = 0
                        while let index = next.take(below: count) {
                            sum &+= try await reader.read(files.urls[index % files.urls.count])
                        }
                        return sum
                    }
                }
                return try await group.reduce(0, &+)
            }
        }
    }
}

/// Hands out indices to several tasks.
private final class NextIndex: Sendable {
    private let value = Atomic(0)

    func take(below count: Int) -> Int? {
        let index = value.add(1, ordering: .relaxed).oldValue
        return index < count ? index : nil
    }
}
