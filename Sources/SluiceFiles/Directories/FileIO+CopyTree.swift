internal import CSluiceFiles
internal import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Copies a directory with all that is in it to a new directory.
    ///
    ///     try await files.copyTree(music, to: backup) { progress in
    ///         print(progress.completedEntries, progress.completedBytes)
    ///     }
    ///
    /// Names are copied byte for byte and at any depth, relative to the descriptors of directories on both sides: a directory that
    /// another process swaps for a symbolic link meanwhile is neither read nor written through. Files go over as in
    /// ``copy(_:to:options:progress:)``. Symbolic links are recreated with the same target, FIFOs are recreated, several names
    /// of one file in the tree become several names of one copy where the file system allows it. Directories get their mode and
    /// times when all that is in them is there.
    ///
    /// Nothing may be at the destination, and it may not lie in the source: then it would be copied into itself. What is
    /// changed in the source meanwhile is copied as it was or as it is.
    ///
    /// One job, which holds a thread until it is done.
    ///
    /// - Cancellation: leaves the queue immediately, or stops between two pieces of at most 4 MiB, with `CancellationError`.
    /// - Failure: a ``FileError`` for the first entry that cannot be copied. After both, what was copied is removed, or stays
    ///   if the options say so: whole files, the one that failed left out, and directories that may lack their mode and times.
    ///
    /// - Parameters:
    ///   - source: A file URL of a directory. A symbolic link to one is followed; those in it are not.
    ///   - destination: A file URL; its directory exists.
    ///   - options: What is kept of the originals, durability, what happens to sockets and devices.
    ///   - progress: Told how many entries and bytes are done: see ``FileProgress``.
    /// - Returns: What was made.
    @discardableResult
    public func copyTree(
        _ source: URL, to destination: URL, options: TreeCopyOptions = .init(),
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws -> TreeCopyResult {
        let from = try Path.of(source, for: "copy")
        let to = try Path.of(destination, for: "copy to")
        let made = Made()
        do {
            return try await run { [self] cancellation in
                let root = try OpenDirectory.open(from, self, for: "copy")
                let counter = ProgressCounter(progress)
                let copy = try TreeCopy(root, to: to, options, counter) { status in
                    made.status.withLock { $0 = status }
                }
                let result = try copy.run(cancellation)
                counter?.finish()
                return result
            }
        } catch {
            if options.removingOnFailure, let status = made.status.withLock({ $0 }) {
                try? await run(mustRun: true) { [kernel] cancellation in
                    // Only what this copy made: another process may have put another directory there.
                    if try kernel.status(of: to, followingLinks: false)?.isSameFile(as: status) == true {
                        try kernel.removeTree(to, cancellation)
                    }
                }
            }
            throw error
        }
    }

    /// What a copy of a tree has made for its top.
    private final class Made: Sendable {
        let status = Lock<RawStatus?>(nil)
    }
}
