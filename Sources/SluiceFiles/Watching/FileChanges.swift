#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// What happens to a file, or in a directory, from now on.
    ///
    ///     for try await change in try await files.changes(of: inbox, kinds: [.closedAfterWriting, .renamed]) {
    ///         switch change.kind {
    ///         case .closedAfterWriting, .renamed(_, to: .some): try await process(change.name!)
    ///         case .overflow: try await processAll()
    ///         default: break
    ///         }
    ///     }
    ///
    /// Whatever happens after this returned is in the sequence: look at the directory *after* it, and nothing falls between. A
    /// directory gives what happens to its own entries, not to those of directories in it.
    ///
    /// - Order: as it happened. Equal changes in a row may come as one.
    /// - Overflow: the kernel keeps 16,384 changes (fs.inotify.max_queued_events) for a loop that is slow, and drops what
    ///   comes then; the loop gets ``FileChange/Kind/overflow`` in its place.
    /// - Renames: ``FileChange/Kind/renamed(from:to:)`` has both names if both halves could be read together, which is nearly
    ///   always so; else it comes as two.
    /// - The end: after ``FileChange/Kind/removed`` without a name, or ``FileChange/Kind/unmounted``. A file that is open
    ///   counts as removed once it is closed.
    /// - What it cannot see: changes that others make on a file server, writes to mapped memory, /proc and /sys.
    /// - Cost: one inotify instance and descriptor, of which a user may have 128 (fs.inotify.max_user_instances); no thread
    ///   waits for it.
    /// - Cancellation: this leaves the queue immediately with `CancellationError`; in the loop, the next change throws it and the
    ///   watch is removed.
    /// - Failure: a ``FileError``: ``FileError/Code/unsupported`` on systems without inotify (all but Linux). See inotify(7).
    ///
    /// - Parameters:
    ///   - url: A file URL of a file or directory that is there.
    ///   - kinds: What to hear of. Overflow, and the end of what is watched, come in any case.
    ///   - followingLinks: Whether a symbolic link counts as what it points to.
    public func changes(
        of url: URL, kinds: FileChange.Kinds = .all, followingLinks: Bool = true
    ) async throws -> FileChanges {
        let path = try Path.of(url, for: "watch")
        let watch = try await run { [self] _ in
            Watch(try kernel.watch(path, kinds, followingLinks: followingLinks), path, self)
        }
        return FileChanges(watch: watch)
    }
}

/// What happens to a file or in a directory: see ``FileIO/changes(of:kinds:followingLinks:)``.
///
/// It is gone through once, by one task: a second iterator goes on where the first stopped. When the sequence and its iterators
/// are dropped, the watch is removed on a worker.
public struct FileChanges: AsyncSequence, Sendable {
    /// Changes come one after the other.
    public typealias Element = FileChange

    let watch: Watch

    /// Goes on with the changes that have not been taken.
    public func makeAsyncIterator() -> Iterator { Iterator(watch: watch) }

    /// Gives one change after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let watch: Watch

        /// Waits for the next change; nil when what was watched is gone.
        public mutating func next() async throws -> FileChange? {
            try await watch.next()
        }
    }
}
