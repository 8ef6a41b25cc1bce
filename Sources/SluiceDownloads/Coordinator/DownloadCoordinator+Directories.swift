import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DownloadCoordinator {
    /// Makes the directories of the requests that are missing, and tries that files can be made in each.
    ///
    /// Saves a list of a thousand files from failing a thousand times.
    ///
    /// - Throws: `FileError` for the first directory that cannot be made or written; `CancellationError`.
    public func prepareDirectories(of requests: [DownloadRequest]) async throws {
        for directory in Set(requests.map(\.directory)) {
            try await files.makeDirectory(at: directory)
            // In a task of its own: a cancellation between the two steps would leave the probe behind.
            try await Task { try await probeWriting(in: directory) }.value
        }
    }

    private func probeWriting(in directory: URL) async throws {
        let probe = directory.appending(path: ".sluice-\(UInt64.random(in: 0 ... .max))", directoryHint: .notDirectory)
        do {
            try await Data().asyncWrite(to: probe, options: .init(durability: .none, existing: .fail), using: files)
            try await files.remove(probe)
        } catch let error as FileError {
            throw error.with(operation: "make a file in", path: directory.path(percentEncoded: false))
        }
    }
}
