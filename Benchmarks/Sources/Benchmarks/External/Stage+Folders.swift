import Foundation
import SluiceFiles

extension Stage {
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
