internal import CSluiceFiles
internal import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Copies a directory and its contents to a new directory.
    ///
    /// Nothing may exist at the destination, but its directory must exist, outside the source. If the source is a symbolic link to a
    /// directory, that link is followed. The copy is one job, which uses a thread until it is done.
    ///
    /// Names are copied byte for byte, at any depth. If another process replaces a directory with a symbolic link during the
    /// copy, on either side, the link isn't followed. Files are copied as in ``copy(_:to:options:progress:)``. Symbolic links and
    /// FIFOs are recreated. Hard links within the tree stay hard links if the destination's file system supports them. A
    /// directory gets its mode and times after its contents have been copied. Until then, only the current user can open it or the file
    /// that is being copied, if the modes are kept.
    ///
    /// An original that is removed during the copy is left out. If it is a directory, the entries that were copied stay, in a directory
    /// that only its owner can open.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running copy throws it between two pieces of at
    ///   most 4 MiB.
    /// - Failure: A ``FileError`` for the first entry that can't be copied.
    ///
    /// After a failure or a cancellation, the partial copy is removed, unless ``TreeCopyOptions/removingOnFailure`` is false.
    /// Without removal, it contains only complete files, and its directories may lack their mode and times.
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
                if options.durability == .fullAndDirectory { try kernel.syncDirectory(of: to) }
                counter?.finish()
                return result
            }
        } catch {
            if options.removingOnFailure, let status = made.status.withLock({ $0 }) {
                try? await run(mustRun: true) { [kernel] cancellation in
                    // Only the directory that this copy created: another process may have put a different one there.
                    if try kernel.status(of: to, followingLinks: false)?.isSameFile(as: status) == true {
                        // Its finished directories may be read-only, as the originals are.
                        try kernel.removeTree(to, cancellation, changingModes: true)
                    }
                }
            }
            throw error
        }
    }

    private final class Made: Sendable {
        let status = Lock<RawStatus?>(nil)
    }
}
