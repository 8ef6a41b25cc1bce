import Foundation
import SluiceFiles
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How late a task wakes that should wake every millisecond, while 64 other tasks read uncached files and FIFOs without data.
extension FileRows {
    static var heartbeat: [Row] {
        [
            Row(
                "files/a 1 ms heartbeat beside 64 readers, p99.9", .milliseconds, against: "the heartbeat alone",
                figure: .atMost(2)
            ) { stage, rounds in
                try await stage.withDirectoryOnDisk { directory in
                    let files = try await ColdFiles(in: directory)
                    let beats = stage.count(3_000, quick: 500)
                    try await rounds(
                        { try await beside(files, beats) { try await files.readForever(by: .sluice) } },
                        { await beat(beats) })
                }
            },
            // Without FIFOs, because this peer would wait for their data forever.
            Row(
                "files/a 1 ms heartbeat beside 64 readers of cold files, p99.9", .milliseconds,
                against: "the same with Data(contentsOf:)"
            ) { stage, rounds in
                try await stage.withDirectoryOnDisk { directory in
                    let files = try await ColdFiles(in: directory, fifos: 0)
                    let beats = stage.count(1_000, quick: 200)
                    try await rounds(
                        { try await beside(files, beats) { try await files.readForever(by: .sluice) } },
                        { try await beside(files, beats) { try await files.readForever(by: .foundation) } })
                }
            },
        ]
    }

    /// Runs the heartbeat while the readers run, and then cancels the readers.
    private static func beside(
        _ files: ColdFiles, _ beats: Int, _ read: @escaping @Sendable () async throws -> Void
    ) async throws -> Sample {
        let readers = Task { try await read() }
        let sample = await beat(beats)
        readers.cancel()
        do {
            try await readers.value
        } catch is CancellationError {}
        if files.reads == 0 { throw RowFailure.wrongResult("no file was read meanwhile") }
        return sample
    }

    /// Wakes every millisecond, and returns the 99.9th percentile of the lateness.
    private static func beat(_ beats: Int) async -> Sample {
        var late: [Double] = []
        late.reserveCapacity(beats)
        let clock = ContinuousClock()
        for _ in 0..<beats {
            let due = clock.now.advanced(by: .milliseconds(1))
            try? await Task.sleep(until: due, tolerance: .zero, clock: clock)
            late.append((clock.now - due) / .seconds(1))
        }
        late.sort()
        return Sample(operations: 1, seconds: late[beats * 999 / 1000], processorSeconds: 0)
    }
}

/// Files that are removed from the page cache before each read, and FIFOs without data.
private final class ColdFiles: Sendable {
    private let files: [URL]
    private let fifos: [URL]
    private let count = Atomic(0)

    var reads: Int { count.load(ordering: .relaxed) }

    init(in directory: URL, fifos fifoCount: Int = 32) async throws {
        files = (0..<(64 - fifoCount)).map { directory.appending(path: "file \($0)") }
        fifos = (0..<fifoCount).map { directory.appending(path: "fifo \($0)") }
        let data = Data(repeating: 1, count: 1 << 20)
        for url in files { try await data.asyncWrite(to: url, options: .init(durability: .data)) }
        for url in fifos where mkfifo(url.path, 0o600) != 0 { throw RowFailure.missing("a file system with FIFOs") }
    }

    /// Reads until the task is cancelled.
    func readForever(by reader: Reader) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for url in files {
                group.addTask { [self] in
                    while !Task.isCancelled {
                        try await url.withRandomAccessFile { try await $0.advise(.notNeeded) }
                        _ = try await reader.read(url)
                        count.add(1, ordering: .relaxed)
                    }
                }
            }
            for url in fifos { group.addTask { _ = try await reader.read(url) } }
            try await group.waitForAll()
        }
    }
}
