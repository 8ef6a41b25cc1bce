#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Watches a file or directory, and returns its changes from now on.
    ///
    ///     for try await change in try await files.changes(of: inbox, kinds: [.closedAfterWriting, .renamed]) {
    ///         switch change.kind {
    ///         case .closedAfterWriting, .renamed(_, to: .some): try await process(change.name!)
    ///         case .overflow: try await processAll()
    ///         default: break
    ///         }
    ///     }
    ///
    /// The sequence contains all changes after the call has returned. To miss none, read the directory *after* the call. For a
    /// directory, the sequence contains changes of its own entries, but not of entries in its subdirectories.
    ///
    /// - Order: Changes are reported in the order in which they happened. Consecutive equal changes may be reported as one.
    /// - Overflow: The kernel keeps 16,384 changes (fs.inotify.max_queued_events) for a slow loop. If it drops changes, the loop
    ///   receives ``FileChange/Kind/overflow``.
    /// - Renames: A rename within the directory nearly always has both names. If its halves can't be read together, it is
    ///   reported as two changes.
    /// - End: The sequence ends after ``FileChange/Kind/removed`` without a name, or ``FileChange/Kind/unmounted``. A file that
    ///   is still open counts as removed when it is closed. `kinds` excludes neither these changes nor overflows.
    /// - Limitations: Changes by other machines on a file server, writes to mapped memory, and changes in /proc and /sys aren't
    ///   reported.
    /// - Resources: One descriptor and one inotify instance, of which a user may have 128 (fs.inotify.max_user_instances).
    ///   Waiting uses no thread.
    /// - Cancellation: A queued call throws `CancellationError` immediately. In the loop, the next change throws it, and the
    ///   watch is removed.
    /// - Failure: A ``FileError``: ``FileError/Code/unsupported`` on systems other than Linux, which have no inotify(7).
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

/// The changes of a file or directory. See ``FileIO/changes(of:kinds:followingLinks:)``.
///
/// The sequence can be iterated once, by one task. A second iterator continues where the first one stopped. When the sequence and
/// its iterators are dropped, the watch is removed on a worker.
public struct FileChanges: AsyncSequence, Sendable {
    /// The type of the changes.
    public typealias Element = FileChange

    let watch: Watch

    /// Continues with the changes that haven't been taken.
    public func makeAsyncIterator() -> Iterator { Iterator(watch: watch) }

    /// An iterator over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let watch: Watch

        /// Waits for the next change. Returns `nil` when the watched file or directory no longer exists.
        public mutating func next() async throws -> FileChange? {
            try await watch.next()
        }
    }
}
