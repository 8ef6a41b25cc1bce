import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Creates the directories of a run's downloads, each once. A failure isn't remembered, because it may be over for the next download.
final class DirectoryMaker: Sendable {
    private let files: FileIO
    private let made = Lock<Set<URL>>([])

    /// More directories than that are created again.
    private static let maximumKnown = 10_000

    init(files: FileIO) { self.files = files }

    /// Returns the error if the directory can't be created.
    func make(_ directory: URL) async -> FileError? {
        if made.withLock({ $0.contains(directory) }) { return nil }
        do {
            try await files.makeDirectory(at: directory)
            made.withLock { made in
                if made.count >= Self.maximumKnown { made = [] }
                made.insert(directory)
            }
        } catch let error as FileError {
            return error
        } catch {
            // Cancelled, and so is the attempt that needs the directory.
        }
        return nil
    }

    /// Creates a directory that another program has removed meanwhile. Returns whether it exists now.
    func makeAgain(_ directory: URL) async -> Bool {
        made.withLock { _ = $0.remove(directory) }
        return await make(directory) == nil && !Task.isCancelled
    }
}
