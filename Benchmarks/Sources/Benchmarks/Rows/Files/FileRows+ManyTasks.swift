import Foundation
import Synchronization

/// Many files, read by many tasks concurrently.
extension FileRows {
    static var manyTasks: [Row] {
        [
            sixteenKibibytes(against: .nio), sixteenKibibytes(against: .foundation),
            tenThousand(against: .nio, .atLeast(5)), tenThousand(against: .foundation, .atLeast(1)),
            tenThousandInMemory,
        ]
    }

    /// How the cost grows with the number of tasks that read 4 KiB each, and with the size of one file.
    static var growth: [Row] {
        [1, 10, 100, 1000].map { tasks in
            row(
                "files/4 KiB, by \(tasks) tasks", 4 << 10, tasks: tasks, against: .nio,
                files: { $0.count(2_000, quick: 500) })
        }
            + [(16 << 10, "16 KiB"), (256 << 10, "256 KiB"), (16 << 20, "16 MiB"), (1 << 30, "1 GiB")].map {
                size, text in
                row(
                    "files/whole file of \(text), by 1 task", size, tasks: 1, against: .raw, .megabytesPerSecond,
                    figure: size == 16 << 20 ? .atLeast(0.95) : nil, files: { _ in 1 },
                    passes: { max(1, $0.count(1 << 30, quick: 64 << 20) / size / 8) })
            }
    }

    private static func sixteenKibibytes(against peer: Reader) -> Row {
        row(
            "files/64 of 16 KiB, each by its own task", 16 << 10, tasks: 64, against: peer, files: { _ in 64 },
            passes: { $0.count(40, quick: 10) })
    }

    /// The row that the design requires. The peer on "as many threads" is Foundation on the cooperative thread pool.
    private static func tenThousand(against peer: Reader, _ figure: Figure) -> Row {
        row(
            "files/10,000 of 4 KiB, by 64 tasks", 4 << 10, tasks: 64, against: peer, figure: figure,
            files: { $0.count(10_000, quick: 2_000) })
    }

    /// A file system without non-blocking reads, so each file is a job for the thread pool.
    private static var tenThousandInMemory: Row {
        row(
            "files/10,000 of 4 KiB on tmpfs, by 64 tasks", 4 << 10, tasks: 64, against: .nio, onDisk: false,
            files: { $0.count(10_000, quick: 2_000) })
    }

    private static func row(
        _ name: String, _ size: Int, tasks: Int, against peer: Reader, _ unit: Unit = .perSecond("files"),
        figure: Figure? = nil, onDisk: Bool = true, files count: @escaping (Stage) -> Int,
        passes: @escaping (Stage) -> Int = { _ in 1 }
    ) -> Row {
        Row(name, unit, against: peer.rawValue, figure: figure) { stage, rounds in
            func run(_ directory: URL) async throws {
                let files = try await ReadableFiles(count(stage), of: size, in: directory)
                let passes = passes(stage)
                try await rounds(
                    { try await readAll(files, passes, tasks, .sluice) },
                    { try await readAll(files, passes, tasks, peer) })
            }
            if onDisk {
                try await stage.withDirectoryOnDisk(run)
            } else {
                try await stage.withDirectory(run)
            }
        }
    }

    private static func readAll(_ files: ReadableFiles, _ passes: Int, _ tasks: Int, _ reader: Reader) async throws
        -> Sample
    {
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

/// Gives indices to several tasks.
private final class NextIndex: Sendable {
    private let value = Atomic(0)

    func take(below count: Int) -> Int? {
        let index = value.add(1, ordering: .relaxed).oldValue
        return index < count ? index : nil
    }
}
