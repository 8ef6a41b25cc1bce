import SluiceConcurrency
import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Creates each directory of a run's downloads once. Failures aren't remembered, because the next download may succeed.
final class DirectoryMaker: Sendable {
    private let files: FileIO
    private let made = Lock<Set<URL>>([])

    /// How many directories to remember. After that, they are created again.
    private static let maximumKnown = 10_000

    init(files: FileIO) { self.files = files }

    /// Returns the error if the directory can't be created.
    func make(_ directory: URL) async -> FileError? {
        if made.withLock({ $0.contains(directory) }) { return nil }
        do {
            try await files.createDirectory(at: directory)
            made.withLock { made in
                if made.count >= Self.maximumKnown { made = [] }
                made.insert(directory)
            }
        } catch let error as FileError {
            return error
        } catch {
            // The attempt that needs the directory is cancelled, too.
        }
        return nil
    }

    /// Recreates a directory that another program removed. Returns whether it exists now.
    func makeAgain(_ directory: URL) async -> Bool {
        made.withLock { _ = $0.remove(directory) }
        return await make(directory) == nil && !Task.isCancelled
    }
}
