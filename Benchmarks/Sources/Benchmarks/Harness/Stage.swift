import Foundation
import SluiceFiles

/// What a row may use: how much to do, and where.
struct Stage: Sendable {
    let isQuick: Bool
    let rounds: Int
    /// The `sluice` to run; it may be missing.
    let sluice: URL
    /// The program beside this one that starts children and looks after them.
    let childUsage: URL

    /// How much to do, and how much with `--quick`.
    func count(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }

    /// Makes a folder for `body`, in memory where the system has such a file system, and removes it.
    func withFolder(_ body: (URL) async throws -> Void) async throws {
        try await withFolder(in: Self.memory, body)
    }

    /// Makes a folder for `body` in the system's folder for temporary files (`TMPDIR`), and removes it.
    func withFolderOnDisk(_ body: (URL) async throws -> Void) async throws {
        try await withFolder(in: nil, body)
    }

    private func withFolder(in parent: URL?, _ body: (URL) async throws -> Void) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-benchmarks", in: parent, body)
    }

    /// A file system in memory, on Linux.
    private static let memory: URL? =
        FileManager.default.isWritableFile(atPath: "/dev/shm") ? URL(filePath: "/dev/shm") : nil
}
