import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DownloadCoordinator {
    /// Creates the missing directories of the requests, and checks that a file can be created in each.
    ///
    /// Call this method before you download a long list, so that an unusable directory is one error instead of one for each file.
    ///
    /// - Throws: `FileError` for the first directory that can't be created or written; `CancellationError`.
    public func prepareDirectories(of requests: [DownloadRequest]) async throws {
        for directory in Set(resolved(requests).map(\.directory)) {
            try await files.makeDirectory(at: directory)
            try await checkWriting(in: directory)
        }
    }

    func checkWriting(in directory: URL) async throws {
        // An unstructured task isn't cancelled between the two steps, which would leave the probe file behind.
        try await Task { try await probeWriting(in: directory) }.value
    }

    private func probeWriting(in directory: URL) async throws {
        let probe = directory.appending(path: ".sluice-\(UInt64.random(in: 0 ... .max))", directoryHint: .notDirectory)
        do {
            try await Data().asyncWrite(to: probe, options: .init(durability: .none, existing: .fail), using: files)
            try await files.remove(probe)
        } catch let error as FileError {
            throw error.with(operation: "create a file in", path: directory.path(percentEncoded: false))
        }
    }
}
