import Foundation
import SluiceFiles

extension Stage {
    /// Creates a directory for `body`, and removes it afterward. The directory is in memory if the system has such a file system.
    func withDirectory(_ body: (URL) async throws -> Void) async throws {
        try await withDirectory(in: Self.memory, body)
    }

    /// Creates a directory for `body` in the system's directory for temporary files (`TMPDIR`), and removes it afterward.
    func withDirectoryOnDisk(_ body: (URL) async throws -> Void) async throws {
        try await withDirectory(in: nil, body)
    }

    private func withDirectory(in parent: URL?, _ body: (URL) async throws -> Void) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-benchmarks", in: parent, body)
    }

    /// A file system in memory, on Linux.
    private static let memory: URL? =
        FileManager.default.isWritableFile(atPath: "/dev/shm") ? URL(filePath: "/dev/shm") : nil
}
