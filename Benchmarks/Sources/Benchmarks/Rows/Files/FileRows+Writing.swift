import Foundation
import SluiceFiles

/// Writing many small files atomically, and one large file in pieces.
extension FileRows {
    static var writing: [Row] {
        let levels: [(Durability, String, Figure?)] = [
            (.none, "none", nil), (.data, "data", .atLeast(1)), (.full, "full", nil),
            (.fullAndDirectory, "fullAndDirectory", nil),
        ]
        return levels.map { atomic($0, $1, $2) } + [streamed]
    }

    private static let tasks = 64

    /// Whole files of 4 KiB, each replaced atomically. Foundation writes, syncs and renames.
    private static func atomic(_ durability: Durability, _ level: String, _ figure: Figure?) -> Row {
        Row(
            "files/10,000 atomic writes of 4 KiB, .\(level)", .perSecond("files"),
            against: "Foundation, .atomic (blocks its thread)", figure: figure
        ) { stage, rounds in
            try await stage.withDirectoryOnDisk { directory in
                let count = stage.count(10_000, quick: 500)
                let data = Data(repeating: 0x5A, count: 4 << 10)
                let options = FileWriteOptions(durability: durability)
                let urls = (0..<count).map { directory.appending(path: "\($0)") }
                func contender(_ write: @escaping @Sendable (URL) async throws -> Void) async throws -> Sample {
                    try await timed(count, bytes: count * data.count, expecting: count) {
                        try await withThrowingTaskGroup(of: Int.self) { group in
                            for task in 0..<tasks {
                                group.addTask {
                                    var written = 0
                                    for index in stride(from: task, to: count, by: tasks) {
                                        try await write(urls[index])
                                        written += 1
                                    }
                                    return written
                                }
                            }
                            return try await group.reduce(0, +)
                        }
                    }
                }
                try await rounds(
                    { try await contender { try await data.asyncWrite(to: $0, options: options) } },
                    { try await contender { try data.write(to: $0, options: .atomic) } })
            }
        }
    }

    /// Writes 1 GiB in pieces of 1 MiB and then syncs, as `dd` does.
    private static var streamed: Row {
        Row(
            "files/1 GiB streamed out and synced", .megabytesPerSecond, against: "dd bs=1M conv=fdatasync",
            figure: .atLeast(0.95)
        ) { stage, rounds in
            let dd = try Programs.found("dd")
            try await stage.withDirectoryOnDisk { directory in
                let pieces = stage.count(1024, quick: 128)
                let piece = Data(count: 1 << 20)
                let children = Children(childUsage: stage.childUsage, report: directory.appending(path: "usage"))
                let ours = directory.appending(path: "ours"), theirs = directory.appending(path: "theirs")
                try await rounds(
                    {
                        try await timed(pieces, bytes: pieces << 20, expecting: pieces << 20) {
                            try await ours.withFileForWriting { file in
                                for _ in 0..<pieces { try await file.write(piece) }
                                try await file.sync(.data)
                            }
                            return Int(try await FileIO.shared.status(of: ours)?.size ?? 0)
                        }
                    },
                    {
                        try await children.run(
                            dd, ["if=/dev/zero", "of=\(theirs.path)", "bs=1M", "count=\(pieces)", "conv=fdatasync"]
                        ).sample(operations: pieces, bytes: pieces << 20)
                    })
            }
        }
    }
}
